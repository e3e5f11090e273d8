package analyze

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"slices"
	"testing"
)

// FuzzMutate changes the sources of the fixtures and analyses what still
// type-checks: never a panic, never a graph that breaks its promises. Each
// mutation is three bytes: what to do, where, and with what.
func FuzzMutate(f *testing.F) {
	authors := open(f, everything()...)
	r := rand.New(rand.NewPCG(1, 2))
	for which := range authors {
		program := make([]byte, 3*(1+which%5))
		for i := range program {
			program[i] = byte(r.Uint32())
		}
		f.Add(byte(which), program)
	}
	f.Fuzz(func(t *testing.T, which byte, program []byte) {
		try(t, authors[int(which)%len(authors)], program)
	})
}

// TestMutate runs a fixed walk of the same kind, so that every run of the tests
// takes a few hundred of its steps.
func TestMutate(t *testing.T) {
	authors := open(t, everything()...)
	r := rand.New(rand.NewPCG(3, 4))
	analysed := 0
	for range 1500 {
		program := make([]byte, 3*(1+r.IntN(3)))
		for i := range program {
			program[i] = byte(r.Uint32())
		}
		if try(t, authors[r.IntN(len(authors))], program) {
			analysed++
		}
	}
	if analysed < 100 {
		t.Errorf("only %d of the mutated packages type-checked", analysed)
	}
}

// try analyses a mutated package, if it is still one.
func try(t *testing.T, a *author, program []byte) bool {
	files := a.files(t)
	for name, src := range files {
		files[name] = mutate(src, program)
	}
	u, _, err := a.check(files)
	if err != nil {
		return false
	}
	defer func() {
		if p := recover(); p != nil {
			for _, src := range files {
				t.Logf("%s", src)
			}
			panic(p)
		}
	}()
	g, _ := examine(a.pkg.Fset, u, a.others)
	if g == nil {
		return true
	}
	if err := g.Check(); err != nil {
		for _, src := range files {
			t.Logf("%s", src)
		}
		t.Error(err)
	}
	return true
}

// mutate moves statements and names about. It parses again after every change, so
// that a statement moved into itself makes no cycle.
func mutate(src []byte, program []byte) []byte {
	for ; len(program) >= 3; program = program[3:] {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "", src, parser.ParseComments)
		if err != nil {
			return src
		}
		change(f, program[0], int(program[1]), int(program[2]))
		var out bytes.Buffer
		if err := format.Node(&out, fset, f); err != nil {
			return src
		}
		src = out.Bytes()
	}
	return src
}

func change(f *ast.File, what byte, at, with int) {
	var blocks []*ast.BlockStmt
	var names []*ast.Ident
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			if len(n.List) > 0 {
				blocks = append(blocks, n)
			}
		case *ast.Ident:
			names = append(names, n)
		}
		return true
	})
	if len(blocks) == 0 || len(names) == 0 {
		return
	}
	from, to := blocks[at%len(blocks)], blocks[with%len(blocks)]
	i, j := with%len(from.List), at%len(to.List)
	s := from.List[i]
	wrap := func(s ast.Stmt) { from.List[i] = s }
	body := &ast.BlockStmt{List: []ast.Stmt{s}}
	switch what % 12 {
	case 0:
		from.List = slices.Delete(from.List, i, i+1)
	case 1:
		from.List = slices.Insert(from.List, i, s)
	case 2, 3:
		if within(to, s) || within(from, to.List[j]) {
			return
		}
		if what%12 == 3 {
			to.List = slices.Insert(to.List, j, s)
			return
		}
		from.List[i], to.List[j] = to.List[j], from.List[i]
	case 4, 5, 6:
		names[at%len(names)].Name = names[with%len(names)].Name
	case 7:
		wrap(&ast.ForStmt{Body: body})
	case 8:
		wrap(&ast.IfStmt{Cond: ast.NewIdent("true"), Body: body})
	case 9:
		wrap(&ast.RangeStmt{X: &ast.BasicLit{Kind: token.INT, Value: "3"}, Body: body})
	case 10:
		if e, ok := s.(*ast.ExprStmt); ok {
			if c, ok := e.X.(*ast.CallExpr); ok {
				wrap(&ast.GoStmt{Call: c})
			}
		}
	case 11:
		from.List = slices.Insert(from.List, i, ast.Stmt(&ast.BranchStmt{Tok: []token.Token{token.BREAK, token.CONTINUE}[at%2]}))
	}
}

func within(inner, outer ast.Node) bool {
	return outer.Pos() <= inner.Pos() && inner.End() <= outer.End()
}
