package tree

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// bind gives the receiver and the parameters of a function that is read through
// their values. caller is the frame of the call, which is an expression of the
// tree; the function's own frame is in force.
func (b *builder) bind(caller *frame, c called, call *ast.CallExpr) {
	d := b.fr.Decl
	for _, name := range named(d.Recv) {
		if o := b.defined(name); o != nil {
			b.parameter(o, b.receiver(caller, c, call, b.subst(o.Type())))
		}
	}
	params := named(d.Type.Params)
	for i, name := range params {
		variadic := i == len(params)-1 && c.fn.Signature().Variadic() && !call.Ellipsis.IsValid()
		switch o := b.defined(name); {
		case o == nil:
		case variadic:
			b.parameter(o, b.list(b.subst(o.Type()), call.Args[min(i, len(call.Args)):]))
		case i < len(call.Args):
			b.parameter(o, b.p.Copy(call.Args[i]))
		}
	}
}

// list returns the slice that holds the last arguments of a call.
func (b *builder) list(t types.Type, args []ast.Expr) ast.Expr {
	if len(args) == 0 {
		return b.p.Typed(&ast.CallExpr{Fun: b.p.typeName(t), Args: []ast.Expr{b.p.universal("nil")}}, t)
	}
	lit := &ast.CompositeLit{Type: b.p.typeName(t)}
	for _, a := range args {
		lit.Elts = append(lit.Elts, b.p.Copy(a))
	}
	return b.p.Typed(lit, t)
}

// receiver returns what a method is called on, as its receiver's type has it.
func (b *builder) receiver(caller *frame, c called, call *ast.CallExpr, want types.Type) ast.Expr {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	e := b.p.Copy(sel.X)
	if s := b.p.Info.Selections[sel]; s != nil && c.recv == nil {
		e = b.embedded(e, s)
	}
	have := b.p.Info.TypeOf(e)
	switch {
	case types.IsInterface(have) && !types.IsInterface(want):
		return b.p.Typed(&ast.TypeAssertExpr{X: e, Type: b.p.typeName(want)}, want)
	case IsPointer(have) && !IsPointer(want):
		return b.p.Typed(&ast.ParenExpr{X: b.p.Typed(&ast.StarExpr{X: e}, want)}, want)
	case !IsPointer(have) && IsPointer(want):
		b.address(e)
		return b.p.Typed(&ast.UnaryExpr{Op: token.AND, X: e}, want)
	}
	return e
}

// address refuses a pointer to a variable of the loop's: a function that is read
// through would change it behind a name of its own.
func (b *builder) address(e ast.Expr) {
	if v := b.p.Root(e); v != nil && !IsPointer(v.Type()) {
		b.report(b.pos, "pointer", "a method with operations has a pointer to "+v.Name()+", and could change it under another name", "pass the value and return what is new, or keep it in a component")
	}
}

// embedded selects the fields through which a method was promoted.
func (b *builder) embedded(e ast.Expr, s *types.Selection) ast.Expr {
	for _, f := range Embedded(b.p.Info.TypeOf(e), s) {
		e = b.p.Select(e, f)
	}
	return e
}

// parameter gives a parameter its value. One that only names something else, and
// is not changed, stands for that; others become variables.
func (b *builder) parameter(o types.Object, e ast.Expr) {
	if e == nil {
		return
	}
	t := b.subst(o.Type())
	changed := b.changes(o)
	if b.stable(e) && !changed && types.Identical(t, b.p.Info.TypeOf(e)) {
		b.fr.subst[o] = e
		return
	}
	if and, ok := e.(*ast.UnaryExpr); ok && and.Op == token.AND && !changed && !b.Open {
		b.fr.subst[o] = e
		return
	}
	v := b.local(o)
	b.emit(&Assign{Site: b.site(b.pos), Lhs: []ast.Expr{b.p.Ref(v)}, Tok: token.ASSIGN, Rhs: []ast.Expr{e}, Define: true, Binds: true, Text: v.Name() + " = " + OneLine(types.ExprString(e))})
}

// stable reports whether an expression names the same thing as long as a call
// lasts: a variable of the caller's, which the function cannot know, or a field of
// one.
func (b *builder) stable(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return b.p.Var(e) != nil
	case *ast.SelectorExpr:
		return b.p.Fields(e) != nil && b.stable(e.X)
	case *ast.ParenExpr:
		star, ok := e.X.(*ast.StarExpr)
		return ok && b.stable(star.X)
	}
	return false
}

// changes reports whether a function changes its copy of a parameter, or takes its
// address.
func (b *builder) changes(o types.Object) (yes bool) {
	is := func(e ast.Expr) bool {
		id, ok := Base(e).(*ast.Ident)
		return ok && b.fr.Info.ObjectOf(id) == o
	}
	ast.Inspect(b.fr.Decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				yes = yes || is(e)
			}
		case *ast.IncDecStmt:
			yes = yes || is(n.X)
		case *ast.RangeStmt:
			yes = yes || n.Tok == token.ASSIGN && (n.Key != nil && is(n.Key) || n.Value != nil && is(n.Value))
		case *ast.UnaryExpr:
			yes = yes || n.Op == token.AND && is(n.X)
		case *ast.SliceExpr: // of an array
			yes = yes || is(n.X)
		case *ast.SelectorExpr: // a method may have its address
			s := b.fr.Info.Selections[n]
			if s == nil || s.Kind() != types.MethodVal || !is(n.X) {
				break
			}
			fn, _ := s.Obj().(*types.Func)
			yes = yes || fn != nil && fn.Signature().Recv() != nil && IsPointer(fn.Signature().Recv().Type()) && !IsPointer(b.fr.Info.TypeOf(n.X))
		}
		return !yes
	})
	return yes
}

// lower returns a name as that of a variable.
func lower(s string) string {
	if s == strings.ToUpper(s) {
		return strings.ToLower(s)
	}
	return strings.ToLower(s[:1]) + s[1:]
}
