package project

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/compile/tree"
)

// expressions knows what programs are made of: copies of the tree's expressions,
// and those that the projector writes itself.
type expressions struct {
	was     map[ast.Expr]ast.Expr // a copy's original
	refs    map[*ast.Ident]*variable
	paths   map[*ast.SelectorExpr]string
	types   map[ast.Expr]types.Type
	hidden  map[*ast.Ident]Problem // names that a program of the package cannot use
	imports map[string]string      // path to name
	used    map[string]bool        // names that mean something of a package
}

func newExpressions() *expressions {
	return &expressions{
		was: map[ast.Expr]ast.Expr{}, refs: map[*ast.Ident]*variable{}, paths: map[*ast.SelectorExpr]string{}, types: map[ast.Expr]types.Type{},
		hidden: map[*ast.Ident]Problem{}, imports: map[string]string{}, used: map[string]bool{},
	}
}

// original returns the expression that e is a copy of, or e.
func (x *expressions) original(e ast.Expr) ast.Expr {
	if o, ok := x.was[e]; ok {
		return o
	}
	return e
}

// of returns the variable that an expression is, or nil.
func (l *loop) of(e ast.Expr) *variable {
	id, ok := e.(*ast.Ident)
	if !ok {
		return nil
	}
	if v, ok := l.refs[id]; ok {
		return v
	}
	if v := l.tree.Var(l.original(id)); v != nil {
		return l.vars[v]
	}
	return nil
}

// root returns the variable that a place is in, or nil.
func (l *loop) root(e ast.Expr) *variable { return l.of(tree.Base(e)) }

// typeOf returns the type of an expression, nil if it is not known.
func (l *loop) typeOf(e ast.Expr) types.Type {
	if v := l.of(e); v != nil {
		return v.typ
	}
	o := l.original(e)
	for _, x := range []ast.Expr{e, o} {
		if t, ok := l.types[x]; ok {
			return t
		}
	}
	return l.tree.Info.TypeOf(o)
}

// constant returns the value of a constant expression, or nil.
func (l *loop) constant(e ast.Expr) constant.Value { return l.tree.Info.Types[l.original(e)].Value }

// isType reports whether an expression is a type.
func (l *loop) isType(e ast.Expr) bool { return l.tree.Info.Types[l.original(e)].IsType() }

// callee returns the declared function that a call names, or nil.
func (l *loop) callee(e *ast.CallExpr) *types.Func {
	o, _ := l.original(e).(*ast.CallExpr)
	return tree.Callee(l.tree.Info, o)
}

// builtin returns the name of the builtin function that a call names, or nothing.
func (l *loop) builtin(e *ast.CallExpr) string {
	o, _ := l.original(e).(*ast.CallExpr)
	return tree.Builtin(l.tree.Info, o)
}

