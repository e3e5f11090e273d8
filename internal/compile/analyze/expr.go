package analyze

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/astutil"
)

// eval is what is known of an expression's value. Operations in it become nodes,
// in the order in which they run.
func (x *interp) eval(e ast.Expr) *value {
	e = ast.Unparen(e)
	if tv, ok := x.info().Types[e]; ok && tv.Value != nil {
		if tv.Value.Kind() == constant.String {
			return &value{text: constant.StringVal(tv.Value)}
		}
		return nil
	}
	switch e := e.(type) {
	case *ast.Ident:
		return x.ident(e)
	case *ast.SelectorExpr:
		return x.selector(e)
	case *ast.CallExpr:
		return x.callExpr(e)
	case *ast.CompositeLit:
		return x.composite(e)
	case *ast.UnaryExpr:
		return x.unary(e)
	case *ast.BinaryExpr:
		return x.binary(e)
	case *ast.IndexExpr:
		return x.index(e)
	case *ast.SliceExpr:
		return x.eval(e.X)
	case *ast.StarExpr:
		return x.deref(e)
	case *ast.TypeAssertExpr:
		return x.assertion(e)
	case *ast.FuncLit:
		return x.literal(e)
	}
	return nil
}

func (x *interp) ident(e *ast.Ident) *value {
	switch o := x.info().ObjectOf(e).(type) {
	case *types.Var:
		if o.Parent() != nil && o.Pkg() != nil && o.Parent() == o.Pkg().Scope() {
			x.global(e.Pos(), o)
			return nil
		}
		return x.st.vars[x.variable(o)]
	case *types.Func:
		return &value{fn: &closure{fn: o}}
	}
	return nil
}

func (x *interp) global(pos token.Pos, o *types.Var) {
	if types.Identical(o.Type(), types.Universe.Lookup("error").Type()) {
		return // errors to compare with, as rl.ErrStop
	}
	x.bad(pos, "global", fmt.Sprintf("the package variable %s may be changed by anybody while the loop runs", o.Name()), "make it a constant, a setting or a field that the constructor sets")
}

func (x *interp) selector(e *ast.SelectorExpr) *value {
	sel, ok := x.info().Selections[e]
	if !ok { // a qualified name
		switch o := x.info().ObjectOf(e.Sel).(type) {
		case *types.Var:
			x.global(e.Pos(), o)
		case *types.Func:
			return &value{fn: &closure{fn: o}}
		}
		return nil
	}
	if sel.Kind() == types.FieldVal {
		return x.walk(x.eval(e.X), fieldNames(sel))
	}
	fn, _ := sel.Obj().(*types.Func)
	return &value{fn: &closure{fn: fn, recv: x.receiver(e, sel)}}
}

// receiver is what a method is called on, promoted through embedded fields.
func (x *interp) receiver(e *ast.SelectorExpr, sel *types.Selection) *value {
	return x.walk(x.eval(e.X), fieldNames(sel)[:len(sel.Index())-1])
}

// fieldNames are the fields that a selection goes through, the last of a method
// left empty.
func fieldNames(sel *types.Selection) (out []string) {
	t := sel.Recv()
	for i, index := range sel.Index() {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		s, ok := t.Underlying().(*types.Struct)
		if !ok || sel.Kind() != types.FieldVal && i == len(sel.Index())-1 {
			return append(out, "")
		}
		out = append(out, s.Field(index).Name())
		t = s.Field(index).Type()
	}
	return out
}

// walk selects fields one after another, of structs and of what pointers point
// to.
func (x *interp) walk(v *value, path []string) *value {
	for _, name := range path {
		out := v.field(name)
		if v != nil {
			for _, o := range v.objs {
				out = join(out, o.fields[name])
			}
		}
		v = out
	}
	return v
}

func (x *interp) composite(e *ast.CompositeLit) *value {
	t := x.typeOf(e)
	switch u := t.Underlying().(type) {
	case *types.Struct:
		out := &value{fields: map[string]*value{}}
		for i, elt := range e.Elts {
			name, expr := "", elt
			if kv, ok := elt.(*ast.KeyValueExpr); ok {
				name, expr = kv.Key.(*ast.Ident).Name, kv.Value
			} else {
				name = u.Field(i).Name()
			}
			out.fields[name] = settled(x.eval(expr))
		}
		return out
	case *types.Map:
		x.bad(e.Pos(), "map", "a map has no order and cannot travel", "use a struct or a slice")
		return nil
	}
	out := &value{}
	for _, elt := range e.Elts {
		if kv, ok := elt.(*ast.KeyValueExpr); ok {
			elt = kv.Value
		}
		out = join(out, x.eval(elt))
	}
	return x.fresh(e.Pos(), out)
}

// settled is a value as a part of a struct: what was computed for it stays a part
// of what uses the struct.
func settled(v *value) *value {
	if v == nil || !v.derived {
		return v
	}
	out := *v
	out.derived = false
	return &out
}

