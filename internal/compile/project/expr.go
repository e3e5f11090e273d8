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

// of returns the variable that an expression is, or nil.
func (l *loop) of(e ast.Expr) *variable { return l.vars[l.tree.Var(e)] }

// root returns the variable that a place is in, or nil.
func (l *loop) root(e ast.Expr) *variable { return l.of(tree.Base(e)) }

// typeOf returns the type of an expression, nil if it is not known.
func (l *loop) typeOf(e ast.Expr) types.Type {
	if v := l.of(e); v != nil {
		return v.typ
	}
	return l.tree.Info.TypeOf(e)
}

// constant returns the value of a constant expression, or nil.
func (l *loop) constant(e ast.Expr) constant.Value { return l.tree.Info.Types[e].Value }

// isType reports whether an expression is a type.
func (l *loop) isType(e ast.Expr) bool { return l.tree.Info.Types[e].IsType() }

// callee returns the declared function that a call names, or nil.
func (l *loop) callee(e *ast.CallExpr) *types.Func { return tree.Callee(l.tree.Info, e) }

// builtin returns the name of the builtin function that a call names, or nothing.
func (l *loop) builtin(e *ast.CallExpr) string { return tree.Builtin(l.tree.Info, e) }

// path returns the fields that a selector goes through, empty where it goes
// through a pointer, behind which is no value. field is false for a method and for
// a name of a package.
func (l *loop) path(e *ast.SelectorExpr) (path string, field bool) {
	fields := l.tree.Fields(e)
	if fields == nil {
		return "", false
	}
	t := l.typeOf(e.X)
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
func (l *loop) ref(v *variable) *ast.Ident { return l.tree.Ref(v.obj) }

// refer makes expressions that are variables.
func (l *loop) refer(list []*variable) (out []ast.Expr) {
	for _, v := range list {
		out = append(out, l.ref(v))
	}
	return out
}

// copy copies an expression, with names of packages as the generated file has them.
func (l *loop) copy(e ast.Expr) ast.Expr { return l.tree.Rewrite(e, l.named) }

func (l *loop) copies(list []ast.Expr) (out []ast.Expr) {
	for _, e := range list {
		out = append(out, l.copy(e))
	}
	return out
}

// named returns a type, or a name of a package, as the generated file has it; nil for anything
// else.
func (l *loop) named(e ast.Expr) ast.Expr {
	if l.isType(e) {
		return l.typeExpr(l.typeOf(e), e.Pos())
	}
	switch e := e.(type) {
	case *ast.Ident:
		return l.global(e)
	case *ast.SelectorExpr:
		o := l.tree.Info.Uses[e.Sel]
		if _, field := l.path(e); !field && l.tree.Info.Selections[e] == nil && o != nil {
			return l.global(e.Sel)
		} else if o != nil {
			l.hide(e.Sel, o, e.Sel.Pos())
		}
	case *ast.CompositeLit:
		out := tree.Shallow(e).(*ast.CompositeLit)
		for _, x := range tree.Parts(out) {
			*x = l.copy(*x)
		}
		l.unkeyed(out, l.typeOf(e), e.Pos())
		return out
	}
	return nil
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

// global returns a name of a package, or one that means the same everywhere.
func (l *loop) global(e *ast.Ident) ast.Expr {
	o, out := l.tree.Info.Uses[e], &ast.Ident{NamePos: e.NamePos, Name: e.Name}
	if o == nil || o.Pkg() == nil || o.Pkg() == l.src.Pkg {
		return out
	}
	l.hide(out, o, e.Pos())
	if l.tree.Info.Uses[out] = o; o.Parent() != o.Pkg().Scope() { // a field, as the key of a literal
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
