package tree

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// classes are sets of variables that may share memory, found without regard to the
// order of statements: who was ever given a slice, a pointer or a map out of
// another's value is in its class. The variables behind a class are few, so that
// this is as good as more precise ways, and easy to believe.
type classes struct {
	up      map[*types.Var]*types.Var
	members map[*types.Var][]*types.Var // of a class, by its representative
}

func (c *classes) find(v *types.Var) *types.Var {
	for c.up[v] != nil {
		v = c.up[v]
	}
	return v
}

func (c *classes) join(a, b *types.Var) {
	a, b = c.find(a), c.find(b)
	if a == b {
		return
	}
	c.up[b] = a
	c.members[a] = append(c.of(a), c.of(b)...)
	delete(c.members, b)
}

func (c *classes) of(root *types.Var) []*types.Var {
	if m, ok := c.members[root]; ok {
		return m
	}
	return []*types.Var{root}
}

// Alone reports whether no other variable may share memory with v.
func (p *Program) Alone(v *types.Var) bool { return len(p.classes.of(p.classes.find(v))) == 1 }

// Class returns the variables that may share memory with v, itself included.
func (p *Program) Class(v *types.Var) []*types.Var { return p.classes.of(p.classes.find(v)) }

// Refers reports whether a copy of a value of type t shares memory that can be
// written with it. Tensors and what the vocabulary declares are immutable, or have
// a home.
func (p *Program) Refers(t types.Type) bool { return p.refers(t, map[types.Type]bool{}) }

func (p *Program) refers(t types.Type, seen map[types.Type]bool) bool {
	if t == nil || seen[t] || p.frozen(t) {
		return false
	}
	seen[t] = true
	switch u := t.Underlying().(type) {
	case *types.Slice, *types.Pointer, *types.Map, *types.Chan, *types.Signature, *types.Interface:
		return true
	case *types.Array:
		return p.refers(u.Elem(), seen)
	case *types.Struct:
		for f := range u.Fields() {
			if p.refers(f.Type(), seen) {
				return true
			}
		}
	case *types.Tuple:
		for v := range u.Variables() {
			if p.refers(v.Type(), seen) {
				return true
			}
		}
	}
	return false
}

// memory finds who shares memory with whom, and says of every statement that
// writes through it whose memory it may change.
func memory(p *Program) {
	p.classes = &classes{up: map[*types.Var]*types.Var{}, members: map[*types.Var][]*types.Var{}}
	p.Body.Walk(func(s Stmt) bool {
		switch s := s.(type) {
		case *Assign:
			p.shared(s)
		case *Loop:
			if s.Value != nil {
				p.joinAll(s.Value, s.Over, s.Value.Type())
			}
		}
		return true
	})
	p.Body.Walk(func(s Stmt) bool {
		if a, ok := s.(*Assign); ok {
			a.Shares = p.changed(a)
		}
		return true
	})
}

// shared joins the variables that an assignment makes share memory.
func (p *Program) shared(a *Assign) {
	for i, l := range a.Lhs {
		v := p.Root(l)
		if v == nil || len(a.Rhs) == 0 {
			continue
		}
		rhs, t := a.Rhs[min(i, len(a.Rhs)-1)], p.Info.TypeOf(l)
		if a.Op != nil {
			continue // results are fresh, and nobody writes them
		}
		p.joinAll(v, rhs, t)
	}
	for _, f := range a.Fills { // what is filled may get what stands beside it
		v := p.Root(f)
		call, ok := ast.Unparen(a.Rhs[0]).(*ast.CallExpr)
		if v == nil || !ok || !p.Refers(elementOf(p.Info.TypeOf(f))) {
			continue
		}
		for _, arg := range call.Args {
			p.joinAll(v, arg, p.Info.TypeOf(arg))
		}
	}
}

// elementOf is the type of what is written when a value is filled.
func elementOf(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return u.Elem()
	case *types.Pointer:
		return u.Elem()
	}
	return t
}

// joinAll puts a variable that is given the value of an expression, of type t,
// into a class with those whose memory that value may share.
func (p *Program) joinAll(v *types.Var, e ast.Expr, t types.Type) {
	if !p.Refers(t) {
		return
	}
	for _, w := range p.memoryOf(e) {
		p.classes.join(v, w)
	}
}

