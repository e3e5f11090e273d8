package project

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/internal/compile/tree"
)

// tidy leaves out what a program does not use.
func (m *emitter) tidy(list []*line) []*line {
	list = m.needed(list)
	return m.nest(list, m.mentioned(list))
}

// needed leaves out what is only there for what is left out.
func (m *emitter) needed(list []*line) []*line {
	for changed := true; changed; {
		list, changed = m.without(list, m.reads(list))
	}
	return list
}

// nest puts temporaries back to where they were taken from, if the very next
// statement is the only one that uses them and calls nothing before.
func (m *emitter) nest(list []*line, count map[*variable]int) (out []*line) {
	for _, n := range list {
		for i := range n.arms {
			n.arms[i] = m.nest(n.arms[i], count)
		}
		for len(out) > 0 && m.nested(out[len(out)-1], n, count) {
			out = out[:len(out)-1]
		}
		out = append(out, n)
	}
	return out
}

// nested moves what a temporary holds into a line, if it may. Constants and sums
// stay where they are, since Go computes with them as it sees fit.
func (m *emitter) nested(from, to *line, count map[*variable]int) bool {
	s, ok := from.stmt.(*ast.AssignStmt)
	if !ok || len(s.Lhs) != 1 || len(s.Rhs) != 1 || s.Tok != token.ASSIGN || to.word != "" && to.word != "if" {
		return false
	}
	v, rhs := m.of(s.Lhs[0]), ast.Unparen(s.Rhs[0])
	if v == nil || !v.temp || count[v] != 2 || m.constant(rhs) != nil || !types.Identical(v.typ, m.typeOf(rhs)) {
		return false
	}
	at := m.firstUse(to, v)
	if at == nil {
		return false
	}
	switch rhs.(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr:
	case *ast.CompositeLit:
		if to.word != "" {
			return false
		}
	default:
		if as, ok := to.stmt.(*ast.AssignStmt); !ok || len(as.Rhs) != 1 || at != &as.Rhs[0] {
			return false
		}
	}
	*at = s.Rhs[0]
	to.from, to.pure = append(to.from, from.from...), to.pure && from.pure
	return true
}

// firstUse returns where a line uses a variable, nil if it calls something before.
func (m *emitter) firstUse(n *line, v *variable) (at *ast.Expr) {
	blocked := false
	var visit func(e *ast.Expr)
	visit = func(e *ast.Expr) {
		if at != nil || blocked {
			return
		}
		if m.of(*e) == v {
			at = e
			return
		}
		for i, x := range tree.Parts(*e) {
			if b, ok := (*e).(*ast.BinaryExpr); ok && i == 1 && (b.Op == token.LAND || b.Op == token.LOR) {
				blocked = at == nil
			}
			visit(x)
		}
		if call, ok := (*e).(*ast.CallExpr); ok {
			blocked = blocked || at == nil && !m.keyed(call)
		}
	}
	list := func(l []ast.Expr) {
		for i := range l {
			visit(&l[i])
		}
	}
	switch s := n.stmt.(type) {
	case *ast.AssignStmt:
		list(s.Rhs)
	case *ast.ExprStmt:
		visit(&s.X)
	case nil:
		list(n.head)
	}
	return at
}

// keyed reports whether a call makes a key, which nothing can come between.
func (m *emitter) keyed(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Key" && len(call.Args) > 0
}

// without leaves out what is not read, and loops and branches that do nothing then.
func (m *emitter) without(list []*line, read map[*variable]bool) (out []*line, changed bool) {
	for _, n := range list {
		for i := range n.arms {
			var c bool
			n.arms[i], c = m.without(n.arms[i], read)
			changed = changed || c
		}
		switch {
		case n.word != "" && n.empty():
			changed = true
			continue
		case n.zero != nil && !read[n.zero]:
			changed = true
			continue
		}
		if n.key != nil && !read[n.key] {
			n.key, changed = nil, true
		}
		if n.value != nil && !read[n.value] {
			n.value, changed = nil, true
		}
		if s, ok := n.stmt.(*ast.AssignStmt); ok {
			gone, c := m.blanked(s, read)
			changed = changed || c
			if gone && n.pure {
				changed = true
				continue
			}
		}
		out = append(out, n)
	}
	return out, changed
}

// empty reports whether a loop or branch does nothing; an if that would be left
// with an else alone is kept.
func (n *line) empty() bool {
	if n.word == "next" {
		return false
	}
	return !slices.ContainsFunc(n.arms, func(a []*line) bool { return len(a) > 0 })
}

// blanked replaces variables that nobody reads by blanks; gone is true if none is
// left.
func (m *emitter) blanked(s *ast.AssignStmt, read map[*variable]bool) (gone, changed bool) {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		return false, false
	}
	gone = true
	for i, e := range s.Lhs {
		id, ok := e.(*ast.Ident)
		if ok && id.Name == "_" && m.of(id) == nil {
			continue
		}
		if v := m.of(id); ok && v != nil && !read[v] {
			s.Lhs[i], changed = ast.NewIdent("_"), true
			continue
		}
		gone = false
	}
	return gone, changed
}
