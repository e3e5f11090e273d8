package project

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"github.com/weft-rl/weft/internal/compile/tree"
)

// fresh is the set of variables that share memory with no other variable at a point,
// though they may elsewhere: a slice that was just made and is given away later.
type fresh map[*types.Var]bool

// walk notes the action of every assignment in a block. now holds before it what is
// fresh there, and behind it what is fresh then. What a loop or branch makes fresh is
// forgotten behind it, and what it gives away is not fresh anywhere in it, so that it
// does not matter how it is gone through.
func (l *loop) walk(b tree.Block, now fresh) {
	for _, s := range b {
		switch s := s.(type) {
		case *tree.Assign:
			l.actions[s] = l.action(s, now)
			l.update(s, now)
		case *tree.Call:
			l.walk(s.Body, now)
		case *tree.Branch:
			l.forget(s, now)
			for _, a := range s.Arms {
				l.walk(a.Body, maps.Clone(now))
			}
		case *tree.Loop:
			l.family(s)
			if s.Init != nil {
				l.walk(tree.Block{s.Init}, now)
			}
			l.forget(s, now)
			l.walk(s.Body, maps.Clone(now))
			if s.Post != nil {
				l.walk(tree.Block{s.Post}, maps.Clone(now))
			}
		}
	}
}

// forget removes from now what a statement gives away.
func (l *loop) forget(s tree.Stmt, now fresh) {
	tree.Block{s}.Walk(func(s tree.Stmt) bool {
		switch s := s.(type) {
		case *tree.Assign:
			after := maps.Clone(now)
			l.update(s, after)
			maps.DeleteFunc(now, func(v *types.Var, _ bool) bool { return !after[v] })
		case *tree.Loop:
			if s.Value != nil {
				l.entangle(s.Value, s.Over, now)
			}
		}
		return true
	})
}

// update brings now behind an assignment.
func (l *loop) update(s *tree.Assign, now fresh) {
	for i, e := range s.Lhs {
		v := l.tree.Root(e)
		if v == nil {
			continue
		}
		alone := true
		if len(s.Rhs) > 0 && s.Op == nil {
			alone = l.entangle(v, s.Rhs[min(i, len(s.Rhs)-1)], now)
		}
		if alone && l.tree.Var(e) != nil && (s.Tok == token.ASSIGN || s.Tok == token.VAR) {
			now[v] = true
		}
	}
	for _, e := range s.Fills {
		if v := l.tree.Root(e); v != nil {
			l.entangle(v, s.Rhs[0], now)
		}
	}
}

// entangle removes variables from now that share memory as soon as v has the value of
// an expression, and reports whether that value shares none with others.
func (l *loop) entangle(v *types.Var, e ast.Expr, now fresh) (alone bool) {
	alone = true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			b := l.builtin(n)
			return b != "make" && b != "len" && b != "cap"
		case *ast.Ident:
			switch w := l.tree.Var(n); {
			case w == nil || !slices.Contains(l.tree.Class(v), w):
			case w == v: // x = append(x, y) still has what x shared
				alone = now[v] && alone
			default:
				delete(now, v)
				delete(now, w)
				alone = false
			}
		}
		return true
	})
	return alone
}
