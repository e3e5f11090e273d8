package tree

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// Check verifies that a tree is in the form that the package promises. operation
// says whether a call is one. An error is a fault of whoever made the tree, not of
// the author.
func (p *Program) Check(operation func(call *ast.CallExpr, fn *types.Func) bool) error {
	c := &checker{p: p, operation: operation, known: map[*types.Var]bool{}}
	for _, v := range p.Vars {
		c.known[v] = true
	}
	if c.block(p.Body, 0, nil); c.at != p.Stmts {
		c.bad(nil, "has %d statements, and says %d", c.at, p.Stmts)
	}
	return errors.Join(c.errs...)
}

type checker struct {
	p         *Program
	operation func(*ast.CallExpr, *types.Func) bool
	known     map[*types.Var]bool
	at        int
	errs      []error
}

func (c *checker) bad(s Stmt, format string, args ...any) {
	where := c.p.Fn.Name()
	if s != nil {
		where = c.p.Fset.Position(s.At().Pos).String()
	}
	c.errs = append(c.errs, fmt.Errorf("%s: the tree "+format, append([]any{where}, args...)...))
}

func (c *checker) block(list Block, loops int, in *Call) {
	for _, s := range list {
		if s.At().ID != c.at {
			c.bad(s, "numbers a statement %d, and it is number %d", s.At().ID, c.at)
		}
		c.at++
		if s.At().In != in {
			c.bad(s, "has a statement in another call than it says")
		}
		c.stmt(s, loops, in)
	}
}

func (c *checker) stmt(s Stmt, loops int, in *Call) {
	switch s := s.(type) {
	case *Assign:
		c.assign(s)
	case *Branch:
		c.host(s, s.Cond)
		if s.Cond != nil && !s.Switch && (len(s.Arms) < 1 || len(s.Arms) > 2) {
			c.bad(s, "has an if with %d arms", len(s.Arms))
		}
		for _, a := range s.Arms {
			c.host(s, a.List...)
			if s.Switch && breaks(s) {
				c.bad(s, "breaks a loop inside a switch")
			}
			c.block(a.Body, loops, in)
		}
	case *Loop:
		c.loop(s, loops, in)
	case *Jump:
		if loops == 0 {
			c.bad(s, "has a %s outside of any loop", s.Tok)
		}
	case *Return:
		c.host(s, s.Results...)
	case *Call:
		for _, v := range s.Results {
			if !c.known[v] {
				c.bad(s, "does not know a result of %s", s.Fn.Name())
			}
		}
		c.block(s.Body, 0, s)
	default:
		c.bad(s, "has a statement of kind %T", s)
	}
}

func (c *checker) loop(s *Loop, loops int, in *Call) {
	for _, a := range []*Assign{s.Init, s.Post} {
		if a != nil && a.Op != nil {
			c.bad(a, "has an operation in the head of a loop")
		}
	}
	if !s.Next {
		c.host(s, s.Cond)
	}
	c.host(s, s.Over)
	if s.Init != nil {
		c.at++
		c.assign(s.Init)
	}
	c.block(s.Body, loops+1, in)
	if s.Post != nil {
		c.at++
		c.assign(s.Post)
	}
}

func (c *checker) assign(s *Assign) {
	c.host(s, s.Lhs...)
	for _, l := range s.Lhs {
		if id, ok := l.(*ast.Ident); ok && id.Name == "_" {
			continue
		}
		if id, ok := Base(l).(*ast.Ident); !ok || c.p.Info.Uses[id] == nil {
			c.bad(s, "assigns to what is no place: %s", types.ExprString(l))
		}
	}
	switch {
	case s.Tok == token.VAR && (len(s.Lhs) != 1 || len(s.Rhs) != 0), s.Tok == token.ASSIGN && len(s.Rhs) == 0:
		c.bad(s, "has an assignment without a value")
	case len(s.Lhs) > 1 && len(s.Rhs) != 1:
		c.bad(s, "has a tuple assignment")
	}
	if s.Op == nil {
		c.host(s, s.Rhs...)
		return
	}
	call, ok := ast.Unparen(s.Rhs[0]).(*ast.CallExpr)
	if !ok || call != s.Op.Call {
		c.bad(s, "has an operation that is not all of its right side")
		return
	}
	c.host(s, call.Fun)
	c.host(s, call.Args...)
}

// host verifies expressions that everybody may evaluate.
func (c *checker) host(s Stmt, list ...ast.Expr) {
	for _, e := range list {
		if e == nil {
			continue
		}
		ast.Inspect(e, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if v, ok := c.p.Info.Uses[n].(*types.Var); ok && c.p.Var(n) == v && !c.known[v] {
					c.bad(s, "names %s, which is no variable of it", v.Name())
				}
			case *ast.CallExpr:
				if fn := Callee(c.p.Info, n); fn != nil && c.operation(n, fn) {
					c.bad(s, "has an operation inside an expression: %s", types.ExprString(n))
				}
			case *ast.FuncLit:
				return false
			}
			return true
		})
	}
}