// memoryOf are the variables whose memory the value of an expression may share.
func (p *Program) memoryOf(e ast.Expr) []*types.Var {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if v := p.Var(e); v != nil {
			return []*types.Var{v}
		}
	case *ast.SelectorExpr:
		return p.memoryOf(e.X)
	case *ast.IndexExpr:
		return p.memoryOf(e.X)
	case *ast.SliceExpr:
		return p.memoryOf(e.X)
	case *ast.StarExpr:
		return p.memoryOf(e.X)
	case *ast.TypeAssertExpr:
		return p.memoryOf(e.X)
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return p.memoryOf(e.X)
		}
	case *ast.KeyValueExpr:
		return p.memoryOf(e.Value)
	case *ast.CompositeLit:
		return p.memoryOfAll(e.Elts)
	case *ast.CallExpr:
		return p.memoryOfCall(e)
	}
	return nil
}

func (p *Program) memoryOfAll(list []ast.Expr) (out []*types.Var) {
	for _, e := range list {
		if p.Refers(p.valueType(e)) || p.viewed(e) {
			out = append(out, p.memoryOf(e)...)
		}
	}
	return out
}

// viewed reports whether an expression is a slice of an array variable.
func (p *Program) viewed(e ast.Expr) bool {
	_, ok := ast.Unparen(e).(*ast.SliceExpr)
	return ok
}

func (p *Program) valueType(e ast.Expr) types.Type {
	if kv, ok := e.(*ast.KeyValueExpr); ok {
		e = kv.Value
	}
	return p.Info.TypeOf(e)
}

// memoryOfCall: a function may return what it was given, a clone does not.
func (p *Program) memoryOfCall(e *ast.CallExpr) []*types.Var {
	fun := ast.Unparen(e.Fun)
	if p.Info.Types[fun].IsType() {
		return p.memoryOfAll(e.Args)
	}
	if id, ok := fun.(*ast.Ident); ok {
		if f, ok := p.Info.Uses[id].(*types.Builtin); ok && f.Name() == "make" {
			return nil
		}
	}
	if fn := Callee(p.Info, e); fn != nil && p.fresh(fn) && !p.Refers(elementOf(p.Info.TypeOf(e))) {
		return nil
	}
	out := p.memoryOfAll(e.Args)
	if sel, ok := fun.(*ast.SelectorExpr); ok && p.Info.Selections[sel] != nil {
		out = append(out, p.memoryOf(sel.X)...)
	}
	return out
}

// changed are the variables whose memory a statement may change, besides those
// that it names on its left and in its fills.
func (p *Program) changed(a *Assign) (out []*types.Var) {
	named := map[*types.Var]bool{}
	add := func(v *types.Var) {
		for _, w := range p.Class(v) {
			if !named[w] && !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	for _, e := range append(a.Lhs[:len(a.Lhs):len(a.Lhs)], a.Fills...) {
		if v := p.Root(e); v != nil {
			named[v] = true
		}
	}
	for _, l := range a.Lhs {
		if v := p.Root(l); v != nil && p.through(l) {
			add(v)
		}
	}
	for _, f := range a.Fills {
		if v := p.Root(f); v != nil {
			add(v)
		}
	}
	slices.SortFunc(out, func(x, y *types.Var) int { return slices.Index(p.Vars, x) - slices.Index(p.Vars, y) })
	return out
}

// through reports whether assigning to a place writes memory that is not the
// variable's own: an element of a slice, or something behind a pointer. An array
// counts where a slice of it may have been taken.
func (p *Program) through(place ast.Expr) bool {
	switch e := ast.Unparen(place).(type) {
	case *ast.IndexExpr:
		return true
	case *ast.SelectorExpr:
		return isPointer(p.Info.TypeOf(e.X)) || p.through(e.X) || slices.ContainsFunc(p.fields[e], func(f *types.Var) bool { return isPointer(f.Type()) })
	case *ast.StarExpr:
		return true
	}
	return false
}
