package tree

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cases is testdata/cases.go with what Build asks about it: op and both are the
// operations, functions that call one are read through.
type cases struct {
	Config
	info  *types.Info
	funcs map[*types.Func]Source
	fset  *token.FileSet
	bad   []Problem
}

func readCases(t *testing.T) *cases {
	t.Helper()
	c := &cases{funcs: map[*types.Func]Source{}, fset: token.NewFileSet()}
	file, err := parser.ParseFile(c.fset, "testdata/cases.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	c.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	config := types.Config{Importer: importer.ForCompiler(c.fset, "source", nil), Error: func(error) {}}
	pkg, _ := config.Check("cases", c.fset, []*ast.File{file}, c.info)
	for _, d := range file.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			c.funcs[c.info.Defs[d.Name].(*types.Func)] = Source{d, c.info, pkg}
		}
	}
	c.Config = Config{
		Fset: c.fset, Source: func(fn *types.Func) (Source, bool) { s, ok := c.funcs[fn]; return s, ok },
		Classify: func(_ *ast.CallExpr, fn *types.Func, _ func(ast.Expr) types.Type) Kind { return c.kind(fn) },
		Fills:    c.fills, Next: func(*types.Func) bool { return false }, Pin: func(ast.Node) string { return "" },
		Frozen: func(types.Type) bool { return false },
		Fresh:  func(fn *types.Func) bool { return fn.FullName() == "slices.Clone" },
		Shows:  func(*types.Func) bool { return false },
		Report: func(p Problem) { c.bad = append(c.bad, p) },
	}
	return c
}

func (c *cases) kind(fn *types.Func) Kind {
	if fn.Name() == "op" || fn.Name() == "both" {
		return Word
	}
	src, ok := c.funcs[fn]
	if !ok {
		return Pure
	}
	kind := Pure
	ast.Inspect(src.Decl.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if f := Callee(c.info, call); f != nil && f != fn && c.kind(f) != Pure {
				kind = Through
			}
		}
		return true
	})
	return kind
}

func (c *cases) fills(fn *types.Func) []int {
	switch fn.FullName() {
	case "sort.Ints":
		return []int{0}
	case "(*cases.Acc).Add", "(*strings.Builder).WriteString":
		return []int{-1}
	}
	return nil
}

// TestMeaning runs the cases as they stand and as their trees say: a tree is the
// function that it was read from.
func TestMeaning(t *testing.T) {
	c := readCases(t)
	var main, trees strings.Builder
	for fn := range c.funcs {
		name, isCase := strings.CutPrefix(fn.Name(), "case")
		if !isCase {
			continue
		}
		p := Build(&c.Config, fn, nil)
		if err := p.Check(func(_ *ast.CallExpr, fn *types.Func) bool { return c.kind(fn) != Pure }); err != nil {
			t.Errorf("%s: %v\n%s", name, err, p.Print())
		}
		text := strings.Replace(p.Print(), "func case", "func tree", 1)
		fmt.Fprintf(&trees, "%s\n", uses(text))
		fmt.Fprintf(&main, "\tcompare(%q, case%s, tree%s)\n", name, name, name)
	}
	for _, p := range c.bad {
		if p.Code != "type" {
			t.Errorf("%s: %s", c.fset.Position(p.Pos), p.Message)
		}
	}
	dir := t.TempDir()
	source, err := os.ReadFile("testdata/cases.go")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "cases.go", string(source))
	write(t, dir, "main.go", fmt.Sprintf(driver, main.String(), trees.String()))
	cmd := exec.CommandContext(t.Context(), "go", "run", "cases.go", "main.go")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, trees.String())
	}
}

var update = flag.Bool("update", false, "write testdata/cases.txt anew")

// TestPrint compares the trees of the cases with those in testdata.
func TestPrint(t *testing.T) {
	c := readCases(t)
	var b strings.Builder
	for _, fn := range slices.SortedFunc(maps.Keys(c.funcs), func(a, b *types.Func) int { return int(a.Pos() - b.Pos()) }) {
		if strings.HasPrefix(fn.Name(), "case") {
			fmt.Fprintf(&b, "%s\n", Build(&c.Config, fn, nil).Print())
		}
	}
	const file = "testdata/cases.txt"
	if *update {
		write(t, ".", file, b.String())
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the trees are not those of %s: look at them and run go test -update\n%s", file, b.String())
	}
}

// uses makes Go accept variables that a tree only assigns.
func uses(text string) string {
	var b bytes.Buffer
	for line := range strings.Lines(text) {
		b.WriteString(line)
		if f := strings.Fields(line); len(f) > 2 && f[0] == "var" {
			fmt.Fprintf(&b, "\t_ = %s\n", f[1])
		}
	}
	return b.String()
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const driver = `package main

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
)

var _ = slices.Clone[[]int]
var _ = sort.Ints
var _ strings.Builder

func compare(name string, plain, tree func(*T) int) {
	one := &T{Part: &Part{N: 4}, Sizes: []int{1, 2, 3, 2}, Base: Base{5}}
	two := &T{Part: &Part{N: 4}, Sizes: []int{1, 2, 3, 2}, Base: Base{5}}
	a, b := plain(one), tree(two)
	if a != b || !slices.Equal(one.trace, two.trace) {
		fmt.Println(name, "gives", b, "and should give", a)
		for i, s := range one.trace {
			if i >= len(two.trace) || two.trace[i] != s {
				fmt.Println("operation", i, "should be", s, "and what was done is", two.trace[min(i, len(two.trace)):min(i+3, len(two.trace))])
				break
			}
		}
		os.Exit(1)
	}
}

func main() {
%s}

%s`
