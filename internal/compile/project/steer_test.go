package project

import (
	"bytes"
	"cmp"
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
// all programs take the same way and a run can be made to take any. The source also
// tells which cases of its switches were taken.
func steered(t testing.TB, text, source []byte) []byte {
	known := map[string]bool{}
	for _, x := range branches(t, source).ifs {
		known[x.line] = true
	}
	type insert struct {
		at   int
		text string
	}
	var all []insert
	found := branches(t, text)
	at := func(p token.Pos) int { return found.fset.Position(p).Offset }
	for _, x := range found.ifs {
		if known[x.line] {
			all = append(all, insert{at(x.stmt.Cond.Pos()), "fault.Way(" + x.line + ", "}, insert{at(x.stmt.Cond.End()), ")"})
		}
	}
	for line, c := range found.cases {
		all = append(all, insert{at(c.Colon) + 1, "fault.Case(" + line + ");"})
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

// forks are where a loop's source or one of its programs branches.
type forks struct {
	fset  *token.FileSet
	ifs   []oneIf
	cases map[string]*ast.CaseClause // by line; of a source alone
}

// oneIf is an if of a loop, with the line of the source that it comes from.
type oneIf struct {
	stmt *ast.IfStmt
	line string
}

// all returns the names of the ways through the branches of a source, as fault.Taken
// has them.
func (w forks) all() (out []string) {
	for _, x := range w.ifs {
		out = append(out, x.line+" true", x.line+" false")
	}
	for line := range w.cases {
		out = append(out, line+" case")
	}
	slices.Sort(out)
	return out
}

// lines returns the lines of the ifs, as fault.Steer takes them.
func (w forks) lines() (out []uint64) {
	for _, x := range w.ifs {
		n, _ := strconv.ParseUint(x.line, 10, 64)
		out = append(out, n)
	}
	return out
}

// branches finds the branches of a source or of a program.
func branches(t testing.TB, text []byte) forks {
	out := forks{fset: token.NewFileSet(), cases: map[string]*ast.CaseClause{}}
	f, err := parser.ParseFile(out.fset, "", text, parser.ParseComments)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	generated := analyze.Generated(text)
	said := map[int]string{} // the comment of a long condition stands above it
	for _, g := range f.Comments {
		if m := sourceLine.FindStringSubmatch(g.Text()); m != nil {
			said[out.fset.Position(g.Pos()).Line] = m[1]
		}
	}
	line := func(n ast.Node) string {
		at := out.fset.Position(n.Pos()).Line
		if !generated {
			return fmt.Sprint(at)
		}
		return cmp.Or(said[at], said[at-1])
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name == "New" || graphFunction(fn) {
			continue // what runs before the loop does, and is not taken apart
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				if at := line(n); at != "" && !strings.HasPrefix(types.ExprString(n.Cond), "!edge.Fused(") {
					out.ifs = append(out.ifs, oneIf{n, at})
				}
			case *ast.CaseClause:
				if !generated {
					out.cases[line(n)] = n
				}
			}
			return true
		})
	}
	return out
}

// graphFunction reports whether a function is recorded as a graph.
func graphFunction(fn *ast.FuncDecl) bool {
	list := fn.Type.Params.List
	return len(list) > 0 && types.ExprString(list[0].Type) == "*rl.Ctx"
}
