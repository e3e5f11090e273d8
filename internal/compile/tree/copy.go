package tree

import (
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strings"
)

// Parts returns the places in an expression's node that hold the expressions which
// it is made of, in source order. The keys and values of a composite literal are
// places of their own.
func Parts(e ast.Expr) (places []*ast.Expr) {
	node := reflect.ValueOf(e).Elem()
	for i := range node.NumField() {
		switch f := node.Field(i).Addr().Interface().(type) {
		case *ast.Expr:
			if *f != nil {
				places = append(places, f)
			}
		case *[]ast.Expr:
			for i, x := range *f {
				if kv, ok := x.(*ast.KeyValueExpr); ok {
					places = append(places, &kv.Key, &kv.Value)
				} else {
					places = append(places, &(*f)[i])
				}
			}
		}
	}
	return places
}

// Shallow copies an expression's node, which holds the same expressions then.
func Shallow(e ast.Expr) ast.Expr {
	node := reflect.New(reflect.TypeOf(e).Elem())
	node.Elem().Set(reflect.ValueOf(e).Elem())
	for i := range node.Elem().NumField() {
		if f, ok := node.Elem().Field(i).Addr().Interface().(*[]ast.Expr); ok {
			*f = slices.Clone(*f)
			for i, x := range *f {
				if kv, ok := x.(*ast.KeyValueExpr); ok {
					(*f)[i] = &ast.KeyValueExpr{Key: kv.Key, Colon: kv.Colon, Value: kv.Value}
				}
			}
		}
	}
	return node.Interface().(ast.Expr)
}

// Copy copies an expression of the tree, with all that is known of it.
func (p *Program) Copy(e ast.Expr) ast.Expr {
	return p.Rewrite(e, func(ast.Expr) ast.Expr { return nil })
}

// Rewrite does what Copy does, with what other returns in the place of an expression, unless that
// is nil.
func (p *Program) Rewrite(e ast.Expr, other func(ast.Expr) ast.Expr) ast.Expr {
	if e == nil {
		return nil
	}
	out := other(e)
	if out == nil {
		out = Shallow(e)
		for _, x := range Parts(out) {
			*x = p.Rewrite(*x, other)
		}
	}
	if tv, ok := p.Info.Types[e]; ok {
		p.Info.Types[out] = tv
	}
	switch out := out.(type) {
	case *ast.Ident:
		if e, ok := e.(*ast.Ident); ok && p.Info.Uses[e] != nil {
			p.Info.Uses[out] = p.Info.Uses[e]
		}
	case *ast.SelectorExpr:
		e, ok := e.(*ast.SelectorExpr)
		if !ok {
			break
		}
		if s, ok := p.Info.Selections[e]; ok {
			p.Info.Selections[out] = s
		}
		if f, ok := p.fields[e]; ok {
			p.fields[out] = f
		}
	}
	return out
}

// Typed notes the type of an expression that the author did not write.
func (p *Program) Typed(e ast.Expr, t types.Type) ast.Expr {
	p.Info.Types[e] = types.TypeAndValue{Type: t}
	return e
}

// typeName makes an expression that is a type.
func (p *Program) typeName(t types.Type) *ast.Ident {
	id := ast.NewIdent(types.TypeString(t, nil))
	p.Info.Types[id] = typeExpression(t)
	return id
}

// universal makes an expression that names one of Go's own constants, or nil.
func (p *Program) universal(name string) *ast.Ident {
	id := ast.NewIdent(name)
	o := types.Universe.Lookup(name)
	p.Info.Uses[id], p.Info.Types[id] = o, types.TypeAndValue{Type: o.Type()}
	if c, ok := o.(*types.Const); ok {
		p.Info.Types[id] = types.TypeAndValue{Type: types.Typ[types.Bool], Value: c.Val()}
	}
	return id
}

// Ref makes an expression that names a variable.
func (p *Program) Ref(v *types.Var) *ast.Ident {
	id := ast.NewIdent(v.Name())
	p.Info.Uses[id] = v
	p.Typed(id, v.Type())
	return id
}

// Select makes an expression that selects a field.
func (p *Program) Select(x ast.Expr, f *types.Var) *ast.SelectorExpr {
	name := ast.NewIdent(f.Name())
	p.Info.Uses[name] = f
	out := &ast.SelectorExpr{X: x, Sel: name}
	p.fields[out] = []*types.Var{f}
	p.Typed(out, f.Type())
	return out
}

// Fields returns the fields that a selector goes through, embedded ones included;
// nil for a method or a qualified name.
func (p *Program) Fields(e *ast.SelectorExpr) []*types.Var { return p.fields[e] }

// Embedded returns the fields of a value of type t that a selection goes through:
// to a method, those that the method is promoted through.
func Embedded(t types.Type, s *types.Selection) (out []*types.Var) {
	index := s.Index()
	if s.Kind() != types.FieldVal {
		index = index[:len(index)-1]
	}
	for _, i := range index {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		in, ok := t.Underlying().(*types.Struct)
		if !ok {
			return out
		}
		out = append(out, in.Field(i))
		t = in.Field(i).Type()
	}
	return out
}

// Base returns the expression that a place is in: without the fields, elements and
// pointers on the way to it.
func Base(e ast.Expr) ast.Expr { return *base(&e) }

// base returns where in a place its Base stands.
func base(at *ast.Expr) *ast.Expr {
	for {
		switch (*at).(type) {
		case *ast.ParenExpr, *ast.SelectorExpr, *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr, *ast.UnaryExpr:
			at = Parts(*at)[0]
		default:
			return at
		}
	}
}

// Var returns the variable that an identifier names, or nil.
func (p *Program) Var(e ast.Expr) *types.Var {
	id, ok := e.(*ast.Ident)
	if !ok {
		return nil
	}
	return localVar(p.Info.Uses[id])
}

// localVar returns an object that is a function's variable, or nil.
func localVar(o types.Object) *types.Var {
	v, _ := o.(*types.Var)
	if v == nil || v.IsField() || v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
		return nil
	}
	return v
}

// Root returns the variable that a place, a field or an element, is in, or nil.
func (p *Program) Root(e ast.Expr) *types.Var { return p.Var(Base(e)) }

// Path returns the variable that an expression is, or is a field of, with the path
// of the field: names joined by dots. It is nil for anything else, also for what
// is behind a pointer.
func (p *Program) Path(e ast.Expr) (v *types.Var, path string) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return p.Var(e), ""
	case *ast.SelectorExpr:
		fields := p.fields[e]
		v, path = p.Path(e.X)
		if fields == nil || v == nil || IsPointer(p.Info.TypeOf(e.X)) {
			return nil, ""
		}
		for i, f := range fields {
			if i < len(fields)-1 && IsPointer(f.Type()) {
				return nil, ""
			}
			path = strings.TrimPrefix(path+"."+f.Name(), ".")
		}
		return v, path
	}
	return nil, ""
}
