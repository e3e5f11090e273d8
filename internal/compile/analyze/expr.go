package analyze

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/internal/compile/tree"
)

// eval returns what is known of an expression's value.
func (x *interp) eval(e ast.Expr) *value {
	e = ast.Unparen(e)
	tv := x.info().Types[e]
	if tv.Value != nil {
		if tv.Value.Kind() == constant.String {
			return &value{text: constant.StringVal(tv.Value)}
		}
		return nil
	}
	if tv.IsNil() || tv.IsType() {
		return nil
	}
	if and, ok := e.(*ast.UnaryExpr); ok && and.Op == token.AND && x.phase == training && !and.OpPos.IsValid() {
		return x.eval(and.X) // the receiver of a method that is read through
	}
	return x.strip(x.admit(x.bare(e), tv.Type), tv.Type)
}

// admit returns v, or says that nothing is known of it: of a pointer or an
// interface, what it points to, of a string in a constructor, its text.
func (x *interp) admit(v *value, t types.Type) *value {
	switch {
	case t == nil || len(objectsOf(v)) > 0:
	case tree.IsPointer(t) || types.IsInterface(t) && x.isComponent(t):
		return join(v, ofObjects(x.unknown))
	case x.phase == building && tree.IsBasic(t, types.IsString) && (v == nil || v.text == ""):
		return join(v, &value{text: unclear})
	case x.phase == training && x.p.holdsKey(t) && len(v.allKeys()) == 0:
		return join(v, &value{keys: []int{otherKey}})
	}
	return v
}

// stranger returns a value of type t of which nothing is known.
func (x *interp) stranger(t types.Type) *value {
	if !x.leads(t) {
		return nil
	}
	return ofObjects(x.unknown)
}

func (x *interp) bare(e ast.Expr) *value {
	switch e := e.(type) {
	case *ast.Ident:
		return x.ident(e)
	case *ast.SelectorExpr:
		return x.selector(e)
	case *ast.CallExpr:
		if out := x.callExpr(e); len(out) > 0 {
			return out[0]
		}
	case *ast.CompositeLit:
		return x.composite(e)
	case *ast.UnaryExpr:
		return x.unary(e)
	case *ast.BinaryExpr:
		return x.binary(e)
	case *ast.IndexExpr:
		return x.index(e)
	case *ast.IndexListExpr:
		return x.eval(e.X)
	case *ast.SliceExpr:
		return x.slice(e)
	case *ast.StarExpr:
		return x.deref(e)
	case *ast.TypeAssertExpr:
		return x.assertion(e)
	}
	return nil
}

func (x *interp) ident(e *ast.Ident) *value {
	switch o := x.info().Uses[e].(type) {
	case *types.Var:
		if g := x.global(e); g != nil {
			x.bad(e.Pos(), readsGlobal(g))
			return nil
		}
		if v := x.st.vars[o]; x.boxed[o] == nil {
			return v
		} else {
			return x.content(v, o.Type())
		}
	case *types.Func:
		return &value{fns: []closure{{fn: o.Origin()}}}
	}
	return nil
}

// global returns the package variable that an expression names, or nil.
func (x *interp) global(e ast.Expr) *types.Var {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if sel, is := ast.Unparen(e).(*ast.SelectorExpr); is && x.info().Selections[sel] == nil {
		id, ok = sel.Sel, x.t.Fields(sel) == nil
	}
	if !ok {
		return nil
	}
	return packageVar(x.info().Uses[id])
}

// packageVar returns an object that is a package's variable, or nil.
func packageVar(o types.Object) *types.Var {
	if v, ok := o.(*types.Var); ok && !v.IsField() && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
		return v
	}
	return nil
}

// readsGlobal says what is wrong with reading a package variable, if anything is.
func readsGlobal(o *types.Var) refusal {
	if sentinel(o) {
		return refusal{}
	}
	return refusal{"global", fmt.Sprintf("the package variable %s may be changed by anybody while the loop runs", o.Name()), "make it a constant, a setting or a field that the constructor sets"}
}

// sentinel reports whether a package variable is an error to compare with, as
// rl.ErrStop.
func sentinel(o *types.Var) bool {
	_, ours := inVocabulary(o.Pkg())
	return (ours || o.Pkg().Path() == "errors") && isError(o.Type())
}

