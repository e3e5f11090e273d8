package project

import (
	"go/ast"
	"go/token"
	"slices"
)

// line is a statement of a generated program: a simple one, or a loop or branch
// with lines inside.
type line struct {
	pos  token.Pos
	stmt ast.Stmt  // simple
	zero *variable // declared without a value

	word   string // if, switch or for
	head   []ast.Expr
	init   *line
	post   *line
	key    *variable // of a range
	value  *variable
	ranged bool
	arms   []lineArm

	pure  bool // may be left out if nobody uses what it makes
	nodes []int

	// Of a loop: over an integer. Of a device program's: what ends it early.
	counts bool
	stop   *variable
}

type lineArm struct {
	list []ast.Expr // of a case
	body []*line
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
			each(a.body, f)
		}
	}
}

// exprs returns the expressions of a line itself: those that are read, and those that
// are assigned to.
func (n *line) exprs() (read, write []ast.Expr) {
	read = slices.Clone(n.head)
	for _, a := range n.arms {
		read = append(read, a.list...)
	}
	switch s := n.stmt.(type) {
	case *ast.AssignStmt:
		read = append(read, s.Rhs...)
		write = s.Lhs
	case *ast.ExprStmt:
		read = append(read, s.X)
	case *ast.IncDecStmt:
		write = append(write, s.X)
	case *ast.ReturnStmt:
		read = append(read, s.Results...)
	}
	return read, write
}

// mentions returns the variables in an expression.
func (m *emitter) mentions(e ast.Expr, f func(*variable)) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v := m.of(id); v != nil {
				f(v)
			}
		}
		return true
	})
}

// reads returns the variables whose values a program looks at.
func (m *emitter) reads(list []*line) map[*variable]bool {
	out := map[*variable]bool{}
	each(list, func(n *line) {
		read, write := n.exprs()
		for _, e := range read {
			m.mentions(e, func(v *variable) { out[v] = true })
		}
		for _, e := range write {
			if !isName(e) { // an element or a field counts as a use of the rest
				m.mentions(e, func(v *variable) { out[v] = true })
			}
		}
	})
	return out
}

func isName(e ast.Expr) bool { _, ok := e.(*ast.Ident); return ok }
