package project

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
)

// Words that know shards by themselves: they are given a replica's rows and return
// its rows of what the whole batch would give.
var shardwise = map[string]bool{"replay.Take": true}

// Words whose rows are not those of their arguments: every replica takes an even
// share of them.
var redrawn = map[string]bool{"rl.Gather": true}

// unsplit are words whose state every replica has all of, though there is a part
// of it for each environment.
var unsplit = map[string]bool{"nn.Returns.Update": true}

// replicated reports whether a group's replicas share environments out among them.
func (l *lowerer) replicated(group int) bool { return l.groups[group].Over == fdg.Environments }

// special reports whether a node is written differently where its group is
// replicated: it needs all rows, or all gradients, or is the same for all.
func (l *lowerer) special(id int) bool {
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
	return n.Whole && !shardwise[n.Op]
}

// same reports whether what a node is given is the same in all replicas.
func (l *lowerer) same(id int) bool {
	return !slices.ContainsFunc(l.g.Edges, func(e fdg.Edge) bool {
		return e.To == id && e.Kind == fdg.OfValue && e.Axis != fdg.None
	})
}

// sharded is the axis that an argument of a node is split along over replicas.
func (l *lowerer) sharded(id int, param string) (axis fdg.Axis) {
	for _, e := range l.g.Edges {
		into, _, _ := strings.Cut(e.Into, ".")
		if e.To == id && e.Kind == fdg.OfValue && into == param && e.Axis != fdg.None {
			return e.Axis
		}
	}
	return fdg.None
}

// adapted is an operation as a replica writes it: an expression, and statements
// behind it.
type adapted struct {
	rhs   ast.Expr
	after []*line
}

// adapt rewrites an action that is special in its group.
func (m *emitter) adapt(a *action) (out adapted, ok bool) {
	for _, id := range a.nodes {
		if !m.special(id) {
			continue
		}
		call, isCall := ast.Unparen(a.rhs[0]).(*ast.CallExpr)
		if !isCall || len(a.nodes) > 2 || a.fn == nil {
			m.bad(a.pos, m.g.Nodes[id].Text+" needs all rows of a batch that is split over replicas, and cannot be taken out of this statement; assign its result to a variable")
			return adapted{}, false
		}
		switch m.g.Nodes[id].Kind {
		case fdg.Apply:
			return adapted{rhs: m.allReduced(a, id, call)}, true
		case fdg.Log:
			return adapted{rhs: m.once(call)}, true
		}
		return m.gathered(a, id, call), true
	}
	return adapted{}, false
}

// once is a record that only one replica makes.
func (m *emitter) once(call *ast.CallExpr) ast.Expr {
	sel := call.Fun.(*ast.SelectorExpr)
	return m.edgeCall("LogOnce", nil, append([]ast.Expr{sel.X}, call.Args...)...)
}

func (m *emitter) allReduced(a *action, id int, call *ast.CallExpr) ast.Expr {
	out := &ast.CallExpr{Fun: call.Fun, Args: slices.Clone(call.Args)}
	e := m.edgeAt(a, "g")
	out.Args[0] = m.edgeCall("AllReduce", e, call.Args[0])
	return out
}

// gathered gives an operation all rows, and cuts the replica's own out of its
// result.
func (m *emitter) gathered(a *action, id int, call *ast.CallExpr) (out adapted) {
	m.homes(a, id)
	whole := &ast.CallExpr{Fun: call.Fun, Args: slices.Clone(call.Args), Ellipsis: call.Ellipsis}
	by := map[fdg.Axis]*edgeRow{}
	for i := range call.Args {
		param := paramAt(a.fn, i)
		if axis := m.sharded(id, param); axis != fdg.None && m.batchArg(call.Args[i]) {
			e := m.edgeAt(a, param)
			if by[axis] == nil {
				by[axis] = e
			}
			whole.Args[i] = m.edgeCall("AllGather", e, call.Args[i])
		}
	}
	if recv := a.fn.Signature().Recv(); recv != nil && m.src.IsBatch(recv.Type()) {
		if axis := m.sharded(id, recv.Name()); axis != fdg.None {
			sel := call.Fun.(*ast.SelectorExpr)
			e := m.edgeAt(a, recv.Name())
			if by[axis] == nil {
				by[axis] = e
			}
			whole.Fun = &ast.SelectorExpr{X: m.edgeCall("AllGather", e, sel.X), Sel: sel.Sel}
		}
	}
	out.rhs = whole
	m.cut(a, id, by, &out)
	return out
}

func (m *emitter) batchArg(e ast.Expr) bool {
	t := m.exprType(e)
	return t == nil || m.src.IsBatch(t)
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
func (m *emitter) homes(a *action, id int) {
	if unsplit[m.g.Nodes[id].Op] {
		return
	}
	for _, r := range m.g.Nodes[id].Writes {
		if res := m.g.Resources[r]; res.Axis == fdg.Environments {
			m.bad(a.pos, m.g.Nodes[id].Text+" needs all rows and writes "+res.Name+", of which every replica of "+m.groups[m.me].Name+" has the part of its own environments")
		}
	}
}

// cut takes the replica's rows out of what all replicas computed.
func (m *emitter) cut(a *action, id int, by map[fdg.Axis]*edgeRow, out *adapted) {
	own := func(axis fdg.Axis, v ast.Expr) ast.Expr {
		if e := by[axis]; e != nil && !redrawn[m.g.Nodes[id].Op] {
			return m.edgeCall("OwnRows", e, v)
		}
		return m.edgeCall("Part", nil, v)
	}
	names := m.src.Results(id)
	if len(names) == 0 {
		if axis := m.src.Axis(analyze.Origin{Node: id}); axis != fdg.None && len(a.lhs) > 0 && m.rowsOf(a.defs[0]) {
			out.rhs = own(axis, out.rhs)
		}
		return
	}
	for i, name := range names {
		axis := m.src.Axis(analyze.Origin{Node: id, Part: name})
		if axis == fdg.None || i >= len(a.defs) || a.defs[i].v == nil || !m.rowsOf(a.defs[i]) {
			continue
		}
		out.after = append(out.after, m.assign(a.pos, m.again(a.lhs[i]), own(axis, m.again(a.lhs[i]))))
	}
}

// rowsOf reports whether what is assigned holds tensors.
func (m *emitter) rowsOf(d def) bool {
	return d.v != nil && (d.weak || m.src.IsBatch(typeAt(d.v.typ, d.path)))
}
