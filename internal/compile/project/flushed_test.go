package project

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/compile/tree"
)

// unflushed returns what is wrong with the batched edges of a generated file: one that is not
// flushed right behind a loop which sends on it, or whose sender receives something inside that
// loop that the receiver has a part in.
func unflushed(c *checker, text string, programs []*ast.FuncDecl) (out []string) {
	flushed := map[string]bool{}
	for i, p := range programs {
		ast.Inspect(p, func(n ast.Node) bool {
			b, ok := n.(*ast.BlockStmt)
			if !ok {
				return true
			}
			for j, s := range b.List {
				for _, e := range flushes(s) {
					if flushed[e] = true; j == 0 || !c.uses(b.List[j-1], e) {
						out = append(out, fmt.Sprintf("%s: %s flushes %s behind a loop that does not send on it", c.at(s), p.Name, e))
					} else if c.answered(programs, i, b.List[j-1], e) {
						out = append(out, fmt.Sprintf("%s: %s flushes %s behind a loop that answers it", c.at(s), p.Name, e))
					}
				}
			}
			return true
		})
	}
	for line := range strings.Lines(text) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && strings.Contains(line, "Batched: true") && !flushed[name] {
			out = append(out, name+" is batched and not flushed")
		}
	}
	return out
}

// flushes returns the edges that a statement flushes.
func flushes(s ast.Stmt) (out []string) {
	x, ok := s.(*ast.ExprStmt)
	if !ok {
		return nil
	}
	call, ok := x.X.(*ast.CallExpr)
	if !ok {
		return nil
	}
	if sel, ok := call.Fun.(*ast.SelectorExpr); !ok || sel.Sel.Name != "Flush" {
		return nil
	}
	for _, e := range call.Args[1:] {
		out = append(out, e.(*ast.Ident).Name)
	}
	return out
}

func (c *checker) uses(n ast.Node, edge string) bool { return c.edges(n)[edge] }

// answered reports whether, inside a loop, the program that sends on an edge waits for the one that
// receives from it, directly or through others.
func (c *checker) answered(programs []*ast.FuncDecl, sender int, loop ast.Stmt, edge string) bool {
	in := make([]map[string]bool, len(programs)) // the edges of the loop in each program
	in[sender] = c.edges(loop)
	all := maps.Clone(in[sender])
	for changed := true; changed; {
		changed = false
		for i, p := range programs {
			ast.Inspect(p, func(n ast.Node) bool {
				s, ok := n.(ast.Stmt)
				_, ranged := n.(*ast.RangeStmt)
				_, plain := n.(*ast.ForStmt)
				if !ok || in[i] != nil || !ranged && !plain || c.at(s) != c.at(loop) {
					return in[i] == nil
				}
				if e := c.edges(s); slices.ContainsFunc(slices.Collect(maps.Keys(e)), func(x string) bool { return all[x] }) {
					in[i], changed = e, true
					maps.Copy(all, e)
				}
				return true
			})
		}
	}
	waits := func(i, j int) bool { // i receives what j sends, or sends one by one what j receives
		for e := range in[i] {
			if i != j && in[j][e] && (c.receives(programs[i], e) || !c.keeps(programs[i], e)) {
				return true
			}
		}
		return false
	}
	reached, open := map[int]bool{}, []int{sender}
	for len(open) > 0 {
		i := open[0]
		open = open[1:]
		for j := range programs {
			if !reached[j] && waits(i, j) {
				reached[j], open = true, append(open, j)
			}
		}
	}
	for i := range programs {
		if i != sender && in[i][edge] && reached[i] {
			return true
		}
	}
	return false
}

// receives reports whether a program receives from an edge.
func (c *checker) receives(p *ast.FuncDecl, edge string) bool {
	return c.calls(p, edge, "Gathered", "Scattered", "Sent", "Fetch", "Reduced")
}

// keeps reports whether a program sends on an edge by a function whose values can be batched.
func (c *checker) keeps(p *ast.FuncDecl, edge string) bool { return c.calls(p, edge, "Gather", "Send") }

// calls reports whether a program uses an edge by one of some functions.
func (c *checker) calls(p *ast.FuncDecl, edge string, functions ...string) (yes bool) {
	ast.Inspect(p, func(n ast.Node) bool {
		if edgeOf(n) == edge {
			fun := n.(*ast.CallExpr).Fun
			if i, ok := fun.(*ast.IndexExpr); ok {
				fun = i.X
			}
			yes = yes || slices.Contains(functions, fun.(*ast.SelectorExpr).Sel.Name)
		}
		return !yes
	})
	return yes
}

// batchedTooMuch lists faults: edges that are batched in a loop in which they are answered.
func batchedTooMuch(b *bench) (out []place) {
	var loops []*tree.Loop
	b.f.tree.Body.Walk(func(s tree.Stmt) bool {
		if l, ok := s.(*tree.Loop); ok && !l.Next {
			loops = append(loops, l)
		}
		return true
	})
	for _, r := range b.rows {
		for _, l := range loops {
			inside := false
			l.Body.Walk(func(s tree.Stmt) bool { inside = inside || s == r.point; return !inside })
			if inside && batchable(r) && !r.Batched {
				out = append(out, place{r.Name, func() { r.batch, r.Batched = l, true }})
			}
		}
	}
	return out
}

// TestFlushed: the check has teeth.
func TestFlushed(t *testing.T) {
	const program = `package p

var edges = []plan.Edge{
	one: {Name: "one", Batched: true},
	two: {Name: "two"},
}

func trainA() {
	for range n { // a.go:1
		edge.Send(x, one, v)
	}
	edge.Flush(x, one)
}

func trainB() {
	for range n { // a.go:1
		v := edge.Sent[int](x, one)
		edge.Publish(x, two, v)
	}
}

func trainC() {
	for range n { // a.go:1
		edge.Fetch(x, two, v)
	}
}
`
	check := func(text string) []string { return apart("flushed", []byte(text)) }
	if got := check(program); len(got) > 0 {
		t.Errorf("a program that is right: %v", got)
	}
	for name, changes := range map[string][]string{
		"no flush":     {"\tedge.Flush(x, one)\n", ""},
		"another loop": {"edge.Flush(x, one)", "for range n { // a.go:2\n\t}\n\tedge.Flush(x, one)"},
		"answered":     {"edge.Publish(x, two, v)", "edge.Publish(x, three, v)", "edge.Send(x, one, v)", "edge.Send(x, one, v)\n\t\tedge.Fetch(x, three, v)"},
		"backpressure": {"edge.Publish(x, two, v)", "edge.Fetch(x, three, v)", "edge.Send(x, one, v)", "edge.Send(x, one, v)\n\t\tedge.Publish(x, three, v)"},
		"another way":  {"edge.Fetch(x, two, v)", "edge.Fetch(x, two, v)\n\t\tedge.Send(x, three, v)", "edge.Send(x, one, v)", "edge.Send(x, one, v)\n\t\tv = edge.Sent[int](x, three)"},
	} {
		wrong := strings.NewReplacer(changes...).Replace(program)
		if wrong == program || len(check(wrong)) == 0 {
			t.Errorf("%s: nothing was noticed in\n%s", name, wrong)
		}
	}
}
