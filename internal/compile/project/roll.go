package project

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
)

// A function that was read through is a call again in the program of a group that
// executes all of it.

// closed reports whether the program executes everything in a call, with nothing
// between its statements. What the program would leave out may be done as well if
// it cannot fail, whatever its operands hold.
func (m *emitter) closed(c *tree.Call) bool {
	some, ok := false, m.callable(c)
	c.Body.Walk(func(s tree.Stmt) bool {
		ok = ok && !slices.ContainsFunc(m.rows, func(r *edgeRow) bool { return r.point == s && (r.from == m.me || r.to == m.me) })
		switch s := s.(type) {
		case *tree.Assign:
			some = some || m.executes(s)
			ok = ok && m.entirely(m.actions[s])
		case *tree.Branch:
			ok = ok && (m.follows(s) || m.harmless(s.Cond))
		case *tree.Loop:
			ok = ok && m.follows(s) && !m.shared(s, m.me)
		case *tree.Return:
			ok = false
		}
		return ok
	})
	return ok && some
}

// entirely reports whether an assignment is done as it stands, or may be.
func (m *emitter) entirely(a *action) bool {
	switch {
	case a.owner == m.me:
		return !m.special(a.node)
	case a.owner != everywhere:
		return false
	case m.executes(a.Assign) && (len(a.Lhs) != len(a.Rhs) || len(a.Fills) > 0):
		return true
	case !m.executes(a.Assign) && a.Tok != token.ASSIGN && a.Tok != token.VAR: // which may divide
		return false
	}
	for i, e := range a.Rhs {
		p := part(nil)
		if m.executes(a.Assign) && len(a.Lhs) == len(a.Rhs) {
			p = a.wanted(i, m.does[spot{a.Assign, m.me}])
		}
		if !m.full(e, p) {
			return false
		}
	}
	return m.executes(a.Assign) || !m.through(a)
}

// through reports whether an assignment writes memory that is not its variables' own.
func (l *loop) through(a *action) bool {
	return len(a.Fills) > 0 || slices.ContainsFunc(a.Lhs, func(e ast.Expr) bool { return l.place(e).weak })
}

// full reports whether all of an expression is computed for the part p of it, or
// may be.
func (m *emitter) full(e ast.Expr, p part) bool {
	names, values := m.elements(e)
	if p.none() || names == nil {
		return !p.none() || m.harmless(e)
	}
	for i, x := range values {
		if !m.full(x, p.get(names[i])) {
			return false
		}
	}
	return true
}

// harmless reports whether an expression can be evaluated without failing,
// whatever its variables hold: constants, variables, fields, and structs of them.
func (m *emitter) harmless(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.Ident, *ast.BasicLit, *ast.ParenExpr, *ast.CompositeLit:
	case *ast.SelectorExpr:
		if path, field := m.path(x); path == "" {
			return field && m.held(e)
		}
	default:
		return e == nil || m.constant(e) != nil || m.isType(e)
	}
	return !slices.ContainsFunc(tree.Parts(e), func(x *ast.Expr) bool { return !m.harmless(*x) })
}

// callable reports whether the program can evaluate what it would hand to a call:
// it has the variables, or does not care what they hold.
func (m *emitter) callable(c *tree.Call) bool {
	has := m.ins[spot{c, m.me}]
	if sel, ok := ast.Unparen(c.Expr.Fun).(*ast.SelectorExpr); ok && m.tree.Info.Selections[sel] != nil {
		t := m.typeOf(sel.X)
		_, pointer := t.Underlying().(*types.Pointer)
		if !m.known(sel.X, has) && (pointer || types.IsInterface(t) || !m.harmless(sel.X)) {
			return false
		}
	}
	return !slices.ContainsFunc(c.Expr.Args, func(e ast.Expr) bool { return !m.known(e, has) && !m.harmless(e) })
}

// known reports whether a program that has some parts of variables can evaluate an
// expression. An element may be there in part.
func (m *emitter) known(e ast.Expr, has live) bool {
	if at, ok := e.(*ast.IndexExpr); ok {
		v, path := m.tree.Path(at.X)
		return v != nil && !has[m.vars[v]].get(path).none() && m.known(at.Index, has) || m.held(at.X) && m.known(at.Index, has)
	}
	uses := live{}
	m.uses(e, whole, uses)
	for v, p := range uses {
		if !slices.Equal(has[v].and(p), p) {
			return false
		}
	}
	return true
}

// rolled returns a call in the place of what it was read through to.
func (m *emitter) rolled(c *tree.Call) *line {
	n := &line{pos: c.Pos, tok: token.ASSIGN, rhs: []ast.Expr{m.copy(c.Expr)}, pure: true}
	n.from = slices.Collect(tree.Each[tree.Stmt](tree.Block{c}))
	for _, a := range m.inside(c) {
		n.pure = n.pure && a.owner == everywhere && !m.through(a)
	}
	for _, v := range c.Results {
		n.lhs = append(n.lhs, m.ref(m.vars[v]))
	}
	return n
}

// complete reports what a program lacks, or has twice: operations of its group,
// and ends of edges. Nothing of that should ever happen.
func (m *emitter) complete(lines []*line) error {
	var errs []error
	for _, r := range m.rows {
		if (r.from == m.me || r.to == m.me) && m.met[r] != 1 {
			errs = append(errs, fmt.Errorf("%s: the program of %s uses edge %s %d times", r.Pos, m.groups[m.me].Name, r.Name, m.met[r]))
		}
	}
	return errors.Join(append(errs, m.lacks(m.tree.Body, lines), m.rolledWrongly(lines))...)
}

// rolledWrongly reports operations that lines do inside a call as they stand, though they are
// another group's, or the replicas of this one do them in a way of their own.
func (m *emitter) rolledWrongly(lines []*line) error {
	var errs []error
	each(lines, func(n *line) {
		if len(n.from) == 0 || m.entire {
			return
		}
		c, ok := n.from[0].(*tree.Call)
		if !ok {
			return
		}
		for _, a := range m.inside(c) {
			if a.owner != everywhere && (a.owner != m.me || m.special(a.node)) {
				errs = append(errs, fmt.Errorf("%s: the program of %s does %s as it stands inside a call of %s", m.src.Fset.Position(a.Pos), m.groups[m.me].Name, a.Text, c.Fn.Name()))
			}
		}
	})
	return errors.Join(errs...)
}

// lacks reports the operations of the group in a block that lines lack, or have
// twice.
func (m *emitter) lacks(b tree.Block, lines []*line) error {
	count := map[int]int{}
	for _, id := range m.nodes(lines) {
		count[id]++
	}
	var errs []error
	for _, s := range b {
		for _, a := range m.inside(s) {
			if a.owner == m.me && count[a.node] != 1 && !(m.entire && m.idle(a.node)) {
				errs = append(errs, fmt.Errorf("%s: %s is %d times in the program of %s", m.src.Fset.Position(a.Pos), a.Text, count[a.node], m.groups[m.me].Name))
			}
		}
	}
	return errors.Join(errs...)
}

// idle reports whether an operation is for nothing but its result, which a device
// program need not compute if nobody uses it.
func (m *emitter) idle(node int) bool {
	n := m.g.Nodes[node]
	return len(n.Writes) == 0 && n.Kind != fdg.Log
}
