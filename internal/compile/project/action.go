package project

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
)

// emit adds an action.
func (p *pieces) emit(lhs []ast.Expr, tok token.Token, rhs []ast.Expr, f found) {
	l := p.l
	a := &action{site: p.site(), lhs: lhs, tok: tok, rhs: rhs, nodes: f.nodes, owner: everywhere, call: f.calls, fn: f.fn}
	for _, o := range f.owners {
		a.owner = o
	}
	for _, e := range lhs {
		a.defs = append(a.defs, l.defOf(e))
	}
	for _, id := range f.nodes {
		n := l.g.Nodes[id]
		for _, r := range n.Reads {
			if v := l.resource(r); v != nil && !slices.Contains(a.reads, v) {
				a.reads = append(a.reads, v)
			}
		}
		for _, r := range n.Writes {
			if v := l.resource(r); v != nil {
				a.defs = append(a.defs, def{v: v, weak: l.g.Resources[r].Family})
			}
		}
	}
	if len(f.owners) > 1 {
		l.bad(p.s.Pos(), fmt.Sprintf("%s stands where %s and %s have a part, and cannot be taken apart", l.g.Nodes[f.nodes[0]].Text, l.groups[f.owners[0]].Name, l.groups[f.owners[1]].Name))
	}
	p.out = append(p.out, a)
}

// resource is the variable of a copyable component's state, or nil.
func (l *lowerer) resource(r int) *variable {
	if l.g.Resources[r].Sharing != fdg.Copyable {
		return nil
	}
	v, ok := l.resources[r]
	if !ok {
		v = l.variable(l.g.Resources[r].Name, nil)
		v.resource = r
		l.resources[r] = v
	}
	return v
}

// defOf is what an assignment to an expression gives a value.
func (l *lowerer) defOf(e ast.Expr) def {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return def{v: l.of[e]}
	case *ast.SelectorExpr:
		d := l.defOf(e.X)
		if d.v != nil && !d.weak {
			d.path = strings.TrimPrefix(d.path+"."+l.paths[e], ".")
		}
		return d
	case *ast.IndexExpr:
		d := l.defOf(e.X)
		d.weak = true
		return d
	}
	return def{}
}
