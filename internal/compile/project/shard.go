package project

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
)

// What replicas do with an operation that needs rows which they share out, as its
// declaration says.
const (
	ownRows   = "own"  // it is given a replica's rows, and finds those of the result itself
	evenShare = "even" // rows of the result are others: every replica takes an even share
	allOfIt   = "all"  // every replica has all of the state, and does all of it
)

// replicated reports whether a group's replicas share environments out among them.
func (l *loop) replicated(group int) bool { return l.groups[group].Over == fdg.Environments }

// special reports whether a node is written differently where its group is
// replicated: it needs all rows, or all gradients, or is the same for all.
func (l *loop) special(id int) bool {
	n := l.g.Nodes[id]
	g, ok := l.group[n.Fragment]
	if ok && g == l.agents() { // a record of a member's is its own
		return n.Kind == fdg.Log && !slices.ContainsFunc(n.Freq.Loops, l.src.Family)
	}
	if !ok || !l.replicated(g) {
		return false
	}
	switch n.Kind {
	case fdg.Apply:
		return true
	case fdg.Log:
		return l.same(id)
	}
	return n.Whole && n.Shards != ownRows
}

// same reports whether what a node is given is the same in all replicas.
func (l *loop) same(id int) bool {
	return !slices.ContainsFunc(l.g.Edges, func(e fdg.Edge) bool {
		return e.To == id && e.Kind == fdg.OfValue && e.Axis != fdg.None
	})
}

// sharded returns the axis that an argument of a node is split along over replicas.
func (l *loop) sharded(id int, param string) (axis fdg.Axis) {
	for _, e := range l.g.Edges {
		into, _, _ := strings.Cut(e.Into, ".")
		if e.To == id && e.Kind == fdg.OfValue && into == param && e.Axis != fdg.None {
			return e.Axis
		}
	}
	return fdg.None
}

// adapt rewrites an operation that is special in its group, and returns what has to
// stand behind it. n is the line that it is.
func (m *emitter) adapt(a *action, n *line) []*line {
	at := &n.rhs[0]
	call := ast.Unparen(*at).(*ast.CallExpr)
	defer func() { m.tree.Typed(*at, m.typeOf(a.Rhs[0])) }()
	switch m.g.Nodes[a.node].Kind {
	case fdg.Apply:
		call.Args[0] = m.edgeCall("AllReduce", m.edgeAt(a, paramAt(a.Op.Fn, 0)), call.Args[0])
		return nil
	case fdg.Log: // a record that only one replica makes
		sel := call.Fun.(*ast.SelectorExpr)
		*at = m.edgeCall("LogOnce", nil, append([]ast.Expr{sel.X}, call.Args...)...)
		return nil
	}
	return m.cut(a, m.gathered(a, call), at)
}

// gathered gives an operation all rows, and returns the edges that bring them, by
// their axes.
func (m *emitter) gathered(a *action, call *ast.CallExpr) map[fdg.Axis]*edgeRow {
	m.homes(a)
	by := map[fdg.Axis]*edgeRow{}
	gather := func(param string, value ast.Expr) ast.Expr {
		axis := m.sharded(a.node, param)
		if axis == fdg.None {
			return value
		}
		e := m.edgeAt(a, param)
		if by[axis] == nil {
			by[axis] = e
		}
		return m.edgeCall("AllGather", e, value)
	}
	for i := range call.Args {
		if t := m.typeOf(call.Args[i]); t == nil || m.src.IsBatch(t) {
			call.Args[i] = gather(paramAt(a.Op.Fn, i), call.Args[i])
		}
	}
	if recv := a.Op.Fn.Signature().Recv(); recv != nil && m.src.IsBatch(recv.Type()) {
		sel := call.Fun.(*ast.SelectorExpr)
		sel.X = gather(recv.Name(), sel.X)
	}
	return by
}

func paramAt(fn *types.Func, i int) string {
	p := fn.Signature().Params()
	if p.Len() == 0 {
		return ""
	}
	return p.At(min(i, p.Len()-1)).Name()
}

// homes refuses what all replicas would have to write together into state of
// which each has a part.
func (m *emitter) homes(a *action) {
	n := m.g.Nodes[a.node]
	if n.Shards == allOfIt {
		return
	}
	for _, r := range n.Writes {
		if res := m.g.Resources[r]; res.Axis == fdg.Environments {
			m.bad(a.Pos, n.Text+" needs all rows and writes "+res.Name+", of which every replica of "+m.groups[m.me].Name+" has the part of its own environments")
		}
	}
}

// cut takes the replica's rows out of what all replicas computed: at, or what has
// several results, behind it.
func (m *emitter) cut(a *action, by map[fdg.Axis]*edgeRow, at *ast.Expr) (after []*line) {
	own := func(axis fdg.Axis, v ast.Expr) ast.Expr {
		if e := by[axis]; e != nil && m.g.Nodes[a.node].Shards != evenShare {
			return m.edgeCall("OwnRows", e, v)
		}
		return m.edgeCall("Part", nil, v)
	}
	names := m.src.Results(a.node)
	if len(names) == 0 {
		if axis := m.src.Axis(analyze.Origin{Node: a.node}); axis != fdg.None && len(a.Lhs) > 0 && m.rowsOf(a.defs[0]) {
			*at = own(axis, *at)
		}
		return nil
	}
	for i, name := range names {
		axis := m.src.Axis(analyze.Origin{Node: a.node, Part: name})
		if axis != fdg.None && i < len(a.Lhs) && m.rowsOf(a.defs[i]) {
			after = append(after, m.assign(a.Pos, m.copy(a.Lhs[i]), own(axis, m.copy(a.Lhs[i]))))
		}
	}
	return after
}

