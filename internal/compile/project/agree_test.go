package project

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"testing"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/internal/compile/tree"
)

// dependence is an edge of a graph, whatever part of a result it carries.
type dependence struct {
	kind               fdg.Dependence
	from, to, resource int
}

// agreement compares a graph with the tree that it was made from: a dependence that
// the tree shows is in the graph, and a node says of itself what the vocabulary says.
// It goes through the tree forwards with the last writers of every component, and
// asks the analysis for what variables hold.
type agreement struct {
	src   *analyze.Source
	g     *fdg.Graph
	want  map[dependence]bool
	wrong []string
	loops []*ways
	under []*tree.Branch // around the statement
	born  map[*types.Var]int
}

// writers are the nodes that may have written a component last, nil behind a jump.
type writers map[int]map[int]bool

// ways are the states that leave a loop's body by a jump.
type ways struct{ broken, continued writers }

// disagreements returns in what a graph is not that of its tree.
func disagreements(src *analyze.Source, g *fdg.Graph) []string {
	a := agreementOf(src, g)
	have := dependences(g)
	for d := range a.want {
		if !have[d] {
			a.wrong = append(a.wrong, "there is no edge: "+d.in(g))
		}
	}
	return a.wrong
}

func agreementOf(src *analyze.Source, g *fdg.Graph) *agreement {
	a := &agreement{src: src, g: g, want: map[dependence]bool{}, born: map[*types.Var]int{}}
	a.block(src.Tree.Body, writers{})
	return a
}

func dependences(g *fdg.Graph) map[dependence]bool {
	out := map[dependence]bool{}
	for _, e := range g.Edges {
		out[dependence{e.Kind, e.From, e.To, e.Resource}] = true
	}
	return out
}

func (d dependence) in(g *fdg.Graph) string {
	return fmt.Sprintf("%s from %s to %s", d.kind, g.Nodes[d.from].Text, g.Nodes[d.to].Text)
}

func (w writers) union(other writers) writers {
	if w == nil {
		return other
	}
	out := writers{}
	for _, from := range []writers{w, other} {
		for r, nodes := range from {
			if out[r] == nil {
				out[r] = map[int]bool{}
			}
			maps.Copy(out[r], nodes)
		}
	}
	return out
}

func (a *agreement) block(b tree.Block, w writers) writers {
	for _, s := range b {
		if w == nil {
			return nil
		}
		w = a.stmt(s, w)
	}
	return w
}

func (a *agreement) stmt(s tree.Stmt, w writers) writers {
	switch s := s.(type) {
	case *tree.Assign:
		return a.assign(s, w)
	case *tree.Branch:
		return a.branch(s, w)
	case *tree.Loop:
		return a.loop(s, w)
	case *tree.Call:
		return a.block(s.Body, w)
	case *tree.Jump:
		last := a.loops[len(a.loops)-1]
		if s.Tok.String() == "break" {
			last.broken = last.broken.union(w)
		} else {
			last.continued = last.continued.union(w)
		}
	}
	return nil
}

func (a *agreement) assign(s *tree.Assign, w writers) writers {
	n, ok := a.src.Node(s)
	for _, e := range s.Lhs {
		if v := a.src.Tree.Var(e); v != nil && (s.Define || s.Tok == token.VAR) {
			a.born[v] = len(a.under)
		}
	}
	if !ok {
		return w
	}
	node := a.g.Nodes[n]
	a.reads(s, n, fdg.OfValue, s.Rhs...)
	if s.Op == nil {
		a.numbers(s, n)
	}
	if s.Op != nil && s.Op.Kind == tree.Word {
		word := a.src.Word(s.Op.Fn)
		if node.Whole != word.Whole || node.Shards != word.Shards || node.Kind != word.Kind {
			a.wrong = append(a.wrong, fmt.Sprintf("%s: the graph says %s whole=%v shards=%q, the vocabulary %s whole=%v shards=%q",
				node.Text, node.Kind, node.Whole, node.Shards, word.Kind, word.Whole, word.Shards))
		}
		if (word.Writes || word.Replaces || word.Params) != (len(node.Writes) > 0) {
			a.wrong = append(a.wrong, node.Text+": the graph and the vocabulary do not agree on whether it writes")
		}
	}
	for _, r := range node.Reads {
		for from := range w[r] {
			a.want[dependence{fdg.OfResource, from, n, r}] = true
		}
	}
	out := maps.Clone(w)
	for _, r := range node.Writes {
		if a.g.Resources[r].Family {
			out = out.union(writers{r: {n: true}})
		} else {
			out[r] = map[int]bool{n: true}
		}
	}
	return out
}