// path returns the fields that a selector goes through, empty where it goes
// through a pointer, behind which is no value. field is false for a method and for
// a name of a package.
func (l *loop) path(e *ast.SelectorExpr) (path string, field bool) {
	o, ok := l.original(e).(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	if p, ok := l.paths[o]; ok {
		return p, true
	}
	fields := l.tree.Fields(o)
	if fields == nil {
		return "", false
	}
	t := l.typeOf(o.X)
	var names []string
	for _, f := range fields {
		if _, ok := t.Underlying().(*types.Struct); !ok {
			return "", true
		}
		names, t = append(names, f.Name()), f.Type()
	}
	return strings.Join(names, "."), true
}

// ref makes an expression that is a variable.
func (l *loop) ref(v *variable) *ast.Ident {
	id := ast.NewIdent(v.name)
	l.refs[id] = v
	return id
}

// refer makes expressions that are variables.
func (l *loop) refer(list []*variable) (out []ast.Expr) {
	for _, v := range list {
		out = append(out, l.ref(v))
	}
	return out
}

// copy copies an expression, with names of packages as the generated file has them.
func (l *loop) copy(e ast.Expr) ast.Expr {
	if e == nil {
		return nil
	}
	out := l.copied(e)
	l.was[out] = l.original(e)
	if t, ok := l.types[e]; ok {
		l.types[out] = t
	}
	return out
}

func (l *loop) copies(list []ast.Expr) (out []ast.Expr) {
	for _, e := range list {
		out = append(out, l.copy(e))
	}
	return out
}

func (l *loop) copied(e ast.Expr) ast.Expr {
	if l.isType(e) {
		return l.typeExpr(l.tree.Info.Types[l.original(e)].Type, e.Pos())
	}
	switch e := e.(type) {
	case *ast.Ident:
		return l.ident(e)
	case *ast.SelectorExpr:
		return l.selector(e)
	}
	out := tree.Shallow(e)
	for _, x := range tree.Parts(out) {
		*x = l.copy(*x)
	}
	if lit, ok := out.(*ast.CompositeLit); ok {
		l.unkeyed(lit, l.typeOf(e), e.Pos())
	}
	return out
}

// unkeyed notes the fields that a composite literal names by having no keys.
func (l *loop) unkeyed(lit *ast.CompositeLit, t types.Type, pos token.Pos) {
	id, ok := lit.Type.(*ast.Ident)
	if sel, isSel := lit.Type.(*ast.SelectorExpr); isSel {
		id, ok = sel.Sel, true
	}
	for i, f := range tree.StructFields(t) {
		if i < len(lit.Elts) && ok {
			if _, keyed := lit.Elts[i].(*ast.KeyValueExpr); !keyed {
				l.hide(id, f, pos)
			}
		}
	}
}

func (l *loop) ident(e *ast.Ident) ast.Expr {
	if v := l.of(e); v != nil {
		return l.ref(v)
	}
	o, ok := l.original(e).(*ast.Ident)
	if !ok {
		return ast.NewIdent(e.Name)
	}
	return l.global(o, e.Name)
}

// global returns a name of a package, or one that means the same everywhere.
func (l *loop) global(e *ast.Ident, name string) ast.Expr {
	o := l.tree.Info.Uses[e]
	out := ast.NewIdent(name)
	if o == nil || o.Pkg() == nil || o.Pkg() == l.src.Pkg {
		return out
	}
	l.hide(out, o, e.Pos())
	if o.Parent() != o.Pkg().Scope() { // a field, as the key of a literal
		return out
	}
	return &ast.SelectorExpr{X: ast.NewIdent(l.importName(o.Pkg())), Sel: out}
}

// hide notes that a name cannot be used, if its package does not export it.
func (l *loop) hide(id *ast.Ident, o types.Object, pos token.Pos) {
	if !o.Exported() && o.Pkg() != nil && o.Pkg() != l.src.Pkg {
		l.hidden[id] = Problem{l.src.Fset.Position(pos), fmt.Sprintf("%s of package %s is not exported, so that a program of this package cannot use it; export it, or let one group own the whole function", o.Name(), o.Pkg().Path())}
	}
}

func (l *loop) selector(e *ast.SelectorExpr) ast.Expr {
	switch o := l.original(e).(type) {
	case *ast.Ident: // which its own package need not qualify
		return l.global(o, e.Sel.Name)
	case *ast.SelectorExpr:
		_, field := l.path(o)
		s := l.tree.Info.Selections[o]
		if !field && s == nil && l.tree.Info.Uses[o.Sel] != nil {
			return l.global(o.Sel, e.Sel.Name)
		}
		out := &ast.SelectorExpr{X: l.copy(e.X), Sel: ast.NewIdent(e.Sel.Name)}
		if u := l.tree.Info.Uses[o.Sel]; u != nil {
			l.hide(out.Sel, u, o.Sel.Pos())
		}
		return out
	}
	return &ast.SelectorExpr{X: l.copy(e.X), Sel: ast.NewIdent(e.Sel.Name)}
}

// natural returns the type that x := e would give x, nil if that is not certain.
func (l *loop) natural(e ast.Expr) types.Type {
	t := l.typeOf(e)
	if l.constant(e) != nil { // whose type in the tree is that of what it is used for
		tv, err := types.Eval(l.src.Fset, l.src.Pkg, token.NoPos, types.ExprString(e))
		if err != nil {
			return nil
		}
		t = tv.Type
	} else if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.SHL || b.Op == token.SHR) {
		return nil
	}
	if t == nil {
		return nil
	}
	return types.Default(t)
}

// typeExpr returns a type as the generated file writes it. pos is where the author
// wrote it.
func (l *loop) typeExpr(t types.Type, pos token.Pos) ast.Expr {
	e, err := parser.ParseExpr(l.typeName(t))
	if err != nil {
		l.bad(pos, fmt.Sprintf("the type %s cannot be written: %v", t, err))
		return ast.NewIdent("any")
	}
	secret := private(t, l.src.Pkg)
	for id := range tree.Nodes[*ast.Ident](e) {
		if id.NamePos = 0; secret != nil && id.Name == secret.Name() {
			l.hide(id, secret, pos)
		}
	}
	l.types[e] = t
	return e
}

// private returns a declared type that t is made of and a package cannot name, or
// nil.
func private(t types.Type, home *types.Package) *types.TypeName {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if o := t.Obj(); o.Pkg() != nil && o.Pkg() != home && !o.Exported() {
			return o
		}
		for arg := range t.TypeArgs().Types() {
			if o := private(arg, home); o != nil {
				return o
			}
		}
	case *types.Pointer:
		return private(t.Elem(), home)
	case *types.Slice:
		return private(t.Elem(), home)
	case *types.Array:
		return private(t.Elem(), home)
	case *types.Map:
		if o := private(t.Key(), home); o != nil {
			return o
		}
		return private(t.Elem(), home)
	}
	return nil
}

func (l *loop) typeName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == l.src.Pkg {
			return ""
		}
		return l.importName(p)
	})
}

// importName makes a package known to the generated file.
func (l *loop) importName(p *types.Package) string {
	if name, ok := l.imports[p.Path()]; ok {
		return name
	}
	name := p.Name()
	for n := 2; slices.Contains(slices.Collect(maps.Values(l.imports)), name) || l.src.Pkg.Scope().Lookup(name) != nil; n++ {
		name = fmt.Sprintf("%s%d", p.Name(), n)
	}
	l.imports[p.Path()] = name
	l.used[name] = true
	return name
}
