package project

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/weft-rl/weft/internal/compile/analyze"
)

// inline reads a function of the author's as if its body stood at the call.
func (p *pieces) inline(call *ast.CallExpr, targets []target, after string) {
	l := p.l
	c, _ := l.src.Inlined(analyze.Place(p.fr.Place, call.Pos()))
	fr := &frame{Call: c, up: p.fr, subst: map[types.Object]ast.Expr{}, targets: targets, after: after}
	p.receiver(call, fr)
	p.params(call, fr)
	if len(targets) > 0 && count(c.Decl.Body) > 1 { // given a value in several places
		for i, t := range targets {
			if t.define {
				p.out = append(p.out, l.zero(p.fr, p.s, t.v))
				fr.targets[i].define = false
			}
		}
	}
	if c.Decl.Type.Results != nil {
		for _, f := range c.Decl.Type.Results.List {
			for _, name := range f.Names {
				if o := c.Info.Defs[name]; o != nil && name.Name != "_" && (mentioned(c.Decl.Body, c.Info, o) || bare(c.Decl.Body)) {
					p.out = append(p.out, l.zero(fr, c.Decl.Body.List[0], l.local(fr, o)))
				}
			}
		}
	}
	p.out = append(p.out, l.block(fr, c.Decl.Body.List)...)
}

// count is the number of returns.
func count(b *ast.BlockStmt) (n int) {
	ast.Inspect(b, func(x ast.Node) bool {
		if _, ok := x.(*ast.ReturnStmt); ok {
			n++
		}
		return true
	})
	return n
}

// mentioned reports whether a function uses a parameter or a result by its name.
func mentioned(b *ast.BlockStmt, info *types.Info, o types.Object) (yes bool) {
	ast.Inspect(b, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		yes = yes || ok && info.ObjectOf(id) == o
		return !yes
	})
	return yes
}

// bare reports whether a function returns what its named results hold.
func bare(b *ast.BlockStmt) (yes bool) {
	ast.Inspect(b, func(n ast.Node) bool {
		r, ok := n.(*ast.ReturnStmt)
		yes = yes || ok && len(r.Results) == 0
		return !yes
	})
	return yes
}

// receiver gives a method's receiver its value. Behind an interface it is what the
// constructor put there.
func (p *pieces) receiver(call *ast.CallExpr, fr *frame) {
	if fr.Decl.Recv == nil || len(fr.Decl.Recv.List[0].Names) == 0 {
		return
	}
	o := fr.Info.Defs[fr.Decl.Recv.List[0].Names[0]]
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if o == nil || !ok || o.Name() == "_" {
		return
	}
	e := p.flat(sel.X, false, o.Name())
	s, ok := p.fr.Info.Selections[sel]
	if ok && len(s.Index()) > 1 { // promoted from an embedded field
		e = p.embedded(e, s)
	}
	want := fr.Subst(o.Type())
	have := p.fr.Subst(p.fr.Info.TypeOf(sel.X))
	if ok && len(s.Index()) == 1 && types.IsInterface(have) && !types.IsInterface(want) {
		e = &ast.TypeAssertExpr{X: e, Type: p.l.typeExpr(want)}
	}
	p.bind(fr, o, e)
}

// embedded selects the fields through which a method was promoted.
func (p *pieces) embedded(e ast.Expr, s *types.Selection) ast.Expr {
	t := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] {
		pointer := false
		if ptr, ok := t.Underlying().(*types.Pointer); ok {
			t, pointer = ptr.Elem(), true
		}
		f := t.Underlying().(*types.Struct).Field(i)
		out := &ast.SelectorExpr{X: e, Sel: ast.NewIdent(f.Name())}
		if !pointer {
			p.l.paths[out] = f.Name()
		} else {
			p.l.paths[out] = ""
		}
		e, t = out, f.Type()
	}
	return e
}

func (p *pieces) params(call *ast.CallExpr, fr *frame) {
	at := 0
	for _, group := range fr.Decl.Type.Params.List {
		_, variadic := group.Type.(*ast.Ellipsis)
		for _, name := range group.Names {
			o := fr.Info.Defs[name]
			switch {
			case variadic:
				if o != nil && name.Name != "_" {
					p.variadic(call, fr, o, at)
				}
			case at < len(call.Args):
				e := p.flat(call.Args[at], false, name.Name)
				if o != nil && name.Name != "_" {
					p.bind(fr, o, e)
				}
			}
			at++
		}
		at += max(0, 1-len(group.Names))
	}
}

func (p *pieces) variadic(call *ast.CallExpr, fr *frame, o types.Object, at int) {
	if call.Ellipsis.IsValid() {
		p.bind(fr, o, p.flat(call.Args[at], false, o.Name()))
		return
	}
	t := fr.Subst(o.Type())
	lit := &ast.CompositeLit{Type: p.l.typeExpr(t)}
	p.l.types[lit] = t
	for _, a := range call.Args[at:] {
		lit.Elts = append(lit.Elts, p.flat(a, false, o.Name()))
	}
	p.bind(fr, o, lit)
}

// bind gives a parameter its value: one that only names something else stands for
// it, others become variables.
func (p *pieces) bind(fr *frame, o types.Object, e ast.Expr) {
	if p.l.stable(e) && !assigned(fr, o) {
		fr.subst[o] = e
		return
	}
	if !mentioned(fr.Decl.Body, fr.Info, o) {
		return
	}
	v := p.l.local(fr, o)
	first := analyze.Place(fr.Place, fr.Decl.Body.List[0].Pos()) + analyze.Before
	v.origin = func(path string) []analyze.Origin { return p.l.src.Origins(first, o, fr.Place, path) }
	if assigned(fr, o) {
		v.origin = nil
	}
	p.emit([]ast.Expr{p.l.ref(v)}, token.ASSIGN, []ast.Expr{e}, found{})
}

// stable reports whether an expression names the same thing as long as a call
// lasts: a variable of the caller's, or a field of one.
func (l *lowerer) stable(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return l.of[e] != nil
	case *ast.SelectorExpr:
		_, field := l.paths[e]
		return field && l.stable(e.X)
	}
	return false
}

// assigned reports whether a function changes its copy of a parameter.
func assigned(fr *frame, o types.Object) (yes bool) {
	is := func(e ast.Expr) bool {
		id := rootOf(e)
		return id != nil && fr.Info.ObjectOf(id) == o
	}
	ast.Inspect(fr.Decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				yes = yes || is(e)
			}
		case *ast.IncDecStmt:
			yes = yes || is(n.X)
		}
		return !yes
	})
	return yes
}
