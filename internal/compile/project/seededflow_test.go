package project

import (
	"fmt"
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
)

// lostEdges are edges of a kind that a graph can lose.
func lostEdges(kind fdg.Dependence) func(*bench) []place {
	return func(b *bench) (out []place) {
		for i, e := range b.g.Edges {
			if e.Kind == kind {
				out = append(out, spot(fmt.Sprintf("edge %d from %s to %s", i, b.g.Nodes[e.From].Text, b.g.Nodes[e.To].Text), func() {
					b.g.Edges = slices.Delete(slices.Clone(b.g.Edges), i, i+1)
					ported(b.g)
				}))
				if kind == fdg.OfControl {
					out[len(out)-1].same = "executed in place of received"
				}
			}
		}
		return out
	}
}

// ported makes a graph consistent again whose edges or owners have changed, so that
// the fault is not found by its bookkeeping alone.
func ported(g *fdg.Graph) {
	for i := range g.Fragments {
		g.Fragments[i].Entries, g.Fragments[i].Exits = nil, nil
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		if e.ID = i; !g.Crosses(*e) {
			continue
		}
		from, to := g.Fragment(g.Nodes[e.From].Fragment), g.Fragment(g.Nodes[e.To].Fragment)
		p := fdg.Port{Kind: e.Kind, Name: fmt.Sprint("edge ", i), Edges: []int{i}, Axis: e.Axis, Freq: e.Freq, Operators: []fdg.Operator{fdg.Send}}
		p.Peer = to.Name
		from.Exits = append(from.Exits, p)
		p.Peer = from.Name
		to.Entries = append(to.Entries, p)
	}
}

// otherSharding are nodes whose declaration says something else of their rows, and
// edges that are split along something else.
func otherSharding(b *bench) (out []place) {
	for i := range b.g.Nodes {
		n := &b.g.Nodes[i]
		if n.Fragment == "" {
			continue
		}
		out = append(out, spot("whole of "+n.Text, func() { n.Whole = !n.Whole }))
		if !n.Whole {
			out[len(out)-1].same = "all rows in place of the replica's own"
		}
		for _, s := range []string{"", ownRows, evenShare, allOfIt} {
			if s != n.Shards {
				out = append(out, spot(fmt.Sprintf("shards %q of %s", s, n.Text), func() { n.Shards = s }))
			}
		}
	}
	for i := range b.g.Edges {
		if e := &b.g.Edges[i]; e.Kind == fdg.OfValue {
			out = append(out, spot(fmt.Sprintf("axis of the edge from %s to %s", b.g.Nodes[e.From].Text, b.g.Nodes[e.To].Text), func() { e.Axis = otherAxis(e.Axis) }))
		}
	}
	return out
}

func otherAxis(a fdg.Axis) fdg.Axis {
	if a == fdg.None {
		return fdg.Environments
	}
	return fdg.None
}

// otherFragments are nodes that are given to another fragment.
func otherFragments(b *bench) (out []place) {
	for i := range b.g.Nodes {
		n := &b.g.Nodes[i]
		from := b.g.Fragment(n.Fragment)
		if from == nil {
			continue
		}
		for j := range b.g.Fragments {
			to := &b.g.Fragments[j]
			if to.Name != from.Name && b.by.Of(to.Name) != b.by.Of(from.Name) {
				out = append(out, spot(n.Text+" to "+to.Name, func() {
					from.Nodes = slices.DeleteFunc(slices.Clone(from.Nodes), func(x int) bool { return x == i })
					to.Nodes = append(slices.Clone(to.Nodes), i)
					slices.Sort(to.Nodes)
					n.Fragment = to.Name
					ported(b.g)
				}))
				out[len(out)-1].same = "a legal placement"
			}
		}
	}
	return out
}

// lostAccess are reads and writes of components that a node no longer tells of, with
// the edges that came of them.
func lostAccess(b *bench) (out []place) {
	lose := func(list *[]int, k int, mine func(fdg.Edge) int, node int) {
		r := (*list)[k]
		*list = slices.Delete(slices.Clone(*list), k, k+1)
		b.g.Edges = slices.DeleteFunc(slices.Clone(b.g.Edges), func(e fdg.Edge) bool {
			return e.Kind == fdg.OfResource && e.Resource == r && mine(e) == node
		})
		ported(b.g)
	}
	for i := range b.g.Nodes {
		n := &b.g.Nodes[i]
		for k, r := range n.Reads {
			out = append(out, place{what: n.Text + " reads " + b.g.Resources[r].Name, put: func() { lose(&n.Reads, k, func(e fdg.Edge) int { return e.To }, i) }})
		}
		for k, r := range n.Writes {
			out = append(out, place{what: n.Text + " writes " + b.g.Resources[r].Name, put: func() { lose(&n.Writes, k, func(e fdg.Edge) int { return e.From }, i) }})
		}
	}
	return out
}

