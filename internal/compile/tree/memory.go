package tree

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
)

// vars is a set of variables.
type vars map[*types.Var]bool

// Outside stands for memory that a function neither made nor was given: what
// package variables hold, what a tensor shows of itself, what a function literal
// is called with.
var Outside = types.NewVar(token.NoPos, nil, "outside", types.Typ[types.Invalid])

// memory finds who may share memory with whom, and says of every statement that
// writes through it whose memory it may change. A variable's roots are the
// variables for which its memory was made; they are found from all statements
// whatever their order, so that they are easy to believe.
func (p *Program) memory() {
	p.roots = map[*types.Var]vars{}
	for _, v := range p.strange {
		p.roots[v] = vars{Outside: true}
	}
	for more := true; more; {
		more = false
		for a := range Each[*Assign](p.Body) {
			more = p.shared(a) || more
		}
		for l := range Each[*Loop](p.Body) {
			more = l.Value != nil && p.gives(l.Value, false, l.Over, l.Value.Type()) || more
		}
	}
	for a := range Each[*Assign](p.Body) {
		a.Shares = p.changed(a)
	}
}

// shared finds more of what an assignment makes variables share.
func (p *Program) shared(a *Assign) (more bool) {
	for i, l := range a.Lhs {
		if v := p.Root(l); v != nil && len(a.Rhs) > 0 {
			rhs := a.Rhs[min(i, len(a.Rhs)-1)]
			if a.Op != nil {
				rhs = nil // results are fresh, and nobody writes them
			}
			more = p.gives(v, p.through(l, true), rhs, p.Info.TypeOf(l)) || more
		}
	}
	for _, f := range a.Fills { // what is filled may get what stands beside it
		v := p.Root(f)
		call, ok := ast.Unparen(a.Rhs[0]).(*ast.CallExpr)
		if v == nil || !ok || !p.Refers(filledType(p.Info.TypeOf(f))) {
			continue
		}
		for _, arg := range call.Args {
			more = p.gives(v, true, arg, p.Info.TypeOf(arg)) || more
		}
	}
	return more
}

// gives notes that v has the value of an expression, of type t, and reports whether
// that is news; through says that all who share v's memory see it. A nil expression
// is memory of v's own.
func (p *Program) gives(v *types.Var, through bool, e ast.Expr, t types.Type) (more bool) {
	if !p.Refers(t) {
		return false
	}
	from := vars{v: true}
	if e != nil {
		from = p.memoryOf(e, v)
	}
	to := []*types.Var{v}
	if through {
		to = p.Class(v)
	}
	for _, v := range to {
		for root := range from {
			if !p.roots[v][root] {
				p.own(v)
				p.roots[v][root], more = true, true
			}
		}
	}
	return more
}

// Memory returns the variables for which the memory was made that the value of an
// expression may share: parameters among them, and Outside.
func (p *Program) Memory(e ast.Expr) map[*types.Var]bool { return p.memoryOf(e, nil) }

// memoryOf does what Memory says. What an expression makes is made for v.
func (p *Program) memoryOf(e ast.Expr, v *types.Var) vars {
	out := vars{}
	var add func(e ast.Expr)
	list := func(list []ast.Expr) {
		out[v] = v != nil
		for _, e := range list {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				e = kv.Value
			}
			if _, view := ast.Unparen(e).(*ast.SliceExpr); view || p.Refers(p.Info.TypeOf(e)) {
				add(e)
			}
		}
	}
	add = func(e ast.Expr) {
		switch e := Base(e).(type) {
		case *ast.Ident:
			_, foreign := p.Info.Uses[e].(*types.PkgName)
			_, global := p.Info.Uses[e].(*types.Var)
			if w := p.Var(e); w != nil {
				p.own(w)
				maps.Copy(out, p.roots[w])
			} else if foreign || global {
				out[Outside] = true
			}
		case *ast.TypeAssertExpr:
			add(e.X)
		case *ast.CompositeLit:
			list(e.Elts)
		case *ast.CallExpr:
			list(p.returned(e))
			if fn := Callee(p.Info, e); fn != nil && p.shows(fn) {
				out[Outside] = true
			}
		}
	}
	add(e)
	delete(out, nil)
	return out
}

// own gives a variable without any memory its own, of which others may have a
// slice or a copy.
func (p *Program) own(v *types.Var) {
	if p.roots[v] == nil {
		p.roots[v] = vars{v: true}
	}
}

// returned lists the operands of a call whose memory its result may share: a
// function may return what it was given, a clone does not.
func (p *Program) returned(e *ast.CallExpr) []ast.Expr {
	fn := Callee(p.Info, e)
	if Builtin(p.Info, e) == "make" || fn != nil && p.fresh(fn) && !p.Refers(filledType(p.Info.TypeOf(e))) {
		return nil
	}
	if sel, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr); ok && p.Info.Selections[sel] != nil {
		return append([]ast.Expr{sel.X}, e.Args...)
	}
	return e.Args
}

// Alone reports whether no other variable may share memory with v.
func (p *Program) Alone(v *types.Var) bool { return len(p.Class(v)) == 1 }

// Class returns the variables that may share memory with v, itself included.
func (p *Program) Class(v *types.Var) (out []*types.Var) {
	for _, w := range p.Vars {
		meets := w == v
		for root := range p.roots[v] {
			meets = meets || p.roots[w][root]
		}
		if meets {
			out = append(out, w)
		}
	}
	return out
}

// Refers reports whether a copy of a value of type t shares memory that can be
// written with it. Tensors and what the vocabulary declares are immutable, or have
// a home.
func (p *Program) Refers(t types.Type) bool {
	return Holds(t, func(t types.Type) Verdict {
		if p.frozen(t) {
			return No
		}
		switch t.Underlying().(type) {
		case *types.Slice, *types.Pointer, *types.Map, *types.Chan, *types.Signature, *types.Interface:
			return Yes
		}
		return Deeper
	})
}

// filledType returns the type of the memory that filling a value writes.
func filledType(t types.Type) types.Type {
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

// changed returns the variables whose memory a statement may change, besides those
// that it names on its left and in its fills.
func (p *Program) changed(a *Assign) (out []*types.Var) {
	named, all := vars{}, vars{}
	add := func(e ast.Expr, through bool) {
		v := p.Root(e)
		if v == nil {
			return
		}
		named[v] = true
		if through {
			for _, w := range p.Class(v) {
				all[w] = true
			}
		}
	}
	for _, l := range a.Lhs {
		add(l, p.through(l, true))
	}
	for _, f := range a.Fills {
		add(f, true)
	}
	return slices.DeleteFunc(slices.Clone(p.Vars), func(v *types.Var) bool { return !all[v] || named[v] })
}

// Through reports whether assigning to a place writes memory that is not the
// variable's own: an element of a slice, or something behind a pointer.
func (p *Program) Through(place ast.Expr) bool { return p.through(place, false) }

// through does what Through says. An element of an array may count: there may be a
// slice of it.
func (p *Program) through(place ast.Expr, arrays bool) bool {
	switch e := ast.Unparen(place).(type) {
	case *ast.IndexExpr:
		_, array := p.Info.TypeOf(e.X).Underlying().(*types.Array)
		return !array || arrays || p.through(e.X, arrays)
	case *ast.StarExpr:
		return true
	case *ast.SelectorExpr:
		return IsPointer(p.Info.TypeOf(e.X)) || p.through(e.X, arrays) || slices.ContainsFunc(p.fields[e], func(f *types.Var) bool { return IsPointer(f.Type()) })
	}
	return false
}
