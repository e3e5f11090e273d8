package analyze

import (
	"go/ast"
	"go/types"

	"github.com/weft-rl/weft/internal/compile/tree"
)

// scopes says where the variables of a program live: in the innermost call or
// round of a loop that has all mentions of them.
type scopes struct {
	t    *tree.Program
	of   map[*types.Var]*scope
	ends map[tree.Stmt][]*types.Var // the variables that end with a call or a round
}

// scope is a call, or the body of a loop; without a statement, the program.
type scope struct {
	s     tree.Stmt
	up    *scope
	depth int
}

// scope returns where the variables of the program live that is being read.
func (x *interp) scope() *scopes {
	all := x.scopes[x.t]
	if all == nil {
		all = newScopes(x.t)
		x.scopes[x.t] = all
	}
	return all
}

func newScopes(t *tree.Program) *scopes {
	s := &scopes{t: t, of: map[*types.Var]*scope{}, ends: map[tree.Stmt][]*types.Var{}}
	root := &scope{}
	for _, v := range append(t.Args, t.Recv) {
		s.mention(v, root)
	}
	s.block(t.Body, root)
	for _, v := range t.Vars {
		if at := s.of[v]; at != nil && at.s != nil {
			s.ends[at.s] = append(s.ends[at.s], v)
		}
	}
	return s
}

// inside reports whether a variable lives in a statement.
func (s *scopes) inside(v *types.Var, in tree.Stmt) bool {
	for at := s.of[v]; at != nil; at = at.up {
		if at.s == in {
			return true
		}
	}
	return false
}

func (s *scopes) mention(v *types.Var, at *scope) {
	old, known := s.of[v]
	if v == nil || old == at {
		return
	}
	if !known {
		s.of[v] = at
		return
	}
	for old != at {
		if old.depth >= at.depth {
			old = old.up
		} else {
			at = at.up
		}
	}
	s.of[v] = at
}

func (s *scopes) mentions(at *scope, list ...ast.Expr) {
	for _, e := range list {
		if e == nil {
			continue
		}
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				s.mention(s.t.Var(id), at)
			}
			return true
		})
	}
}

func (s *scopes) assign(a *tree.Assign, at *scope) {
	if a != nil {
		s.mentions(at, a.Lhs...)
		s.mentions(at, a.Rhs...)
		s.mentions(at, a.Fills...)
	}
}

func (s *scopes) block(b tree.Block, at *scope) {
	for _, n := range b {
		switch n := n.(type) {
		case *tree.Assign:
			s.assign(n, at)
		case *tree.Branch:
			s.mentions(at, n.Cond)
			for _, a := range n.Arms {
				s.mentions(at, a.List...)
				s.block(a.Body, at)
			}
		case *tree.Loop:
			s.mentions(at, n.Over, n.Cond)
			s.assign(n.Init, at)
			s.assign(n.Post, at)
			round := &scope{n, at, at.depth + 1}
			s.mention(n.Key, round)
			s.mention(n.Value, round)
			s.block(n.Body, round)
		case *tree.Return:
			s.mentions(at, n.Results...)
		case *tree.Call:
			for _, v := range n.Results {
				s.mention(v, at)
			}
			s.block(n.Body, &scope{n, at, at.depth + 1})
		}
	}
}
