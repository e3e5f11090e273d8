package analyze

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

// instrument puts calls of package trace into the sources of packages. Nothing
// moves to another line, so that places stay what they are.
func instrument(t *testing.T, pkgs []*packages.Package) map[string][]byte {
	out := map[string][]byte{}
	for _, p := range pkgs {
		u := unitOf(p)
		u.marks = readMarks(u, &findings{fset: p.Fset})
		for _, f := range u.files {
			name := p.Fset.Position(f.Pos()).Filename
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			e := &editor{unit: u, words: words(t, p), fset: p.Fset, marks: allMarks(pkgs), file: filepath.Base(name)}
			e.walk(f)
			if len(e.edits) == 0 {
				continue
			}
			e.add(f.Name.End(), `; import trace "`+module+`/internal/compile/analyze/testdata/src/trace"`, false)
			out[name] = e.apply(src, p.Fset.File(f.Pos()))
		}
	}
	return out
}

// words returns a program that knows the vocabulary of a package.
func words(t *testing.T, p *packages.Package) *program {
	t.Helper()
	set, err := vocabularyOf(p.Fset, p.Types)
	if err != nil {
		t.Fatal(err)
	}
	return &program{words: set}
}

// allMarks returns the directives of all packages, by function.
func allMarks(pkgs []*packages.Package) map[*types.Func]mark {
	out := map[*types.Func]mark{}
	for _, p := range pkgs {
		u := unitOf(p)
		for n, m := range readMarks(u, &findings{fset: p.Fset}).of {
			if d, ok := n.(*ast.FuncDecl); ok {
				out[u.info.Defs[d.Name].(*types.Func)] = m
			}
		}
	}
	return out
}

type edit struct {
	at     token.Pos
	closes bool
	order  int
	text   string
}

type editor struct {
	unit  *unit
	words *program
	fset  *token.FileSet
	marks map[*types.Func]mark
	file  string
	edits []edit
}

func (e *editor) add(at token.Pos, text string, closes bool) {
	e.edits = append(e.edits, edit{at, closes, len(e.edits), text})
}

// around puts a call around an expression.
func (e *editor) around(x ast.Expr, open string) {
	e.add(x.Pos(), open, false)
	e.add(x.End(), ")", true)
}

// apply writes the edits into a source: at one place what closes comes first, the
// innermost before the others, then what opens, the outermost first.
func (e *editor) apply(src []byte, file *token.File) []byte {
	slices.SortStableFunc(e.edits, func(a, b edit) int {
		if a.at != b.at {
			return cmp.Compare(a.at, b.at)
		}
		if a.closes != b.closes {
			if a.closes {
				return -1
			}
			return 1
		}
		if a.closes {
			return cmp.Compare(b.order, a.order)
		}
		return cmp.Compare(a.order, b.order)
	})
	var out []byte
	from := 0
	for _, x := range e.edits {
		at := file.Offset(x.at)
		out = append(append(out, src[from:at]...), x.text...)
		from = at
	}
	return append(out, src[from:]...)
}

// walk visits calls, the outer ones first. Functions that are one operation for
// the analyser are left alone.
func (e *editor) walk(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			fn, _ := e.unit.info.Defs[n.Name].(*types.Func)
			m := e.marks[fn]
			return m["op"]+m["rows"] == ""
		case *ast.CallExpr:
			e.call(n)
		}
		return true
	})
}

// call instruments one call, if it is an operation.
func (e *editor) call(call *ast.CallExpr) {
	fn := tree.Callee(e.unit.info, call)
	if fn == nil {
		return
	}
	w, ours := e.words.word(fn)
	name := w.Name
	if w.Traces {
		if w.ComponentAt < 0 {
			e.around(call.Fun.(*ast.SelectorExpr).X, "trace.Read(")
		} else {
			e.around(call.Args[w.ComponentAt], "trace.Read(")
		}
		return
	}
	if m := e.marks[fn]; !ours && m["op"] != "" {
		w, name = vocabulary.Word{Kind: fdg.Op}, m["op"]
	} else if !ours && m["rows"] != "" {
		w = vocabulary.Word{Kind: fdg.Compute}
	}
	if w.Kind == "" {
		return
	}
	p := e.fset.Position(call.Pos())
	at := strconv.Quote(fmt.Sprintf("%s:%d:%d", e.file, p.Line, p.Column))
	component := e.component(fn)
	e.results(call, fn, at, component)
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && fn.Signature().Recv() != nil {
		switch {
		case component:
			e.around(sel.X, fmt.Sprintf("trace.On(%s, %q, ", at, name))
		case e.batch(sel.X):
			e.around(sel.X, fmt.Sprintf("trace.In(%s, ", at))
		}
	}
	for _, a := range call.Args {
		switch t := e.unit.info.TypeOf(a); {
		case typeWord(t) == "rl.Params" || typeWord(t) == "rl.Func":
			e.around(a, fmt.Sprintf("trace.Lent(%s, ", at))
		case e.batch(a):
			e.around(a, fmt.Sprintf("trace.In(%s, ", at))
		}
	}
}

// batch reports whether an expression may hold tensors.
func (e *editor) batch(x ast.Expr) bool {
	t := e.unit.info.TypeOf(x)
	_, param := t.(*types.TypeParam)
	return param || e.words.isBatch(t)
}

// component reports whether a method belongs to something with state.
func (e *editor) component(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	if recv == nil || e.words.typ(recv.Type()).Run || e.words.isBatch(recv.Type()) {
		return false
	}
	return true
}

// results instruments what a call returns, or its end.
func (e *editor) results(call *ast.CallExpr, fn *types.Func, at string, component bool) {
	switch n := fn.Signature().Results().Len(); {
	case n == 0 && component:
		e.add(call.End(), "; trace.Done()", true)
	case n == 0:
		e.add(call.End(), fmt.Sprintf("; trace.End(%s)", at), true)
	case n == 1 && component:
		e.around(call, "trace.Out(")
	case n == 1:
		e.around(call, fmt.Sprintf("trace.Give(%s, ", at))
	case component:
		e.around(call, "trace.Out2(")
	default:
		e.around(call, "trace.Give2(")
	}
}

// placeOf returns a node as package trace names it.
func placeOf(n fdg.Node) string {
	s := fmt.Sprintf("%s:%d:%d", n.Pos.File, n.Pos.Line, n.Pos.Col)
	for _, c := range slices.Backward(n.Calls) {
		s += " < " + c.String()
	}
	return strings.TrimSpace(s)
}
