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
	c := &checker{p: p, operation: operation, known: vars{}}
	for _, v := range p.Vars {
		c.known[v] = true
	}
	c.block(p.Body, nil)
	return errors.Join(c.errs...)
}

type checker struct {
	p         *Program
	operation func(*ast.CallExpr, *types.Func) bool
	known     vars
	errs      []error
}

func (c *checker) bad(s Stmt, format string, args ...any) {
	where := c.p.Fset.Position(s.At().Pos).String()
	c.errs = append(c.errs, fmt.Errorf("%s: the tree "+format, append([]any{where}, args...)...))
}

func (c *checker) block(list Block, up Stmt) {
	for _, s := range list {
		c.stmt(s, up)
	}
}

func (c *checker) stmt(s Stmt, up Stmt) {
	if s.At().Up != up {
		c.bad(s, "has a statement in another loop or call than it says")
	}
	for _, e := range Exprs(s) {
		c.host(s, e)
	}
	switch s := s.(type) {
	case *Assign:
		c.assign(s)
	case *Branch:
		if s.Cond != nil && (len(s.Arms) < 1 || len(s.Arms) > 2) {
			c.bad(s, "has an if with %d arms", len(s.Arms))
		}
		for _, a := range s.Arms {
			c.block(a.Body, up)
		}
	case *Loop:
		c.head(s.Init, up)
		c.block(s.Body, s)
		c.head(s.Post, s)
	case *Jump:
		if _, loop := up.(*Loop); !loop {
			c.bad(s, "has a %s outside of any loop", s.Tok)
		}
	case *Return:
	case *Call:
		for _, v := range s.Results {
			if !c.known[v] {
				c.bad(s, "does not know a result of %s", s.Fn.Name())
			}
		}
		c.block(s.Body, s)
	default:
		c.bad(s, "has a statement of kind %T", s)
	}
}

// head verifies the first or last clause of a loop.
func (c *checker) head(a *Assign, up Stmt) {
	if a == nil {
		return
	}
	if a.Op != nil {
		c.bad(a, "has an operation in the head of a loop")
	}
	c.stmt(a, up)
}

func (c *checker) assign(s *Assign) {
	for _, l := range s.Lhs {
		id, ok := Base(l).(*ast.Ident)
		if !isBlank(l) && (!ok || c.p.Info.Uses[id] == nil) {
			c.bad(s, "assigns to what is no place: %s", types.ExprString(l))
		}
	}
	switch {
	case s.Tok == token.VAR && (len(s.Lhs) != 1 || len(s.Rhs) != 0), s.Tok == token.ASSIGN && len(s.Rhs) == 0:
		c.bad(s, "has an assignment without a value")
	case len(s.Lhs) > 1 && len(s.Rhs) != 1:
		c.bad(s, "has a tuple assignment")
	case s.Op != nil && ast.Unparen(s.Rhs[0]) != s.Op.Call:
		c.bad(s, "has an operation that is not all of its right side")
	}
}

// host verifies an expression that everybody may evaluate, or the operation of a
// statement.
func (c *checker) host(s Stmt, e ast.Expr) {
	if loop, ok := s.(*Loop); ok && loop.Next {
		return
	}
	a, _ := s.(*Assign)
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if v := c.p.Var(n); v != nil && !c.known[v] {
				c.bad(s, "names %s, which is no variable of it", v.Name())
			}
		case *ast.CallExpr:
			own := a != nil && a.Op != nil && a.Op.Call == n
			if fn := Callee(c.p.Info, n); fn != nil && !own && c.operation(n, fn) {
				c.bad(s, "has an operation inside an expression: %s", types.ExprString(n))
			}
		case *ast.FuncLit:
			return false
		}
		return true
	})
}
