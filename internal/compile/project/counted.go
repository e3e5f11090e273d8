package project

import (
	"go/ast"
	"go/token"

	"github.com/weft-rl/weft/internal/compile/tree"
)

// The replicas of an asynchronous run count iterations and steps apart, and a value that the
// learner makes reaches them late. So a condition on either is not the same at both ends of an
// edge: one end may use the edge where the other does not. In a synchronous run it is the same.

// source says what a value depends on: the run's counters, and the groups that made it.
type source uint64

const counters source = 1

// madeBy returns the source that a group is.
func madeBy(group int) source { return 2 << group }

// condition is a branch or a loop whose condition depends on a source.
type condition struct {
	on source
	at tree.Stmt // the outermost one
	// lasting is true where the condition, once it holds, holds again and again, at either end:
	// whichever waits for the other is met.
	lasting bool
}

// governed finds the conditions under which statements are executed.
type governed struct {
	*flow
	vars map[*variable]source
	by   map[tree.Stmt]condition
	more bool // the last round found something
}

// conditions returns the conditions under which statements are executed, of those that depend on
// counters or on what a group made.
func (f *flow) conditions() map[tree.Stmt]condition {
	g := &governed{flow: f, vars: map[*variable]source{}, by: map[tree.Stmt]condition{}, more: true}
	for g.more {
		g.more = false
		g.block(f.tree.Body, condition{})
	}
	return g.by
}

// block visits statements. It returns the condition under which the rest of the loop around them is
// executed: one of a branch that jumps.
func (g *governed) block(b tree.Block, c condition) condition {
	for _, s := range b {
		if old := g.by[s]; c.on&^old.on != 0 {
			g.by[s], g.more = condition{old.on | c.on, c.at, c.lasting && old.on == 0}, true
		}
		switch s := s.(type) {
		case *tree.Assign:
			g.assign(s, c)
		case *tree.Branch:
			jumps := condition{}
			for i, a := range s.Arms {
				jumps = jumps.and(g.block(a.Body, c.and(condition{g.of(s.Cond), s, i == 0 && g.recurs(s.Cond)})))
			}
			c = c.and(jumps)
		case *tree.Loop:
			inner := c.and(condition{on: g.of(s.Cond) | g.of(s.Over), at: s})
			if s.Next {
				inner = c
			}
			if left := g.block(s.Body, inner); left.on != 0 && !s.Next {
				g.block(s.Body, inner.and(left)) // a break decides about the rounds to come
			}
		case *tree.Call:
			c = c.and(g.block(s.Body, c))
		case *tree.Jump:
			return condition{on: c.on, at: c.at}
		}
	}
	return condition{}
}

// and returns the condition of what stands under both.
func (c condition) and(inner condition) condition {
	switch {
	case inner.on == 0:
		return c
	case c.on == 0:
		return inner
	}
	return condition{on: c.on | inner.on, at: c.at}
}

// assign notes what variables depend on. The result of an operation is sent to whoever wants it, so
// it depends on nothing but its maker.
func (g *governed) assign(s *tree.Assign, c condition) {
	a, on := g.actions[s], c.on
	if s.Op != nil && a.owner >= 0 {
		on |= madeBy(a.owner)
	} else {
		for _, e := range s.Rhs {
			on |= g.of(e)
		}
	}
	for _, d := range a.defs {
		if d.v != nil && on&^g.vars[d.v] != 0 {
			g.vars[d.v] |= on
			g.more = true
		}
	}
}

// of returns what an expression depends on.
func (g *governed) of(e ast.Expr) (on source) {
	if e == nil {
		return 0
	}
	if v := g.flow.of(e); v != nil {
		on |= g.vars[v]
	}
	if call, ok := e.(*ast.CallExpr); ok && g.src.Word(g.callee(call)).Counter {
		on |= counters
	}
	for _, x := range tree.Parts(e) {
		on |= g.of(*x)
	}
	return on
}

// recurs reports whether a condition on counters, once it holds, holds again and again: a counter
// that has grown to a bound, or a word such as run.Every.
func (g *governed) recurs(e ast.Expr) bool {
	switch x := ast.Unparen(e).(type) {
	case *ast.CallExpr:
		return g.src.Word(g.callee(x)).Counter
	case *ast.BinaryExpr:
		large, small := x.X, x.Y
		switch x.Op {
		case token.LSS, token.LEQ:
			large, small = small, large
		case token.GTR, token.GEQ:
		default:
			return false
		}
		call, ok := ast.Unparen(large).(*ast.CallExpr)
		return ok && g.src.Word(g.callee(call)).Counter && g.of(small) == 0
	}
	return false
}
