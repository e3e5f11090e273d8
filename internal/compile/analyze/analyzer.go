package analyze

import (
	"context"
	"go/ast"
	"go/token"
	"path/filepath"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
)

// Analyzer is the same analysis for go vet and editors. Notes are left out: they
// are no reason to change anything.
var Analyzer = &analysis.Analyzer{
	Name: "weft",
	Doc: "report what Weft cannot read in a training loop\n\n" +
		"A function marked //weft:train is read as weft check reads it: operations, loops,\n" +
		"dependences, fragments. Whatever would not mean the same when the loop is taken\n" +
		"apart is reported, with what to write instead.",
	URL: "https://" + module + "/blob/main/docs/fdg.md",
	Run: vet,
}

// Vet is a program for go vet -vettool.
func Vet() { unitchecker.Main(Analyzer) }

func vet(pass *analysis.Pass) (any, error) {
	found, err := vetted(pass)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if f.Note {
			continue
		}
		at := locate(pass.Fset, pass.Files, f.Pos)
		if !at.IsValid() {
			continue // in a package that is read through, and vetted by itself
		}
		pass.Report(analysis.Diagnostic{Pos: at, Category: f.Code, Message: f.text()})
	}
	return nil, nil
}

// vetted examines a pass's package. One that is built on another author's package
// is loaded again, since a pass has the source of its own package alone.
func vetted(pass *analysis.Pass) ([]Finding, error) {
	main := &unit{pkg: pass.Pkg, info: pass.TypesInfo, files: pass.Files}
	if len(readable(pass.Pkg)) == 0 || len(readMarks(main, &findings{fset: pass.Fset}).train) == 0 {
		_, found := examine(pass.Fset, main, nil)
		return found, nil
	}
	dir := filepath.Dir(pass.Fset.Position(pass.Files[0].Pos()).Filename)
	results, err := Analyze(context.Background(), dir, ".")
	if err != nil || len(results) != 1 {
		return nil, err
	}
	return results[0].Findings, nil
}

// locate finds a position again in a pass's own files.
func locate(fset *token.FileSet, files []*ast.File, p token.Position) token.Pos {
	for _, f := range files {
		if file := fset.File(f.Pos()); file != nil && file.Name() == p.Filename && p.Line <= file.LineCount() {
			return file.LineStart(p.Line) + token.Pos(p.Column-1)
		}
	}
	return token.NoPos
}
