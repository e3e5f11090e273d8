package project

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/internal/compile/tree"
)

// lostEdges lists faults: the dependences of a kind that a graph can lose: all edges between two
// nodes.
func lostEdges(kind fdg.Dependence) func(*bench) []place {
	return func(b *bench) (out []place) {
		for _, e := range b.g.Edges {
			if e.Kind == kind {
				out = append(out, place{fmt.Sprintf("from %s to %s", b.g.Nodes[e.From].Text, b.g.Nodes[e.To].Text), func() {
					b.g.Edges = slices.DeleteFunc(slices.Clone(b.g.Edges), func(x fdg.Edge) bool {
						return x.Kind == kind && x.From == e.From && x.To == e.To && x.Resource == e.Resource
					})
					ported(b.g)
				}})
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

// otherRows lists faults: nodes of which the graph says something else about their rows.
func otherRows(b *bench) (out []place) {
	for i := range b.g.Nodes {
		n := &b.g.Nodes[i]
		if n.Fragment == "" || n.Op == "" {
			continue
		}
		out = append(out, place{"whole of " + n.Text, func() { n.Whole = !n.Whole }})
		for _, s := range []string{"", ownRows, evenShare, allOfIt} {
			if s != n.Shards {
				out = append(out, place{fmt.Sprintf("shards %q of %s", s, n.Text), func() { n.Shards = s }})
			}
		}
	}
	return out
}

// crossings visits what groups receive, in program order.
func (b *bench) crossings(f func(s tree.Stmt, g int, v *variable)) {
	b.f.tree.Body.Walk(func(s tree.Stmt) bool {
		for g := range b.f.groups {
			for _, v := range b.f.sent[spot{s, g}].sorted() {
				f(s, g, v)
			}
		}
		return true
	})
}

func (b *bench) crosses(s tree.Stmt, g int, v *variable) string {
	return fmt.Sprintf("%s to %s behind %s", v.name, b.by.Groups[g].Name, b.where(s))
}

// lostCrossings lists faults: values, or copies of components, that are not sent.
func lostCrossings(copies bool) func(*bench) []place {
	return func(b *bench) (out []place) {
		b.crossings(func(s tree.Stmt, g int, v *variable) {
			if (v.resource >= 0) == copies {
				out = append(out, place{b.crosses(s, g, v), func() { delete(b.f.sent[spot{s, g}], v) }})
			}
		})
		return out
	}
}

// lostParts lists faults: fields of what crosses that are not sent.
func lostParts(b *bench) (out []place) {
	b.crossings(func(s tree.Stmt, g int, v *variable) {
		if v.resource >= 0 || b.f.open(v.typ) == nil {
			return
		}
		all := []string(b.f.sent[spot{s, g}][v])
		if b.f.sent[spot{s, g}][v].all() {
			all = nil
			for _, f := range tree.StructFields(v.typ) {
				all = append(all, f.Name())
			}
		}
		for i, path := range all {
			if len(all) > 1 {
				out = append(out, place{path + " of " + b.crosses(s, g, v), func() {
					var now part
					for j, p := range all {
						if j != i {
							now = now.plus(at(p))
						}
					}
					b.f.sent[spot{s, g}][v] = now
				}})
			}
		}
	})
	return out
}

// otherSenders lists faults: crossings that come from a group which does not have the value.
func otherSenders(b *bench) (out []place) {
	b.crossings(func(s tree.Stmt, g int, v *variable) {
		for h := range b.f.groups {
			if h != g && h != b.f.from[spot{s, g}][v] && b.f.sent[spot{s, h}][v].none() {
				out = append(out, place{b.crosses(s, g, v) + " from " + b.by.Groups[h].Name, func() { b.f.from[spot{s, g}][v] = h }})
			}
		}
	})
	return out
}

// lostKeeps lists faults: loops, branches and calls that a group does not go into.
func lostKeeps(b *bench) (out []place) {
	b.f.tree.Body.Walk(func(s tree.Stmt) bool {
		for g := range b.f.groups {
			if b.f.keep[spot{s, g}] {
				out = append(out, place{b.by.Groups[g].Name + " in " + b.where(s), func() { delete(b.f.keep, spot{s, g}) }})
			}
		}
		return true
	})
	return out
}

// lostDoes lists faults: assignments that a group does not execute.
func lostDoes(b *bench) (out []place) {
	b.f.tree.Body.Walk(func(s tree.Stmt) bool {
		for g := range b.f.groups {
			if _, ok := b.f.does[spot{s, g}]; ok {
				out = append(out, place{b.by.Groups[g].Name + ": " + b.where(s), func() { delete(b.f.does, spot{s, g}) }})
			}
		}
		return true
	})
	return out
}

// otherEnds lists faults: edges whose ends do something else. Between two groups of one
// replica each a value is sent, gathered and scattered alike.
func otherEnds(b *bench) (out []place) {
	for _, r := range b.rows {
		if b.by.Groups[r.from].Over == fdg.None && b.by.Groups[r.to].Over == fdg.None {
			continue
		}
		for _, k := range []fdg.Operator{fdg.Gather, fdg.Scatter, fdg.Send, fdg.Broadcast, fdg.Reduce} {
			if k != r.Operator && r.v != nil && r.from != r.to && (k == fdg.Broadcast) == (r.v.resource >= 0) {
				out = append(out, place{fmt.Sprintf("%s %s in place of %s", r.Name, k, r.Operator), func() { r.Operator = k }})
			}
		}
	}
	return out
}

// wronglyGiven lists faults: batches whose sender gives up memory that an operation of its own
// still uses.
func wronglyGiven(b *bench) (out []place) {
	for _, r := range b.rows {
		held := slices.ContainsFunc(b.g.Edges, func(e fdg.Edge) bool {
			to, ok := b.f.group[b.g.Nodes[e.To].Fragment]
			return ok && to == r.from && slices.ContainsFunc(r.origins, func(o analyze.Origin) bool { return o.Node == e.From && overlap(o.Part, e.Part) })
		})
		if !r.Given && held && r.v.resource < 0 && b.src.IsBatch(r.v.typ) {
			out = append(out, place{r.Name, func() { r.Given = true }})
		}
	}
	return out
}

// lostRows lists faults: edges that are not listed.
func lostRows(b *bench) (out []place) {
	for i, r := range b.rows {
		out = append(out, place{r.Name, func() { b.rows = slices.Delete(slices.Clone(b.rows), i, i+1) }})
	}
	return out
}

// lists visits the lists of lines in a program.
func lists(list *[]*line, f func(*[]*line)) {
	f(list)
	for _, n := range *list {
		for i := range n.arms {
			lists(&n.arms[i], f)
		}
	}
}

// lostLines lists faults: lines of a program that are left out.
func lostLines(b *bench) (out []place) {
	lists(&b.lines, func(list *[]*line) {
		for i, n := range *list {
			out = append(out, place{b.shows(n), func() { *list = slices.Delete(slices.Clone(*list), i, i+1) }})
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
	return fmt.Sprintf("line %d: %T %v", at, n.statement(), b.ends(n))
}

// ends returns the edges that a line sends on or receives from, by their names.
func (b *bench) ends(n *line) (out []string) {
	for _, x := range slices.Concat(n.lhs, n.rhs) {
		for call := range tree.Nodes[ast.Node](x) {
			if e := edgeOf(call); e != "" {
				out = append(out, e)
			}
		}
	}
	return out
}

// exchangedEnds lists faults: pairs of edges between the same two groups that one of them
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
					out = append(out, place{strings.Join(append(x, y...), " and "), func() { (*list)[i], (*list)[j] = n, m }})
				}
			}
		}
	})
	return out
}

// rolledUp lists faults: calls that are printed though the program does not execute all of
// what they were read through to.
func rolledUp(b *bench) (out []place) {
	b.m.tree.Body.Walk(func(s tree.Stmt) bool {
		if c, ok := s.(*tree.Call); ok && b.m.keep[spot{c, b.m.me}] && !b.m.closed(c) {
			out = append(out, place{b.where(c) + " " + c.Fn.Name(), func() {
				b.m.rolls = func(x *tree.Call) bool { return x == c || b.m.closed(x) }
			}})
		}
		return true
	})
	return out
}

// lostCollectives lists faults: values that the replicas of a group do not gather, or sum, from
// each other.
func lostCollectives(b *bench) (out []place) {
	lists(&b.lines, func(list *[]*line) {
		for _, n := range *list {
			operands(n, func(e *ast.Expr) {
				call, ok := (*e).(*ast.CallExpr)
				if ok && len(call.Args) == 3 && strings.HasPrefix(types.ExprString(call.Fun), "edge.All") {
					out = append(out, place{types.ExprString(call), func() { *e = call.Args[2] }})
				}
			})
		}
	})
	return out
}

// operands visits the values that a statement assigns and the arguments of its calls.
func operands(s *line, f func(*ast.Expr)) {
	for i, e := range s.rhs {
		if len(s.lhs) > 0 {
			f(&s.rhs[i])
		}
		for n := range tree.Nodes[ast.Expr](e) {
			switch n := n.(type) {
			case *ast.CallExpr:
				for i := range n.Args {
					f(&n.Args[i])
				}
			case *ast.KeyValueExpr:
				f(&n.Value)
			}
		}
	}
}
