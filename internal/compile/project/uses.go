package project

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
)

// uses adds what an expression reads, of whose value p is wanted.
func (l *lowerer) uses(e ast.Expr, p *part, to live) {
	if e == nil || p.none() {
		return
	}
	switch e := e.(type) {
	case *ast.Ident:
		if v := l.of[e]; v != nil && !v.fixed {
			to.add(v, p)
		}
	case *ast.SelectorExpr:
		l.selected(e, p, to)
	case *ast.ParenExpr:
		l.uses(e.X, p, to)
	case *ast.CompositeLit:
		l.literalUses(e, p, to)
	case *ast.CallExpr:
		l.uses(e.Fun, whole, to)
		for _, a := range e.Args {
			l.uses(a, whole, to)
		}
	case *ast.KeyValueExpr:
		l.uses(e.Value, p, to)
	case *ast.UnaryExpr:
		l.uses(e.X, whole, to)
	case *ast.BinaryExpr:
		l.uses(e.X, whole, to)
		l.uses(e.Y, whole, to)
	case *ast.IndexExpr:
		if l.own(e) {
			l.uses(e.X, p.under(element), to)
		} else {
			l.uses(e.X, whole, to)
		}
		l.uses(e.Index, whole, to)
	case *ast.SliceExpr:
		for _, x := range []ast.Expr{e.X, e.Low, e.High, e.Max} {
			if x != nil {
				l.uses(x, whole, to)
			}
		}
	case *ast.StarExpr:
		l.uses(e.X, whole, to)
	case *ast.TypeAssertExpr:
		l.uses(e.X, whole, to)
	}
}

// selected: a field of a struct is that field alone.
func (l *lowerer) selected(e *ast.SelectorExpr, p *part, to live) {
	path, field := l.paths[e]
	if !field || path == "" { // a method, or behind a pointer
		l.uses(e.X, whole, to)
		return
	}
	l.uses(e.X, p.under(path), to)
}

func (l *lowerer) literalUses(e *ast.CompositeLit, p *part, to live) {
	fields := fieldsOf(l.types[e])
	for i, x := range e.Elts {
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			if fields == nil {
				l.uses(kv.Key, whole, to)
				l.uses(kv.Value, whole, to)
			} else {
				l.uses(kv.Value, p.field(kv.Key.(*ast.Ident).Name), to)
			}
			continue
		}
		if fields == nil {
			l.uses(x, whole, to)
		} else {
			l.uses(x, p.field(fields[i].Name()), to)
		}
	}
}

// wants are what an action reads, where out is what is wanted after it. What one
// group computes for itself is computed as far as it is wanted.
func (l *lowerer) wants(a *action, out live) live {
	in := live{}
	for _, e := range a.lhs { // indices, and what is changed in part
		l.lhsUses(e, out, in)
	}
	switch {
	case a.owner != everywhere:
		for _, e := range a.rhs {
			l.uses(e, whole, in)
		}
		if a.call {
			in = l.refined(a, in, out)
		}
	case len(a.rhs) == len(a.lhs):
		for i, e := range a.rhs {
			d := a.defs[i]
			if d.v != nil {
				p := out[d.v].get(d.path)
				if d.weak {
					p = out[d.v]
				}
				if d.weak && !p.none() {
					l.every = p.all // all elements are wanted, not a member's alone
					p = whole
				}
				l.uses(e, p, in)
				l.every = false
			}
		}
	default:
		for _, e := range a.rhs {
			l.uses(e, whole, in)
		}
	}
	if a.tok != token.ASSIGN && a.tok != token.DEFINE && a.tok != token.ILLEGAL {
		for _, e := range a.lhs {
			l.uses(e, whole, in)
		}
	}
	for _, v := range a.reads {
		in.add(v, whole)
	}
	return in
}

// lhsUses: writing an element needs the slice and the index.
func (l *lowerer) lhsUses(e ast.Expr, out, in live) {
	switch e := e.(type) {
	case *ast.IndexExpr:
		if l.own(e) {
			l.uses(e.X, at(element), in)
		} else {
			l.uses(e.X, whole, in)
		}
		l.uses(e.Index, whole, in)
	case *ast.SelectorExpr:
		l.lhsUses(e.X, out, in)
	}
}

// refined: of what a function of the author's is given, only those fields are
// wanted that its operations use, that it returns, or that no operation made.
func (l *lowerer) refined(a *action, in, wanted live) live {
	var back []analyze.Origin
	for _, d := range a.defs {
		if d.v == nil || d.v.resource >= 0 {
			continue
		}
		for _, path := range wanted[d.v].and(at(d.path)).paths() {
			back = append(back, l.origins(d.v, path, a.after)...)
		}
	}
	out := live{}
	for v, p := range in {
		if v.resource >= 0 || !l.src.IsBatch(v.typ) {
			out.add(v, p)
			continue
		}
		for _, path := range p.paths() {
			out.add(v, l.touched(a, v, path, back).under(path))
		}
	}
	return out
}

// touched is what an action's nodes use of a part of a variable.
func (l *lowerer) touched(a *action, v *variable, path string, back []analyze.Origin) *part {
	t := typeAt(v.typ, path)
	if fields := l.open(t); fields != nil {
		out := &part{sub: map[string]*part{}}
		all := true
		for _, f := range fields {
			p := l.touched(a, v, strings.TrimPrefix(path+"."+f.Name(), "."), back)
			if !p.none() {
				out.sub[f.Name()] = p
			}
			all = all && p != nil && p.all
		}
		if all {
			return whole
		}
		return out
	}
	origins := l.origins(v, path, a.before)
	if len(origins) == 0 {
		return whole
	}
	for _, o := range origins {
		if slices.ContainsFunc(back, func(b analyze.Origin) bool { return b.Node == o.Node && overlap(b.Part, o.Part) }) {
			return whole
		}
		for _, e := range l.g.Edges {
			if e.Kind == fdg.OfResource || e.From != o.Node || !overlap(e.Part, o.Part) {
				continue
			}
			for _, n := range a.nodes {
				if e.To == n {
					return whole
				}
			}
		}
	}
	return nil
}

// overlap reports whether one path leads through the other.
func overlap(a, b string) bool {
	return a == b || a == "" || b == "" || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}

// open are the fields of a struct that a program of the package may name, none if
// it may not name all of them.
func (l *lowerer) open(t types.Type) []*types.Var {
	fields := fieldsOf(t)
	for _, f := range fields {
		if !f.Exported() && f.Pkg() != l.src.Pkg {
			return nil
		}
	}
	return fields
}

// typeAt is the type of the field at a path.
func typeAt(t types.Type, path string) types.Type {
	if path == "" {
		return t
	}
	head, rest, _ := strings.Cut(path, ".")
	if s, ok := t.Underlying().(*types.Slice); ok && head == element {
		return typeAt(s.Elem(), rest)
	}
	for _, f := range fieldsOf(t) {
		if f.Name() == head {
			return typeAt(f.Type(), rest)
		}
	}
	return nil
}

// origins are what a part of a variable may hold at a point.
func (l *lowerer) origins(v *variable, path, point string) []analyze.Origin {
	path = strings.Trim(strings.ReplaceAll("."+path+".", "."+element, ""), ".")
	if v.origin != nil {
		return v.origin(path)
	}
	return l.src.Origins(point, v.obj, v.call, path)
}
