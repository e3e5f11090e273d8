package project

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"

	"github.com/weft-rl/weft/internal/compile/tree"
)

// line is a statement of a generated program: a simple one, or a loop or branch
// with lines inside.
type line struct {
	pos token.Pos

	// Of a simple statement: an assignment, a call without a left side, VAR of a variable that has
	// no value yet, BREAK, CONTINUE, or RETURN of what is on the right.
	tok      token.Token
	lhs, rhs []ast.Expr

	word   string // if, for or next; If and For of a device program
	head   []ast.Expr
	init   *line
	post   *line
	key    *variable // of a range
	value  *variable
	ranged bool
	arms   [][]*line // then and else of an if, or the body of a loop

	pure bool        // may be left out if nobody uses what it makes
	from []tree.Stmt // what it is made of

	// Of a loop: over an integer. Of a device program's: what ends it early.
	counts bool
	stop   *variable
}

// each visits lines, the outer ones first.
func each(list []*line, f func(*line)) {
	for _, n := range list {
		f(n)
		if n.init != nil {
			f(n.init)
		}
		if n.post != nil {
			f(n.post)
		}
		for _, a := range n.arms {
			each(a, f)
		}
	}
}

// exprs returns the expressions of a line itself: those that are read, and those that
// are assigned to.
func (n *line) exprs() (read, write []ast.Expr) { return slices.Concat(n.head, n.rhs), n.lhs }

// sets reports whether a line gives what is on its left other values.
func (n *line) sets() bool {
	return len(n.lhs) > 0 && (n.tok == token.ASSIGN || n.tok == token.DEFINE)
}

// mentions visits the variables in an expression.
func (m *emitter) mentions(e ast.Expr, f func(*variable)) {
	for id := range tree.Nodes[*ast.Ident](e) {
		if v := m.of(id); v != nil {
			f(v)
		}
	}
}

// mentioned counts how often lines mention variables.
func (m *emitter) mentioned(list []*line) map[*variable]int {
	out := map[*variable]int{}
	each(list, func(n *line) {
		read, write := n.exprs()
		for _, e := range append(read, write...) {
			m.mentions(e, func(v *variable) { out[v]++ })
		}
		for _, v := range []*variable{n.key, n.value} {
			out[v]++
		}
	})
	delete(out, nil)
	return out
}

// assigns counts how often lines give variables, or parts of them, a value.
func (m *emitter) assigns(list []*line) map[*variable]int {
	out := map[*variable]int{}
	each(list, func(n *line) {
		_, write := n.exprs()
		for _, e := range write {
			out[m.root(e)]++
		}
		for _, v := range []*variable{n.key, n.value} {
			out[v]++
		}
	})
	delete(out, nil)
	return out
}

// nodes returns the operations that lines have.
func (m *emitter) nodes(list []*line) (out []int) {
	each(list, func(n *line) {
		for _, s := range n.from {
			if a, ok := s.(*tree.Assign); ok && m.actions[a].owner != everywhere {
				out = append(out, m.actions[a].node)
			}
		}
	})
	return out
}

// reads returns the variables whose values a program looks at. An element or a field
// that is assigned to counts as a use of the rest.
func (m *emitter) reads(list []*line) map[*variable]bool {
	out := map[*variable]bool{}
	each(list, func(n *line) {
		read, write := n.exprs()
		for _, e := range append(read, slices.DeleteFunc(slices.Clone(write), isName)...) {
			m.mentions(e, func(v *variable) { out[v] = true })
		}
	})
	return out
}

// sorted returns variables in the order in which the source has them.
func sorted[T any](set map[*variable]T) []*variable {
	return slices.SortedFunc(maps.Keys(set), func(a, b *variable) int { return a.id - b.id })
}

func isName(e ast.Expr) bool { _, ok := e.(*ast.Ident); return ok }

// tidy leaves out what a program does not use, and what is only there for that.
func (m *emitter) tidy(list []*line) []*line {
	for changed := true; changed; {
		list, changed = m.without(list, m.reads(list))
	}
	return list
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
		case n.tok == token.VAR && !read[m.of(n.lhs[0])]:
			changed = true
			continue
		}
		if n.key != nil && !read[n.key] {
			n.key, changed = nil, true
		}
		if n.value != nil && !read[n.value] {
			n.value, changed = nil, true
		}
		if n.sets() {
			gone, c := m.blanked(n, read)
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
func (m *emitter) blanked(n *line, read map[*variable]bool) (gone, changed bool) {
	gone = true
	for i, e := range n.lhs {
		id, ok := e.(*ast.Ident)
		if ok && id.Name == "_" && m.of(id) == nil {
			continue
		}
		if v := m.of(id); ok && v != nil && !read[v] {
			n.lhs[i], changed = ast.NewIdent("_"), true
			continue
		}
		gone = false
	}
	return gone, changed
}