// crossings visits what groups receive, in program order.
func (b *bench) crossings(f func(s tree.Stmt, g int, v *variable)) {
	b.f.tree.Body.Walk(func(s tree.Stmt) bool {
		for g := range b.f.groups {
			for _, v := range b.f.sent[s][g].sorted() {
				f(s, g, v)
			}
		}
		return true
	})
}

func (b *bench) crosses(s tree.Stmt, g int, v *variable) string {
	return fmt.Sprintf("%s to %s behind %s", v.name, b.by.Groups[g].Name, b.where(s))
}

// lostCrossings are values, or copies of components, that are not sent.
func lostCrossings(copies bool) func(*bench) []place {
	return func(b *bench) (out []place) {
		b.crossings(func(s tree.Stmt, g int, v *variable) {
			if (v.resource >= 0) == copies {
				out = append(out, spot(b.crosses(s, g, v), func() {
					delete(b.f.sent[s][g], v)
					b.lost = &crossed{s.At().ID, g, v.id, ""}
				}))
			}
		})
		return out
	}
}

// unfilled are the fields of an observation that no environment of the settings
// has.
var unfilled = []string{"Legal", "State", "Turn", "Alive"}

// crossed names what a group receives behind a statement, in any reading of a loop.
type crossed struct {
	stmt, to, variable int
	path               string
}

// idents returns the edges that carry it.
func (b *bench) idents(c crossed) (out []string) {
	for _, r := range b.rows {
		if r.v != nil && r.point.At().ID == c.stmt && r.to == c.to && r.v.id == c.variable {
			out = append(out, r.ident)
		}
	}
	return out
}

// lostParts are fields of what crosses that are not sent.
func lostParts(b *bench) (out []place) {
	b.crossings(func(s tree.Stmt, g int, v *variable) {
		if v.resource >= 0 || b.f.open(v.typ) == nil {
			return
		}
		all := b.f.sent[s][g][v].paths()
		if b.f.sent[s][g][v].all {
			all = nil
			for _, f := range fieldsOf(v.typ) {
				all = append(all, f.Name())
			}
		}
		for i, path := range all {
			if len(all) > 1 && !slices.Contains(unfilled, path[strings.LastIndexByte(path, '.')+1:]) {
				out = append(out, spot(path+" of "+b.crosses(s, g, v), func() {
					var now *part
					for j, p := range all {
						if j != i {
							now = now.plus(at(p))
						}
					}
					b.f.sent[s][g][v] = now
					b.lost = &crossed{s.At().ID, g, v.id, path}
				}))
			}
		}
	})
	return out
}

// otherSenders are crossings that come from a group which does not have the value.
func otherSenders(b *bench) (out []place) {
	b.crossings(func(s tree.Stmt, g int, v *variable) {
		for h := range b.f.groups {
			if h != g && h != b.f.from[s][g][v] && b.f.sent[s][h][v].none() {
				out = append(out, spot(b.crosses(s, g, v)+" from "+b.by.Groups[h].Name, func() { b.f.from[s][g][v] = h }))
			}
		}
	})
	return out
}

// lostKeeps are loops, branches and calls that a group does not go into.
func lostKeeps(b *bench) (out []place) {
	b.f.tree.Body.Walk(func(s tree.Stmt) bool {
		for g := range b.f.groups {
			if b.f.keep[s][g] {
				out = append(out, spot(b.by.Groups[g].Name+" in "+b.where(s), func() { delete(b.f.keep[s], g); b.left = s }))
			}
		}
		return true
	})
	return out
}

// lossKey is the key of a loss. Those of random loops draw nothing.
var lossKey = regexp.MustCompile(`^run\w*\.Key\("(loss|member)\d*"`)