// rowsOf reports whether what is assigned holds tensors.
func (m *emitter) rowsOf(d def) bool {
	return d.v != nil && (d.weak || m.src.IsBatch(typeAt(d.v.typ, d.path)))
}

// mixed refuses operations that put rows beside each other which replicas share
// out differently: those of a minibatch stay with the environments they came from,
// those of a sample are shared out evenly.
//
// Rows of several samples may stand beside each other. Every replica draws all of
// each sample, by the same key from the same state, and edge.Part leaves replica r of
// k the rows from r*n/k to (r+1)*n/k: numbers that depend on n, the rows of the
// sample, and on nothing else. An operation puts row i of one argument beside row i
// of another, so the plain loop gives it as many rows of each. Then r*n/k is the same
// number for all of them, and the rows that replica r puts beside each other are rows
// that the plain loop puts beside each other; over all replicas, each pair once.
// Operations between a sample and here keep that: those that are given a replica's
// rows work by row, and one that needs all rows gathers them in the order of
// replicas, which is the order of the sample, and leaves each replica the rows from
// and to the same numbers again. Where samples of unequal numbers of rows meet, which
// only the run shows, rl's functions fail.
func (l *loop) mixed() {
	drawn := l.draws()
	for id, n := range l.g.Nodes {
		g, ok := l.group[n.Fragment]
		if !ok || !l.replicated(g) || n.Kind == fdg.Log || l.special(id) {
			continue
		}
		by := map[string][]int{}
		var names []string
		for _, e := range l.g.Edges {
			if e.To != id || e.Kind != fdg.OfValue || e.Axis != fdg.Rows {
				continue
			}
			if by[e.Into] == nil {
				names = append(names, e.Into)
			}
			by[e.Into] = union(by[e.Into], drawn[e.From])
		}
		l.jittered(id, names, by)
		for _, name := range names {
			if first := by[names[0]]; !slices.Equal(by[name], first) && !(l.even(first) && l.even(by[name])) {
				l.bad(l.src.Pos(id), fmt.Sprintf("%s is given rows of %s (%s) beside rows of %s (%s), which the replicas of %s share out differently",
					n.Text, l.g.Nodes[first[0]].Text, l.g.Nodes[first[0]].Pos, l.g.Nodes[by[name][0]].Text, l.g.Nodes[by[name][0]].Pos, l.groups[g].Name))
				break
			}
		}
	}
}

// even reports whether replicas have even shares of what all these nodes drew, which is what cut
// writes for them.
func (l *loop) even(drawn []int) bool {
	return !slices.ContainsFunc(drawn, func(id int) bool {
		n := l.g.Nodes[id]
		gathers := slices.ContainsFunc(l.g.Edges, func(e fdg.Edge) bool {
			return e.To == id && e.Kind == fdg.OfValue && e.Axis == fdg.Rows
		})
		return !n.Whole || n.Shards == ownRows || n.Shards != evenShare && gathers
	})
}

// jittered refuses operations that draw random numbers for rows that replicas share out: one
// learner draws by their places in the batch, which a replica does not know of rows of a minibatch,
// that stay with the environments they came from. Of a sample it knows them, where a gradient is
// given a part of the sample itself.
func (l *loop) jittered(id int, names []string, by map[string][]int) {
	n := l.g.Nodes[id]
	if !l.src.Draws(id) {
		return
	}
	for _, name := range names {
		for _, from := range by[name] {
			direct := slices.ContainsFunc(l.g.Edges, func(e fdg.Edge) bool {
				return e.From == from && e.To == id && e.Kind == fdg.OfValue && e.Axis == fdg.Rows
			})
			if x := l.g.Nodes[from]; x.Shards == ownRows || n.Kind != fdg.Gradient || !direct {
				l.bad(l.src.Pos(id), fmt.Sprintf("%s draws random numbers for rows of %s, which several learners share out: draw them before it, for the whole batch, or let one learner have it",
					n.Text, x.Text))
				return
			}
		}
	}
}

// draws are, for every node with rows of a learner's batch, the nodes that drew
// them.
func (l *loop) draws() [][]int {
	out := make([][]int, len(l.g.Nodes))
	for changed := true; changed; {
		changed = false
		for id, n := range l.g.Nodes {
			var now []int
			if n.Axis == fdg.Rows {
				now = l.drawnBy(id, out)
			}
			if !slices.Equal(now, out[id]) {
				out[id], changed = now, true
			}
		}
	}
	return out
}

func (l *loop) drawnBy(id int, known [][]int) (out []int) {
	if n := l.g.Nodes[id]; n.Shards == ownRows || n.Shards == evenShare {
		return []int{id}
	}
	for _, e := range l.g.Edges {
		if e.To == id && e.Kind == fdg.OfValue && e.Axis == fdg.Rows {
			out = union(out, known[e.From])
		}
	}
	if len(out) == 0 {
		return []int{id}
	}
	return out
}

func union(a, b []int) []int {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}