func (x *interp) selector(e *ast.SelectorExpr) *value {
	if fields := x.t.Fields(e); fields != nil {
		for _, f := range fields {
			if x.phase == training {
				x.bad(e.Sel.Pos(), x.uneven(e, f))
			}
			x.recorded(e, f)
		}
		return x.walkFields(x.eval(e.X), fields)
	}
	sel, ok := x.info().Selections[e]
	if !ok { // a qualified name
		if g := x.global(e); g != nil {
			x.bad(e.Pos(), readsGlobal(g))
			return nil
		}
		return x.ident(e.Sel)
	}
	fn, _ := sel.Obj().(*types.Func)
	recv := x.receiver(e, sel)
	if fn == nil || !tree.Dynamic(fn) {
		return &value{fns: []closure{{fn.Origin(), recv}}}
	}
	return &value{fns: methods(recv, fn)}
}

// uneven says why a field may not be read in a loop: it differs from replica to
// replica, or is the state of a component.
func (x *interp) uneven(e *ast.SelectorExpr, f *types.Var) refusal {
	switch {
	case x.differs(f):
		return refusal{"component", fmt.Sprintf("%s is what this replica has of the environments, and differs from replica to replica", types.ExprString(e)), "use Spec().Envs, the environments of the whole run, or count in a graph function"}
	case x.mutable(f):
		return refusal{"component", fmt.Sprintf("%s is state of a component, at which only its operations may look", types.ExprString(e)), "write a method of the component, marked //weft:op reads"}
	}
	return refusal{}
}

// receiver returns what a method is called on, promoted through embedded fields.
func (x *interp) receiver(e *ast.SelectorExpr, sel *types.Selection) *value {
	return x.walkFields(x.eval(e.X), tree.Embedded(sel.Recv(), sel))
}

func (x *interp) walkFields(v *value, fields []*types.Var) *value {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name()
	}
	out := x.walk(v, names)
	if x.phase == building && len(fields) > 0 && x.differs(fields[len(fields)-1]) {
		out = join(out, &value{varies: otherwise})
	}
	return out
}

// walk selects fields one after another, of structs and of what pointers point
// to.
func (x *interp) walk(v *value, path []string) *value {
	for _, name := range path {
		out := v.field(name)
		for _, o := range objectsOf(v) {
			out = join(out, x.load(o, name))
		}
		if len(objectsOf(v)) > 0 {
			out = x.foreign(out)
		}
		v = out
	}
	return v
}

func (x *interp) composite(e *ast.CompositeLit) *value {
	t := x.typeOf(e)
	if p, ok := t.Underlying().(*types.Pointer); ok { // an element of a list, without its &
		return x.allocate(e, e, p.Elem())
	}
	switch t.Underlying().(type) {
	case *types.Struct:
		if x.p.typ(t).Key {
			return x.zero(t)
		}
		return x.structure(e, t)
	case *types.Map:
		x.bad(e.Pos(), noMap)
	}
	out := &value{}
	for _, elt := range e.Elts {
		if kv, ok := elt.(*ast.KeyValueExpr); ok {
			elt = kv.Value
		}
		out = join(out, settled(x.eval(elt)))
	}
	sites := out.sites
	out = x.fresh(e, out)
	out.sites = union(out.sites, sites, cmp.Compare[int]) // of the slices in it
	return out
}

// structure returns the struct of type t that a literal makes.
func (x *interp) structure(e *ast.CompositeLit, t types.Type) *value {
	out, fields := &value{}, fieldsAt(t)
	for _, f := range fields {
		if v := x.zero(f.Type()); v != nil {
			out.set(f.Name(), v)
		}
	}
	for i, expr := range e.Elts {
		f := fields[i]
		if kv, ok := expr.(*ast.KeyValueExpr); ok {
			f, expr = fieldNamed(t, kv.Key.(*ast.Ident).Name), kv.Value
		}
		v := x.eval(expr)
		x.vary(f, v)
		if types.IsInterface(f.Type()) && x.p.isBatch(x.typeOf(expr)) {
			x.bad(expr.Pos(), hiddenBatch)
		}
		out.set(f.Name(), settled(v))
	}
	return out
}

func (x *interp) unary(e *ast.UnaryExpr) *value {
	switch e.Op {
	case token.AND:
		return x.address(e)
	case token.ARROW:
		x.bad(e.Pos(), receives)
		return nil
	}
	return computed(x.eval(e.X))
}

