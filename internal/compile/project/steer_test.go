package project

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/compile/analyze"
)

// sourceLine is what a comment of a program says of where its line comes from.
var sourceLine = regexp.MustCompile(`random\.go:(\d+)`)

// steered returns a file of a loop, its source or its programs, in which fault.Way
// decides the conditions of its ifs. It knows them by the line of the source, so that
// all programs take the same way and a run can be made to take any.
func steered(t testing.TB, text []byte) []byte {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	said := map[int]string{}
	for _, g := range f.Comments {
		if m := sourceLine.FindStringSubmatch(g.Text()); m != nil {
			said[fset.Position(g.Pos()).Line] = m[1]
		}
	}
	line := func(s *ast.IfStmt) string {
		at := fset.Position(s.Pos()).Line
		if !analyze.Generated(text) {
			return fmt.Sprint(at)
		}
		return said[at]
	}
	type insert struct {
		at   int
		text string
	}
	var all []insert
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil && !strings.HasPrefix(fn.Name.Name, "train") && !strings.HasPrefix(fn.Name.Name, "graph") {
			continue
		}
		following := elseIfs(fn)
		ast.Inspect(fn, func(n ast.Node) bool {
			if s, ok := n.(*ast.IfStmt); ok && !following[s] && s.Init == nil && line(s) != "" && !strings.HasPrefix(types.ExprString(s.Cond), "!run.Fused(") {
				all = append(all,
					insert{fset.Position(s.Cond.Pos()).Offset, "fault.Way(" + line(s) + ", "}, insert{fset.Position(s.Cond.End()).Offset, ")"})
			}
			return true
		})
	}
	if len(all) == 0 {
		return text
	}
	slices.SortStableFunc(all, func(a, b insert) int { return a.at - b.at })
	var out bytes.Buffer
	last := 0
	for _, x := range all {
		out.Write(text[last:x.at])
		out.WriteString(x.text)
		last = x.at
	}
	out.Write(text[last:])
	return bytes.Replace(out.Bytes(), []byte("import (\n"), []byte("import (\n\t\""+faulty+"\"\n"), 1)
}

// elseIfs returns the ifs that stand in an else. A program in which one of them is all
// that is left there does not say where it comes from.
func elseIfs(fn *ast.FuncDecl) map[*ast.IfStmt]bool {
	out := map[*ast.IfStmt]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		if s, ok := n.(*ast.IfStmt); ok {
			switch e := s.Else.(type) {
			case *ast.IfStmt:
				out[e] = true
			case *ast.BlockStmt:
				for _, x := range e.List {
					if inner, ok := x.(*ast.IfStmt); ok {
						out[inner] = true
					}
				}
			}
		}
		return true
	})
	return out
}
