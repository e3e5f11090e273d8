package project

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/compile/analyze"
)

// frame is a call that is being read through.
type frame struct {
	analyze.Call
	up      *frame
	subst   map[types.Object]ast.Expr // parameters that stand for what they were given
	targets []target                  // what the results are given to
	after   string                    // where they are known, if they are the caller's
}

// target takes a result of a call that is read through.
type target struct {
	v      *variable // nil for a blank
	define bool      // the result declares it
}

// local is the variable of an object.
func (l *lowerer) local(fr *frame, o types.Object) *variable {
	for f := fr; ; f = f.up { // an object belongs to the innermost call of its function
		if f.up == nil || f.Decl.Pos() <= o.Pos() && o.Pos() < f.Decl.End() {
			fr = f
			break
		}
	}
	key := variableKey{o, fr.Place}
	v, ok := l.vars[key]
	if !ok {
		v = l.variable(o.Name(), fr.Subst(o.Type()))
		v.obj, v.call = o, fr.Place
		l.vars[key] = v
	}
	return v
}

type variableKey struct {
	obj  types.Object
	call string
}

func (l *lowerer) variable(name string, t types.Type) *variable {
	l.count++
	return &variable{id: l.count, name: name, typ: t, resource: -1}
}

// ref is a variable in an expression.
func (l *lowerer) ref(v *variable) *ast.Ident {
	id := ast.NewIdent(v.name)
	l.of[id] = v
	return id
}

// clone copies an expression of a frame, with parameters replaced, and names of
// other packages as the generated file has them.
func (l *lowerer) clone(fr *frame, e ast.Expr) ast.Expr {
	if e == nil {
		return nil
	}
	out := l.cloned(fr, e)
	if _, known := l.types[out]; !known {
		l.types[out] = fr.Subst(fr.Info.TypeOf(e))
	}
	if call, ok := e.(*ast.CallExpr); ok {
		l.callee[out.(*ast.CallExpr)] = fr.Callee(call)
	}
	return out
}

func (l *lowerer) cloned(fr *frame, e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.Ident:
		return l.ident(fr, e)
	case *ast.SelectorExpr:
		return l.selector(fr, e)
	case *ast.BasicLit:
		return &ast.BasicLit{Kind: e.Kind, Value: e.Value}
	case *ast.ParenExpr:
		return &ast.ParenExpr{X: l.clone(fr, e.X)}
	case *ast.CallExpr:
		return &ast.CallExpr{Fun: l.clone(fr, e.Fun), Args: l.clones(fr, e.Args), Ellipsis: e.Ellipsis}
	case *ast.CompositeLit:
		return l.literal(fr, e, l.clone)
	case *ast.KeyValueExpr:
		return &ast.KeyValueExpr{Key: l.clone(fr, e.Key), Value: l.clone(fr, e.Value)}
	case *ast.UnaryExpr:
		return &ast.UnaryExpr{Op: e.Op, X: l.clone(fr, e.X)}
	case *ast.BinaryExpr:
		return &ast.BinaryExpr{X: l.clone(fr, e.X), Op: e.Op, Y: l.clone(fr, e.Y)}
	case *ast.IndexExpr:
		return &ast.IndexExpr{X: l.clone(fr, e.X), Index: l.clone(fr, e.Index)}
	case *ast.IndexListExpr:
		return &ast.IndexListExpr{X: l.clone(fr, e.X), Indices: l.clones(fr, e.Indices)}
	case *ast.SliceExpr:
		return &ast.SliceExpr{X: l.clone(fr, e.X), Low: l.clone(fr, e.Low), High: l.clone(fr, e.High), Max: l.clone(fr, e.Max), Slice3: e.Slice3}
	case *ast.StarExpr:
		return &ast.StarExpr{X: l.clone(fr, e.X)}
	case *ast.TypeAssertExpr:
		return &ast.TypeAssertExpr{X: l.clone(fr, e.X), Type: l.clone(fr, e.Type)}
	case *ast.ArrayType, *ast.MapType, *ast.StructType, *ast.InterfaceType, *ast.FuncType:
		return l.typeExpr(fr.Subst(fr.Info.TypeOf(e)))
	}
	l.bad(e.Pos(), fmt.Sprintf("an expression of this kind (%T) cannot be taken apart", e))
	return ast.NewIdent("_")
}

func (l *lowerer) clones(fr *frame, list []ast.Expr) []ast.Expr {
	var out []ast.Expr
	for _, e := range list {
		out = append(out, l.clone(fr, e))
	}
	return out
}

// literal copies a composite literal, whose keys are no variables if it is a
// struct's.
func (l *lowerer) literal(fr *frame, e *ast.CompositeLit, value func(*frame, ast.Expr) ast.Expr) ast.Expr {
	out := &ast.CompositeLit{}
	t := fr.Subst(fr.Info.TypeOf(e))
	if e.Type != nil {
		out.Type = l.typeExpr(t)
	}
	l.types[out] = t
	for _, x := range e.Elts {
		kv, ok := x.(*ast.KeyValueExpr)
		switch {
		case ok && fieldsOf(t) != nil:
			out.Elts = append(out.Elts, &ast.KeyValueExpr{Key: ast.NewIdent(kv.Key.(*ast.Ident).Name), Value: value(fr, kv.Value)})
		case ok:
			out.Elts = append(out.Elts, &ast.KeyValueExpr{Key: l.clone(fr, kv.Key), Value: value(fr, kv.Value)})
		default:
			out.Elts = append(out.Elts, value(fr, x))
		}
	}
	return out
}