func (x *interp) address(e *ast.UnaryExpr) *value {
	lit, ok := ast.Unparen(e.X).(*ast.CompositeLit)
	t := x.typeOf(e.X)
	if x.phase == training {
		switch {
		case x.p.isBatch(t) && !x.isComponent(t):
			x.bad(e.Pos(), refusal{"pointer", "a pointer to a batch lets it be changed after it was handed over", "pass the batch itself"})
		case !ok:
			x.bad(e.Pos(), refusal{"pointer", "a pointer to a variable lets it be changed from elsewhere", "pass the value, and return what is new"})
		default:
			x.bad(e.Pos(), refusal{"component", "what holds state is made in the constructor, so that it is saved", "make it there and keep it in a field"})
		}
		return nil
	}
	if ok {
		return x.allocate(e, lit, t)
	}
	if v := x.t.Var(ast.Unparen(e.X)); v != nil {
		return x.box(v)
	}
	return x.eval(e.X)
}

// box returns a pointer to a variable of a constructor. The variable, if it is a
// struct, is an object from here on; of any other nothing is known.
func (x *interp) box(v *types.Var) *value {
	o := x.boxed[v]
	if _, isStruct := v.Type().Underlying().(*types.Struct); o == nil && !isStruct {
		o = x.unknown
	} else if o == nil {
		o = x.newObject(v.Pos(), plain, v.Type())
	}
	if old := x.st.vars[v]; !slices.Contains(objectsOf(old), o) {
		x.copyInto(ofObjects(o), old)
	}
	x.boxed[v], x.st.vars[v] = o, ofObjects(o)
	return ofObjects(o)
}

// allocate returns the object that a composite literal makes.
func (x *interp) allocate(e ast.Expr, lit *ast.CompositeLit, t types.Type) *value {
	o := x.object(e, e.Pos(), plain, t)
	s, isStruct := t.Underlying().(*types.Struct)
	if !isStruct {
		return ofObjects(o)
	}
	given := x.structure(lit, t)
	for f := range s.Fields() {
		x.store([]*object{o}, []string{f.Name()}, given.field(f.Name()), false)
	}
	return ofObjects(o)
}

func (x *interp) binary(e *ast.BinaryExpr) *value {
	a, b := x.eval(e.X), x.eval(e.Y)
	out := computed(a, b)
	if e.Op == token.ADD && a != nil && b != nil && a.text != "" && b.text != "" {
		out.text = a.text + b.text // the name of a component, put together
	}
	return out
}

func (x *interp) index(e *ast.IndexExpr) *value {
	if x.info().Types[e.Index].IsType() {
		return x.eval(e.X) // an instance of a generic function
	}
	base, at := x.eval(e.X), x.eval(e.Index)
	if _, isBasic := x.typeOf(e.X).Underlying().(*types.Basic); isBasic {
		return computed(base, at)
	}
	out := varied(settled(base), varies(at))
	if at != nil && len(at.defs) > 0 {
		return join(out, computed(at))
	}
	return out
}

func (x *interp) slice(e *ast.SliceExpr) *value {
	base := x.eval(e.X)
	if _, array := x.typeOf(e.X).Underlying().(*types.Array); array {
		x.bad(e.Pos(), refusal{"pointer", "a slice of an array variable lets it be changed under another name", "make a slice in the first place"})
	}
	for _, i := range []ast.Expr{e.Low, e.High, e.Max} {
		if i == nil {
			continue
		}
		at := x.eval(i)
		if at != nil && len(at.defs) > 0 {
			base = join(base, computed(at))
		}
		base = varied(base, varies(at))
	}
	if e.High != nil && e.Max == nil {
		return join(base, &value{part: true})
	}
	return base
}

func (x *interp) deref(e *ast.StarExpr) *value {
	v := x.eval(e.X)
	if x.p.isBatch(x.typeOf(e)) {
		x.bad(e.Pos(), refusal{"pointer", "a batch behind a pointer may be changed by others", "pass the batch itself"})
	}
	return x.content(v, x.typeOf(e))
}

// content returns the struct that a pointer points to.
func (x *interp) content(v *value, t types.Type) *value {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return v
	}
	out := &value{}
	for f := range s.Fields() {
		if now := x.walk(v, []string{f.Name()}); now != nil {
			out.set(f.Name(), x.strip(now, f.Type()))
		}
	}
	return out
}

func (x *interp) assertion(e *ast.TypeAssertExpr) *value {
	v := x.eval(e.X)
	if t := x.typeOf(e); x.written(e) && (x.p.isBatch(t) || x.isComponent(t)) {
		x.bad(e.Pos(), refusal{"interface", "a type assertion depends on a dynamic type that the source does not fix", "use the type itself, or decide in the constructor"})
	}
	return v
}

// written reports whether an assertion is the author's: that to the receiver of a
// method which was found behind an interface is not.
func (x *interp) written(e *ast.TypeAssertExpr) bool { return e.Lparen.IsValid() }
