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
	"strconv"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/compile/analyze"
)

// sourceLine finds the author's line in a comment of a program.
var sourceLine = regexp.MustCompile(`random\.go:(\d+)`)

// steered returns a file of a loop, its source or its programs, in which fault.Way
// decides the conditions of its ifs. It knows them by the line of the source, so that
// all programs take the same way and a run can be made to take any.
func steered(t testing.TB, text, source []byte) []byte {
	_, found := ifs(t, source)
	left := map[string]bool{} // out of it
	for _, x := range found {
		left[x.line] = x.inElse
	}
	type insert struct {
		at   int
		text string
	}
	var all []insert
	fset, found := ifs(t, text)
	for _, x := range found {
		if inElse, known := left[x.line]; known && !inElse {
			cond := x.stmt.Cond
			all = append(all, insert{fset.Position(cond.Pos()).Offset, "fault.Way(" + x.line + ", "}, insert{fset.Position(cond.End()).Offset, ")"})
		}
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

// oneIf is an if of a loop, with the line of the source that it comes from. inElse is
// true of one in an else: programs in which nothing else is left there do not say
// where it comes from.
type oneIf struct {
	stmt   *ast.IfStmt
	line   string
	inElse bool
}

// one is fault.One.
const one = 1 << 63

// number returns the line as fault.Way takes it.
func (x oneIf) number() uint64 {
	n, _ := strconv.ParseUint(x.line, 10, 64)
	return n
}

// ifs returns the ifs of a source or of its programs.
func ifs(t testing.TB, text []byte) (*token.FileSet, []oneIf) {
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
	var out []oneIf
	inElse := map[ast.Stmt]bool{}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil && !analyze.Generated(text) {
			continue // a constructor, which checks errors
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			s, ok := n.(*ast.IfStmt)
			if !ok {
				return true
			}
			if b, ok := s.Else.(*ast.BlockStmt); ok {
				for _, x := range b.List {
					inElse[x] = true
				}
			}
			inElse[s.Else] = true
			at := fset.Position(s.Pos()).Line
			line := said[at]
			if !analyze.Generated(text) {
				line = fmt.Sprint(at)
			}
			if line != "" && !strings.HasPrefix(types.ExprString(s.Cond), "!edge.Fused(") {
				out = append(out, oneIf{s, line, inElse[s]})
			}
			return true
		})
	}
	return fset, out
}