func (l *lowerer) ident(fr *frame, e *ast.Ident) ast.Expr {
	o := fr.Info.ObjectOf(e)
	switch o := o.(type) {
	case nil:
		return ast.NewIdent(e.Name)
	case *types.Var:
		if o.Pkg() == nil || o.Parent() == o.Pkg().Scope() || o.IsField() {
			return l.global(e, o)
		}
		if x, ok := fr.subst[o]; ok {
			return l.again(x)
		}
		return l.ref(l.local(fr, o))
	case *types.TypeName:
		if _, param := o.Type().(*types.TypeParam); param {
			return l.typeExpr(fr.Subst(o.Type()))
		}
		return l.global(e, o)
	case *types.Const, *types.Func:
		return l.global(e, o)
	}
	return ast.NewIdent(e.Name)
}

// global is a name of a package.
func (l *lowerer) global(e *ast.Ident, o types.Object) ast.Expr {
	if o.Pkg() == nil || o.Parent() != o.Pkg().Scope() {
		return ast.NewIdent(e.Name)
	}
	if o.Pkg() == l.src.Pkg {
		l.used[e.Name] = true
		return ast.NewIdent(e.Name)
	}
	if !o.Exported() {
		l.bad(e.Pos(), fmt.Sprintf("%s of package %s is not exported, so that a program of this package cannot use it; export it, or let one group own the whole function", o.Name(), o.Pkg().Path()))
	}
	return &ast.SelectorExpr{X: ast.NewIdent(l.importName(o.Pkg())), Sel: ast.NewIdent(o.Name())}
}

func (l *lowerer) selector(fr *frame, e *ast.SelectorExpr) ast.Expr {
	sel, ok := fr.Info.Selections[e]
	if !ok { // a qualified name
		return l.global(e.Sel, fr.Info.ObjectOf(e.Sel))
	}
	if o := sel.Obj(); !o.Exported() && o.Pkg() != l.src.Pkg {
		l.bad(e.Sel.Pos(), fmt.Sprintf("%s of package %s is not exported, so that a program of this package cannot use it; export it, or let one group own the whole function", o.Name(), o.Pkg().Path()))
	}
	out := &ast.SelectorExpr{X: l.clone(fr, e.X), Sel: ast.NewIdent(e.Sel.Name)}
	if sel.Kind() == types.FieldVal {
		l.paths[out] = fieldPath(sel)
	}
	l.types[out] = fr.Subst(fr.Info.TypeOf(e))
	return out
}

// fieldPath are the fields that a selection goes through, embedded ones included;
// empty where it goes through a pointer, behind which is no value.
func fieldPath(sel *types.Selection) string {
	var out []string
	t := sel.Recv()
	for _, i := range sel.Index() {
		s, ok := t.Underlying().(*types.Struct)
		if !ok {
			return ""
		}
		out = append(out, s.Field(i).Name())
		t = s.Field(i).Type()
	}
	return strings.Join(out, ".")
}

// again copies an expression that was copied before.
func (l *lowerer) again(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.Ident:
		if v, ok := l.of[e]; ok {
			return l.ref(v)
		}
		return ast.NewIdent(e.Name)
	case *ast.SelectorExpr:
		out := &ast.SelectorExpr{X: l.again(e.X), Sel: ast.NewIdent(e.Sel.Name)}
		if p, ok := l.paths[e]; ok {
			l.paths[out] = p
		}
		l.types[out] = l.types[e]
		return out
	case *ast.TypeAssertExpr:
		return &ast.TypeAssertExpr{X: l.again(e.X), Type: e.Type}
	}
	return e
}

// typeExpr is a type as the generated file writes it.
func (l *lowerer) typeExpr(t types.Type) ast.Expr {
	e, err := parser.ParseExpr(l.typeName(t))
	if err != nil {
		return ast.NewIdent("any")
	}
	return strip(e)
}

// strip takes positions away, which would break lines.
func strip(e ast.Expr) ast.Expr {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			n.NamePos = 0
		case *ast.SelectorExpr:
			n.Sel.NamePos = 0
		}
		return true
	})
	return e
}

func (l *lowerer) typeName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == l.src.Pkg {
			return ""
		}
		return l.importName(p)
	})
}

// importName makes a package known to the generated file.
func (l *lowerer) importName(p *types.Package) string {
	if name, ok := l.imports[p.Path()]; ok {
		return name
	}
	name := p.Name()
	for n := 2; slices.Contains(l.importNames(), name) || l.src.Pkg.Scope().Lookup(name) != nil; n++ {
		name = fmt.Sprintf("%s%d", p.Name(), n)
	}
	l.imports[p.Path()] = name
	l.used[name] = true
	return name
}

func (l *lowerer) importNames() (out []string) {
	for _, n := range l.imports {
		out = append(out, n)
	}
	return out
}
