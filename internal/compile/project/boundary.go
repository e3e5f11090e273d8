package project

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/fdg"
)

// member returns the loop over a family, among those around, that declares a
// variable; nil if none does. There is a graph for each of its members.
func (u *fuser) member(v *variable) *line {
	for _, n := range u.around {
		if n.word != "for" || !n.ranged || n.counts || n.key != v && n.value != v {
			continue
		}
		if of := u.mentioned([]*line{{head: n.head}}); len(of) == 1 && of[u.t] > 0 {
			return n
		}
	}
	return nil
}

// begins reports whether rollouts that nodes empty are filled by them: a graph
// begins with empty ones.
func (u *fuser) begins(nodes []int) bool {
	for _, id := range nodes {
		n := u.g.Nodes[id]
		if n.Kind != fdg.Drain {
			continue
		}
		for other, m := range u.g.Nodes {
			fills := m.Kind == fdg.Insert && slices.ContainsFunc(m.Writes, func(r int) bool { return slices.Contains(n.Writes, r) })
			if fills && !slices.Contains(nodes, other) {
				return false
			}
		}
	}
	return true
}

// boundary returns the variables that lines take from the lines around them, and
// those that they leave to them; ok is false if one holds more than tensors.
func (u *fuser) boundary(list []*line) (in, out []*variable, ok bool) {
	inside, writes := u.mentioned(list), u.assigns(list)
	for _, v := range sorted(inside) {
		if v.fixed || inside[v] == u.total[v] {
			continue
		}
		switch {
		case v.obj == nil || v.typ == nil:
			return nil, nil, false
		case u.member(v) != nil:
		case !tensors(v.typ):
			return nil, nil, false
		}
		if writes[v] > 0 {
			out = append(out, v)
		}
		if writes[v] == 0 || u.writes[v] > writes[v] && !u.first(list, v) {
			in = append(in, v)
		}
	}
	return in, out, true
}

// tensors reports whether values of a type are tensors and nothing else.
func tensors(t types.Type) bool {
	switch types.TypeString(t, nil) {
	case module + "rl.Tensor", module + "rl.Tree":
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return tensors(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if !tensors(f.Type()) {
				return false
			}
		}
		return true
	}
	return false
}

// first reports whether lines give a variable a value before they read it.
func (m *emitter) first(part []*line, v *variable) bool {
	for _, n := range part {
		if n.zero == v {
			return true
		}
		if m.mentioned([]*line{n})[v] == 0 {
			continue
		}
		s, ok := n.stmt.(*ast.AssignStmt)
		if !ok || s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
			return false
		}
		for _, e := range s.Rhs {
			read := false
			m.mentions(e, func(x *variable) { read = read || x == v })
			if read {
				return false
			}
		}
		return slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool {
			id, ok := e.(*ast.Ident)
			return ok && m.of(id) == v
		})
	}
	return false
}
