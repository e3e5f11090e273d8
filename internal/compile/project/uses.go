package project

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/internal/compile/tree"
)

// uses adds what an expression reads, of whose value p is wanted.
func (l *loop) uses(e ast.Expr, p part, to live) {
	if e == nil || p.none() {
		return
	}
	switch e := e.(type) {
	case *ast.Ident:
		if v := l.of(e); v != nil && !v.fixed {
			to.add(v, p)
		}
	case *ast.SelectorExpr:
		l.selected(e, p, to)
	case *ast.ParenExpr:
		l.uses(e.X, p, to)
	case *ast.CompositeLit:
		l.literalUses(e, p, to)
	case *ast.IndexExpr:
		if p = p.under(element); !l.own(e) {
			p = whole
		}
		l.uses(e.X, p, to)
		l.uses(e.Index, whole, to)
	default:
		for _, x := range tree.Parts(e) {
			l.uses(*x, whole, to)
		}
	}
}

func (l *loop) usesAll(list []ast.Expr, to live) {
	for _, e := range list {
		l.uses(e, whole, to)
	}
}

// selected adds what a selector reads: of a struct the field alone.
func (l *loop) selected(e *ast.SelectorExpr, p part, to live) {
	path, field := l.path(e)
	if !field || path == "" { // a method, or behind a pointer
		l.uses(e.X, whole, to)
		return
	}
	l.uses(e.X, p.under(path), to)
}

func (l *loop) literalUses(e *ast.CompositeLit, p part, to live) {
	names, values := l.elements(e)
	for i, x := range values {
		l.uses(x, p.get(names[i]), to)
	}
	if names == nil {
		for _, x := range tree.Parts(e) {
			l.uses(*x, whole, to)
		}
	}
}

// elements returns the values in a struct's literal, and the names of their fields;
// none of any other expression.
func (l *loop) elements(e ast.Expr) (names []string, values []ast.Expr) {
	lit, ok := ast.Unparen(e).(*ast.CompositeLit)
	fields := tree.StructFields(l.typeOf(e))
	if !ok || fields == nil {
		return nil, nil
	}
	for i, x := range lit.Elts {
		name := fields[i].Name()
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			name, x = kv.Key.(*ast.Ident).Name, kv.Value
		}
		names, values = append(names, name), append(values, x)
	}
	return names, values
}

// wants returns what an action reads, where out is what is wanted after it. What
// every group computes for itself is computed as far as it is wanted.
func (l *loop) wants(a *action, out live) live {
	in := live{}
	for _, e := range a.Lhs { // indices, and what is changed in part
		l.placeUses(e, in)
	}
	if a.owner != everywhere || len(a.Rhs) != len(a.Lhs) || len(a.Fills) > 0 {
		l.usesAll(a.Rhs, in)
	} else {
		for i, e := range a.Rhs {
			p, d := a.wanted(i, out), a.defs[i]
			l.every = d.weak && (out[d.v].none() || out[d.v].all()) // all elements are wanted, not a member's alone
			l.uses(e, p, in)
			l.every = false
		}
	}
	if a.Tok != token.ASSIGN && a.Tok != token.VAR {
		l.usesAll(a.Lhs, in)
	}
	for _, v := range a.reads {
		in.add(v, whole)
	}
	return in
}

// placeUses adds what an assignment to a place reads: writing an element needs the
// slice and the index.
func (l *loop) placeUses(e ast.Expr, in live) {
	switch e := ast.Unparen(e).(type) {
	case *ast.IndexExpr, *ast.StarExpr:
		l.uses(e, whole, in)
	case *ast.SelectorExpr:
		if path, _ := l.path(e); path == "" { // behind a pointer
			l.uses(e.X, whole, in)
		} else {
			l.placeUses(e.X, in)
		}
	}
}

// open returns the fields of a struct that a program of the package may name, none if
// it may not name all of them.
func (l *loop) open(t types.Type) []*types.Var {
	fields := tree.StructFields(t)
	for _, f := range fields {
		if !f.Exported() && f.Pkg() != l.src.Pkg {
			return nil
		}
	}
	return fields
}

// typeAt returns the type of the field at a path.
func typeAt(t types.Type, path string) types.Type {
	if path == "" {
		return t
	}
	head, rest, _ := strings.Cut(path, ".")
	if head == element {
		return typeAt(tree.Element(t), rest)
	}
	if f := fieldNamed(t, head); f != nil {
		return typeAt(f.Type(), rest)
	}
	return nil
}

// fieldNamed returns a field of a struct, or nil.
func fieldNamed(t types.Type, name string) *types.Var {
	for _, f := range tree.StructFields(t) {
		if f.Name() == name {
			return f
		}
	}
	return nil
}

// origins returns what a part of a variable may hold before or behind a statement.
func (l *loop) origins(s tree.Stmt, after bool, v *variable, path string) []analyze.Origin {
	if v.obj == nil {
		return nil
	}
	return l.src.Origins(s, after, v.obj, strings.Trim(strings.ReplaceAll("."+path+".", "."+element, ""), "."))
}
