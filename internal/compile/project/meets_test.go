package project

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// meets checks that no two programs of a file can wait for each other: for every
// two of them, the edges between them stand in the same order in the same loops
// and branches, the jumps that leave these are the same, and what is sent behind a loop
// is not waited for inside it.
func meets(t *testing.T, name string, text []byte) {
	t.Helper()
	for _, problem := range apart(name, text) {
		t.Error(problem)
	}
}

// apart returns the places where programs do not meet.
func apart(name string, text []byte) (out []string) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		return []string{err.Error()}
	}
	c := &checker{fset: fset, comments: map[int]string{}, inner: map[ast.Stmt]bool{}}
	for _, g := range f.Comments {
		c.comments[fset.Position(g.Pos()).Line] = strings.TrimSpace(strings.TrimPrefix(g.Text(), "//"))
	}
	var programs []*ast.FuncDecl
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(d.Name.Name, "train") {
			programs = append(programs, d)
		}
	}
	ends := make([]map[string]bool, len(programs))
	for i, p := range programs {
		ends[i] = c.edges(p)
	}
	for i := range programs {
		for j := range i {
			both := func(e string) bool { return ends[i][e] && ends[j][e] }
			a, b := c.shape(programs[i].Body, both, false), c.shape(programs[j].Body, both, false)
			if a != b {
				out = append(out, fmt.Sprintf("%s: %s and %s do not meet:\n%s\n%s", name, programs[j].Name, programs[i].Name, b, a))
			}
		}
	}
	return append(out, unflushed(c, string(text), programs)...)
}

type checker struct {
	fset     *token.FileSet
	comments map[int]string
	inner    map[ast.Stmt]bool // ifs that may be printed as an else if, which has no comment
}

// crossing are the functions of package edge that another group answers.
var crossing = []string{"Gather", "Gathered", "Scatter", "Scattered", "Send", "Sent", "Publish", "Fetch", "Reduce", "Reduced"}

// edges returns the constants that a program names where it crosses.
func (c *checker) edges(n ast.Node) map[string]bool {
	out := map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if e := edgeOf(n); e != "" {
			out[e] = true
		}
		return true
	})
	return out
}

func edgeOf(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) < 2 {
		return ""
	}
	fun := call.Fun
	if i, ok := fun.(*ast.IndexExpr); ok {
		fun = i.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains(crossing, sel.Sel.Name) {
		return ""
	}
	if p, ok := sel.X.(*ast.Ident); !ok || p.Name != "edge" {
		return ""
	}
	id, _ := call.Args[1].(*ast.Ident)
	return id.Name
}

// shape returns a block as two programs share it: edges, and the loops, branches and
// jumps around them. A jump counts inside a loop that holds edges.
func (c *checker) shape(n ast.Stmt, both func(string) bool, inLoop bool) string {
	holds := false
	ast.Inspect(n, func(n ast.Node) bool {
		holds = holds || both(edgeOf(n))
		return true
	})
	switch s := n.(type) {
	case *ast.BlockStmt:
		var out string
		for _, x := range s.List {
			out += c.shape(x, both, inLoop)
		}
		return out
	case *ast.ForStmt, *ast.RangeStmt:
		if !holds {
			return ""
		}
		body, _ := s.(*ast.ForStmt)
		if body != nil {
			return fmt.Sprintf("for %s {%s}", c.at(s), c.shape(body.Body, both, true))
		}
		return fmt.Sprintf("for %s {%s}", c.at(s), c.shape(s.(*ast.RangeStmt).Body, both, true))
	case *ast.IfStmt:
		then, other := c.arm(s.Body, both, inLoop), ""
		if s.Else != nil {
			other = c.arm(s.Else, both, inLoop)
		}
		before, at := c.named(s.Cond, both), c.at(s)
		if then+other == "" {
			return before
		}
		if c.inner[s] {
			at = ""
		}
		if opposite(s.Cond) {
			then, other = other, then
		}
		return fmt.Sprintf("%sif %s {%s}{%s}", before, at, then, other)
	case *ast.SwitchStmt:
		out := ""
		for i, x := range s.Body.List {
			if arm := c.shape(&ast.BlockStmt{List: x.(*ast.CaseClause).Body}, both, inLoop); arm != "" {
				out += fmt.Sprintf("case %d {%s}", i, arm)
			}
		}
		if out == "" {
			return ""
		}
		return fmt.Sprintf("switch %s {%s}", c.at(s), out)
	case *ast.BranchStmt:
		if inLoop {
			return s.Tok.String() + ";"
		}
		return ""
	}
	return c.named(n, both)
}

// arm reads an arm of an if.
func (c *checker) arm(s ast.Stmt, both func(string) bool, inLoop bool) string {
	c.inner[s] = true
	if b, ok := s.(*ast.BlockStmt); ok {
		for _, x := range b.List {
			c.inner[x] = true
		}
	}
	return c.shape(s, both, inLoop)
}

// named returns the edges in a simple statement or a condition, in the order in which
// they are used: a call's arguments come before it.
func (c *checker) named(n ast.Node, both func(string) bool) (out string) {
	var open []ast.Node
	ast.Inspect(n, func(n ast.Node) bool {
		if n != nil {
			open = append(open, n)
			return true
		}
		if e := edgeOf(open[len(open)-1]); e != "" && both(e) {
			out += e + ";"
		}
		open = open[:len(open)-1]
		return true
	})
	return out
}

// at returns where a statement comes from.
func (c *checker) at(n ast.Node) string { return c.comments[c.fset.Position(n.Pos()).Line] }

// opposite reports whether a condition is written as the opposite of one. The printer
// writes it so where only the else of an if is left, and !x again as x, so that two
// programs write one condition in two ways.
func opposite(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		return e.Op == token.NOT && !opposite(e.X)
	case *ast.BinaryExpr:
		return e.Op == token.NEQ
	}
	return false
}

// TestMeets: the check has teeth.
func TestMeets(t *testing.T) {
	const program = `package p

func trainA() {
	for { // a.go:1
		edge.Send(x, one, v)
		edge.Send(x, two, v)
		if c { // a.go:2
			break
		}
		if n%2 != 0 { // a.go:3
			edge.Send(x, three, v)
		}
	}
}

func trainB() {
	for { // a.go:1
		v := edge.Sent[int](x, one)
		w := edge.Sent[int](x, two)
		if c { // a.go:2
			break
		}
		if n%2 == 0 { // a.go:3
			n++
		} else {
			v = edge.Sent[int](x, three)
		}
	}
}
`
	if got := apart("right", []byte(program)); len(got) > 0 {
		t.Errorf("programs that meet: %v", got)
	}
	for name, change := range map[string][2]string{
		"order":    {"edge.Send(x, one, v)\n\t\tedge.Send(x, two, v)", "edge.Send(x, two, v)\n\t\tedge.Send(x, one, v)"},
		"loop":     {"w := edge.Sent[int](x, two)", "for { // a.go:9\n\t\t\tw := edge.Sent[int](x, two)\n\t\t}"},
		"break":    {"if c { // a.go:2\n\t\t\tbreak\n\t\t}", ""},
		"continue": {"break", "continue"},
		"opposite": {"n%2 != 0", "n%2 == 0"},
	} {
		wrong := strings.Replace(program, change[0], change[1], 1)
		if wrong == program || len(apart(name, []byte(wrong))) == 0 {
			t.Errorf("%s: nothing was noticed", name)
		}
	}
}