// lostDoes are assignments that a group does not execute.
func lostDoes(b *bench) (out []place) {
	b.f.tree.Body.Walk(func(s tree.Stmt) bool {
		for g := range b.f.groups {
			if _, ok := b.f.does[s][g]; ok {
				out = append(out, spot(b.by.Groups[g].Name+": "+b.where(s), func() { delete(b.f.does[s], g); b.left = s }))
				if a, ok := s.(*tree.Assign); ok && len(a.Rhs) == 1 && lossKey.MatchString(types.ExprString(a.Rhs[0])) {
					out[len(out)-1].same = "a loss that draws nothing"
				}
			}
		}
		return true
	})
	return out
}

// otherKinds are edges whose ends do something else. Between two groups of one
// replica each a value is sent, gathered and scattered alike.
func otherKinds(b *bench) (out []place) {
	for _, r := range b.rows {
		if b.by.Groups[r.from].Over == fdg.None && b.by.Groups[r.to].Over == fdg.None {
			continue
		}
		for _, k := range []edge.Kind{edge.Gathers, edge.Scatters, edge.Sends, edge.Copies, edge.Reduces} {
			if k != r.Kind && r.v != nil && r.from != r.to && (k == edge.Copies) == (r.v.resource >= 0) {
				out = append(out, spot(fmt.Sprintf("%s %s in place of %s", r.Name, k, r.Kind), func() { r.Kind = k }))
			}
		}
	}
	return out
}

// wronglyGiven are values whose sender gives up memory that it still uses.
func wronglyGiven(b *bench) (out []place) {
	for _, r := range b.rows {
		if !r.Given && r.v != nil && r.v.resource < 0 {
			out = append(out, spot(r.Name, func() { r.Given = true }))
			out[len(out)-1].same = "the memory is overwritten"
		}
	}
	return out
}

func lostRows(b *bench) (out []place) {
	for i, r := range b.rows {
		out = append(out, spot(r.Name, func() {
			if r.v != nil {
				b.lost = &crossed{r.point.At().ID, r.to, r.v.id, ""}
			}
			b.rows = slices.Delete(slices.Clone(b.rows), i, i+1)
		}))
	}
	return out
}

// lists visits the lists of lines in a program.
func lists(list *[]*line, f func(*[]*line)) {
	f(list)
	for _, n := range *list {
		for i := range n.arms {
			lists(&n.arms[i].body, f)
		}
	}
}

func lostLines(b *bench) (out []place) {
	lists(&b.lines, func(list *[]*line) {
		for i, n := range *list {
			out = append(out, spot(b.shows(n), func() { *list = slices.Delete(slices.Clone(*list), i, i+1) }))
		}
	})
	return out
}

// shows names a line.
func (b *bench) shows(n *line) string {
	at := b.src.Fset.Position(n.pos).Line
	if n.word != "" {
		return fmt.Sprintf("line %d: %s", at, n.word)
	}
	return fmt.Sprintf("line %d: %T %v", at, n.stmt, b.ends(n))
}

// ends returns the edges that a line sends on or receives from, by their names.
func (b *bench) ends(n *line) (out []string) {
	ast.Inspect(&ast.BlockStmt{List: slices.DeleteFunc([]ast.Stmt{n.stmt}, func(s ast.Stmt) bool { return s == nil })}, func(x ast.Node) bool {
		if e := edgeOf(x); e != "" {
			out = append(out, e)
		}
		return true
	})
	return out
}

// exchangedEnds are pairs of edges between the same two groups that one of them
// uses in another order.
func exchangedEnds(b *bench) (out []place) {
	between := func(name string) string {
		for _, r := range b.rows {
			if r.ident == name {
				return r.From + r.To
			}
		}
		return ""
	}
	lists(&b.lines, func(list *[]*line) {
		for j, n := range *list {
			for i, m := range (*list)[:j] {
				x, y := b.ends(m), b.ends(n)
				if len(x) == 1 && len(y) == 1 && x[0] != y[0] && between(x[0]) == between(y[0]) {
					out = append(out, spot(strings.Join(append(x, y...), " and "), func() { (*list)[i], (*list)[j] = n, m }))
				}
			}
		}
	})
	return out
}

// rolledUp are calls that are printed though the program does not execute all of
// what they were read through to.
func rolledUp(b *bench) (out []place) {
	b.m.tree.Body.Walk(func(s tree.Stmt) bool {
		if c, ok := s.(*tree.Call); ok && b.m.keep[c][b.m.me] && !b.m.closed(c) {
			out = append(out, spot(b.where(c)+" "+c.Fn.Name(), func() {
				b.m.rolls = func(x *tree.Call) bool { return x == c || b.m.closed(x) }
			}))
		}
		return true
	})
	return out
}