// fresh is a slice made at a place, which nobody else holds.
func (x *interp) fresh(pos token.Pos, v *value) *value {
	if x.phase != training {
		return v
	}
	site := x.b.site(x.key(pos, ""))
	if !x.held(site) {
		delete(x.st.handed, site)
	}
	out := value{}
	if v != nil {
		out = *v
	}
	out.sites = []int{site}
	return &out
}

// held reports whether a variable still has a slice that an earlier round made at
// a place.
func (x *interp) held(site int) bool {
	for _, v := range x.st.vars {
		if slices.Contains(v.allSites(), site) {
			return true
		}
	}
	return false
}

func (x *interp) unary(e *ast.UnaryExpr) *value {
	switch e.Op {
	case token.AND:
		return x.address(e)
	case token.ARROW:
		x.bad(e.Pos(), "channel", "a channel hides where its values come from", "pass values as arguments and results")
		return nil
	}
	return computed(x.eval(e.X))
}

// computed is the result of Go's own operators.
func computed(list ...*value) *value {
	var out *value
	for _, v := range list {
		out = join(out, v)
	}
	if out == nil {
		return &value{derived: true}
	}
	return out.flat()
}

func (x *interp) address(e *ast.UnaryExpr) *value {
	lit, ok := ast.Unparen(e.X).(*ast.CompositeLit)
	t := x.typeOf(e.X)
	if x.phase == training {
		switch {
		case isBatch(t) && !x.isComponent(t):
			x.bad(e.Pos(), "pointer", "a pointer to a batch lets it be changed after it was handed over", "pass the batch itself")
		case !ok:
			x.bad(e.Pos(), "pointer", "a pointer to a variable lets it be changed from elsewhere", "pass the value, and return what is new")
		default:
			x.bad(e.Pos(), "component", "what holds state is made in the constructor, so that it is saved", "make it there and keep it in a field")
		}
		return nil
	}
	if !ok {
		return x.eval(e.X)
	}
	kind := plain
	if x.isComponent(t) {
		kind = componentObject
	}
	o := x.object(e.Pos(), kind, t)
	if _, isStruct := t.Underlying().(*types.Struct); isStruct {
		for name, f := range x.composite(lit).fields {
			o.fields[name] = join(o.fields[name], f)
		}
	}
	return &value{objs: []*object{o}}
}

// binary evaluates Go's operators. An operation to the right of && or || would
// run or not, which only an if can show.
func (x *interp) binary(e *ast.BinaryExpr) *value {
	if (e.Op == token.LAND || e.Op == token.LOR) && x.phase == training && x.hasOps(e.Y) {
		x.bad(e.Y.Pos(), "condition", fmt.Sprintf("an operation to the right of %s runs or not, depending on the left", e.Op), "write an if around it, or compute it before")
	}
	a, b := x.eval(e.X), x.eval(e.Y)
	out := computed(a, b)
	if e.Op == token.ADD && a != nil && b != nil && a.text != "" && b.text != "" {
		out.text = a.text + b.text // the name of a component, put together
	}
	return out
}

func (x *interp) index(e *ast.IndexExpr) *value {
	if tv, ok := x.info().Types[e.Index]; ok && tv.IsType() {
		return x.eval(e.X) // an instance of a generic function
	}
	base, at := x.eval(e.X), x.eval(e.Index)
	if _, isMap := x.typeOf(e.X).Underlying().(*types.Map); isMap {
		return computed(base, at)
	}
	out := base.element()
	if at != nil && len(at.defs) > 0 {
		return join(out, at.flat())
	}
	return out
}

func (x *interp) deref(e *ast.StarExpr) *value {
	v := x.eval(e.X)
	if v == nil {
		return nil
	}
	if isBatch(x.typeOf(e)) {
		x.bad(e.Pos(), "pointer", "a batch behind a pointer may be changed by others", "pass the batch itself")
	}
	out := &value{}
	for _, o := range v.objs {
		for name, f := range o.fields {
			out.set(name, join(out.fields[name], f))
		}
	}
	return out
}

func (x *interp) assertion(e *ast.TypeAssertExpr) *value {
	v := x.eval(e.X)
	if t := x.typeOf(e); t != nil && (isBatch(t) || x.isComponent(t)) {
		x.bad(e.Pos(), "interface", "a type assertion depends on a dynamic type that the source does not fix", "use the type itself, or decide in the constructor")
	}
	return v
}

// literal reads a function literal inside a graph function, where it only builds
// graph. In a loop it is refused.
func (x *interp) literal(e *ast.FuncLit) *value {
	switch x.phase {
	case training:
		x.bad(e.Pos(), "function", "a function value cannot be read through: when and where it runs is not in the source", "write a method, or a graph function declared in the constructor")
	case tracing:
		x.block(e.Body.List)
	}
	return nil
}

// hasOps reports whether an expression contains an operation.
func (x *interp) hasOps(e ast.Expr) bool {
	found := false
	astutil.Apply(e, func(c *astutil.Cursor) bool {
		if call, ok := c.Node().(*ast.CallExpr); ok && x.isOp(call) {
			found = true
		}
		return !found
	}, nil)
	return found
}