// numbers notes what the numbers that an assignment computes depend on. Which they
// are depends on the way here, and there is a node for each.
func (a *agreement) numbers(s *tree.Assign, first int) {
	for i, e := range s.Lhs {
		n, node := first+i, a.g.Nodes[first]
		if n >= len(a.g.Nodes) || a.g.Nodes[n].Text != node.Text || a.g.Nodes[n].Pos != node.Pos {
			return
		}
		a.reads(s, n, fdg.OfValue, s.Rhs...)
		if x, ok := e.(*ast.IndexExpr); ok {
			a.reads(s, n, fdg.OfValue, x.Index)
		}
		if s.Tok != token.ASSIGN { // it adds to what was there
			a.reads(s, n, fdg.OfValue, e)
		}
		for _, b := range a.under[min(len(a.under), a.born[a.src.Tree.Root(e)]):] {
			a.reads(b, n, fdg.OfValue, b.Cond)
		}
	}
}

// reads notes what the variables of expressions come from.
func (a *agreement) reads(s tree.Stmt, n int, kind fdg.Dependence, list ...ast.Expr) {
	for _, e := range list {
		if e == nil {
			continue
		}
		ast.Inspect(e, func(x ast.Node) bool {
			e, ok := x.(ast.Expr)
			if !ok {
				return true
			}
			if call, ok := x.(*ast.CallExpr); ok && types.ExprString(call.Fun) == "len" {
				return false // which the analysis takes for known
			}
			v, path := a.src.Tree.Path(e)
			if v == nil {
				return true
			}
			for _, o := range a.src.Origins(s, false, v, path) {
				a.want[dependence{kind, o.Node, n, -1}] = true
			}
			return false
		})
	}
}

func (a *agreement) branch(s *tree.Branch, w writers) (out writers) {
	a.under = append(a.under, s)
	defer func() { a.under = a.under[:len(a.under)-1] }()
	if n, ok := a.src.Node(s); ok {
		a.reads(s, n, fdg.OfControl, s.Cond)
	}
	for _, arm := range s.Arms {
		out = out.union(a.block(arm.Body, w))
	}
	if len(s.Arms) < 2 {
		out = out.union(w)
	}
	return out
}

func (a *agreement) loop(s *tree.Loop, w writers) (out writers) {
	if n, ok := a.src.Node(s); ok && !s.Next {
		a.reads(s, n, fdg.OfControl, s.Cond)
		a.steps(s, n)
		if t := a.src.Tree.Info.TypeOf(s.Over); s.Range && isInteger(t) {
			a.reads(s, n, fdg.OfControl, s.Over)
		}
	}
	for range 3 { // what one round writes, the next reads
		here := &ways{}
		a.loops = append(a.loops, here)
		end := a.block(s.Body, w).union(here.continued)
		a.loops = a.loops[:len(a.loops)-1]
		if s.Range || s.Next || s.Cond != nil {
			out = out.union(w).union(end)
		}
		out, w = out.union(here.broken), w.union(end)
	}
	return out
}

// steps notes that the condition of a loop depends on the numbers in its head.
func (a *agreement) steps(s *tree.Loop, n int) {
	for _, x := range []*tree.Assign{s.Init, s.Post} {
		if x == nil {
			continue
		}
		m, ok := a.src.Node(x)
		if !ok {
			continue
		}
		a.numbers(x, m)
		ast.Inspect(s.Cond, func(e ast.Node) bool {
			if id, ok := e.(*ast.Ident); ok && a.src.Tree.Var(id) == a.src.Tree.Root(x.Lhs[0]) {
				a.want[dependence{fdg.OfControl, m, n, -1}] = true
			}
			return true
		})
	}
}

// TestAgreement: the graphs of random loops and of fixtures agree with their trees, and
// would not without one of their dependences.
func TestAgreement(t *testing.T) {
	f := randomFrame(t)
	var sources [][]byte
	for i, file := range byHand {
		sources = append(sources, fixture(t, f, file, i).source)
	}
	for n := range uint64(60) {
		sources = append(sources, grown(*seed*1_000_000+n))
	}
	edges, missed := 0, 0
	for i, text := range sources {
		src, err := f.Source(map[string][]byte{"random.go": text})
		if err != nil || src.Graph == nil {
			continue
		}
		for _, why := range disagreements(src.Source, src.Graph) {
			t.Errorf("loop %d: %s", i, why)
		}
		want := agreementOf(src.Source, src.Graph).want
		for d := range dependences(src.Graph) {
			if edges++; !want[d] {
				missed++
				t.Logf("loop %d: nothing would notice that this was left out: %s", i, d.in(src.Graph))
			}
		}
	}
	if missed > edges/500 { // numbers that depend on what a loop before left
		t.Errorf("%d of %d dependences could be left out", missed, edges)
	}
}
