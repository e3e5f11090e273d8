package project

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
)

// blocks visits a block and all blocks inside it.
func blocks(b *tree.Block, f func(*tree.Block)) {
	f(b)
	for _, s := range *b {
		switch s := s.(type) {
		case *tree.Branch:
			for i := range s.Arms {
				blocks(&s.Arms[i].Body, f)
			}
		case *tree.Loop:
			blocks(&s.Body, f)
		case *tree.Call:
			blocks(&s.Body, f)
		}
	}
}

// renumber gives statements their numbers again, so that a tree with statements
// moved is still in form.
func renumber(p *tree.Program) {
	at := 0
	var number func(tree.Block)
	number = func(b tree.Block) {
		for _, s := range b {
			s.At().ID = at
			at++
			switch s := s.(type) {
			case *tree.Branch:
				for _, a := range s.Arms {
					number(a.Body)
				}
			case *tree.Loop:
				if s.Init != nil {
					at++
				}
				number(s.Body)
				if s.Post != nil {
					at++
				}
			case *tree.Call:
				number(s.Body)
			}
		}
	}
	number(p.Body)
	p.Stmts = at
}

// where names a statement.
func (b *bench) where(s tree.Stmt) string {
	at := b.src.Fset.Position(s.At().Pos)
	switch s := s.(type) {
	case *tree.Assign:
		return fmt.Sprintf("line %d: %s", at.Line, s.Text)
	case *tree.Branch:
		return fmt.Sprintf("line %d: %s", at.Line, s.Text)
	case *tree.Loop:
		return fmt.Sprintf("line %d: %s", at.Line, s.Text)
	}
	return fmt.Sprintf("line %d: %T", at.Line, s)
}

func (b *bench) assigns(f func(*tree.Assign)) {
	b.src.Tree.Body.Walk(func(s tree.Stmt) bool {
		if a, ok := s.(*tree.Assign); ok {
			f(a)
		}
		return true
	})
}

// lostEffects are writes of memory that an assignment no longer tells of.
func lostEffects(b *bench) (out []place) {
	b.assigns(func(a *tree.Assign) {
		if len(a.Shares) > 0 {
			out = append(out, spot("shares of "+b.where(a), func() { a.Shares = nil }))
		}
		if len(a.Fills) > 0 {
			p := spot("fills of "+b.where(a), func() { a.Fills, a.Shares = nil, nil })
			if call, ok := ast.Unparen(a.Rhs[0]).(*ast.CallExpr); ok && types.ExprString(call.Fun) == "append" && !b.sliced(b.src.Tree.Root(a.Fills[0])) {
				p.same = "behind the end"
			}
			out = append(out, p)
		}
	})
	return out
}

// lostStatements are statements of a kind that can be taken out of the tree.
func lostStatements(b *bench, lost func(tree.Stmt) bool) (out []place) {
	blocks(&b.src.Tree.Body, func(list *tree.Block) {
		for i, s := range *list {
			if lost(s) {
				p := spot(b.where(s), func() {
					*list = slices.Delete(slices.Clone(*list), i, i+1)
					renumber(b.src.Tree)
				})
				if a, ok := s.(*tree.Assign); ok {
					p.garble = func() { b.spoil(a) }
				}
				if j, ok := s.(*tree.Jump); ok {
					p.garble = func() { j.Tok = marked }
				}
				if b.trailing(s) {
					p.same = "nothing is skipped"
				}
				out = append(out, p)
			}
		}
	})
	return out
}

// marked is the token of a jump in whose place a program ends.
const marked = token.FALLTHROUGH

func lostAssigns(b *bench) []place {
	return lostStatements(b, func(s tree.Stmt) bool { a, ok := s.(*tree.Assign); return ok && a.Op == nil })
}

func lostJumps(b *bench) []place {
	return lostStatements(b, func(s tree.Stmt) bool { _, ok := s.(*tree.Jump); return ok })
}

func otherJumps(b *bench) (out []place) {
	b.src.Tree.Body.Walk(func(s tree.Stmt) bool {
		if j, ok := s.(*tree.Jump); ok {
			out = append(out, spot(b.where(j), func() {
				j.Tok = map[token.Token]token.Token{token.BREAK: token.CONTINUE, token.CONTINUE: token.BREAK}[j.Tok]
			}))
		}
		return true
	})
	return out
}

// inside visits all expressions of the tree.
func (b *bench) inside(f func(ast.Expr)) {
	eachExpr(b.src.Tree.Body, func(e ast.Expr) {
		ast.Inspect(e, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				f(e)
			}
			return true
		})
	})
}

var ordered = []token.Token{token.SUB, token.QUO, token.REM, token.LSS, token.LEQ, token.GTR, token.GEQ, token.SHL, token.SHR}

func swappedOperands(b *bench) (out []place) {
	b.inside(func(e ast.Expr) {
		if x, ok := e.(*ast.BinaryExpr); ok && slices.Contains(ordered, x.Op) && b.differ(x.X, x.Y) {
			p := spot(types.ExprString(x), func() { x.X, x.Y = x.Y, x.X })
			p.garble = func() { x.X, x.Y = b.spoiled(x.X), b.spoiled(x.Y) }
			out = append(out, p)
		}
	})
	return out
}

// differ reports whether two expressions are of one type and not written alike.
func (b *bench) differ(x, y ast.Expr) bool {
	info := b.src.Tree.Info
	return info.TypeOf(x) != nil && info.TypeOf(y) != nil && types.Identical(info.TypeOf(x), info.TypeOf(y)) && types.ExprString(x) != types.ExprString(y)
}

// swappedArguments are pairs of one type: arguments of a call, or fields of a
// literal.
func swappedArguments(b *bench) (out []place) {
	b.inside(func(e ast.Expr) {
		var list []*ast.Expr
		switch e := e.(type) {
		case *ast.CallExpr:
			for i := range e.Args {
				list = append(list, &e.Args[i])
			}
		case *ast.CompositeLit:
			for i, x := range e.Elts {
				if kv, ok := x.(*ast.KeyValueExpr); ok {
					list = append(list, &kv.Value)
				} else {
					list = append(list, &e.Elts[i])
				}
			}
		}
		for j := range list {
			for i := range j {
				if b.differ(*list[i], *list[j]) {
					p := spot(fmt.Sprintf("%d and %d of %s", i, j, types.ExprString(e)), func() { *list[i], *list[j] = *list[j], *list[i] })
					p.garble = func() { *list[i], *list[j] = b.spoiled(*list[i]), b.spoiled(*list[j]) }
					if lit, ok := e.(*ast.CompositeLit); ok && len(lit.Elts) == 2 && types.ExprString(lit.Type) == "[]rl.Tensor" {
						p.same = "two summands"
					}
					out = append(out, p)
				}
			}
		}
	})
	return out
}

// typed makes an expression known to the tree.
func (b *bench) typed(e ast.Expr, t types.Type) ast.Expr {
	b.src.Tree.Info.Types[e] = types.TypeAndValue{Type: t}
	return e
}

func negated(b *bench) (out []place) {
	b.src.Tree.Body.Walk(func(s tree.Stmt) bool {
		if x, ok := s.(*tree.Branch); ok && !x.Switch {
			p := spot(b.where(x), func() {
				t := b.src.Tree.Info.TypeOf(x.Cond)
				x.Cond = b.typed(&ast.UnaryExpr{Op: token.NOT, X: b.typed(&ast.ParenExpr{X: x.Cond}, t)}, t)
			})
			if b.computes(x) {
				p.garble = func() { b.spoilBehind(x) }
			}
			if b.barren(x) {
				p.same = "neither way leaves anything"
			}
			out = append(out, p)
		}
		return true
	})
	return out
}

// bounds are loops that go round once more, or once less.
func bounds(b *bench) (out []place) {
	b.src.Tree.Body.Walk(func(s tree.Stmt) bool {
		l, ok := s.(*tree.Loop)
		if !ok || l.Next {
			return true
		}
		if t := b.src.Tree.Info.TypeOf(l.Over); l.Range && isInteger(t) {
			p := spot(b.where(l), func() {
				one := b.typed(&ast.BasicLit{Kind: token.INT, Value: "1"}, t)
				l.Over = b.typed(&ast.BinaryExpr{X: l.Over, Op: token.ADD, Y: one}, t)
			})
			if b.idle(l) {
				p.same = "the mean of equal records"
			}
			if b.overwritten(l) {
				p.same = "written over"
			}
			out = append(out, p)
		}
		off := map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}
		if c, ok := l.Cond.(*ast.BinaryExpr); ok && off[c.Op] != 0 {
			out = append(out, spot(b.where(l), func() { c.Op = off[c.Op] }))
		}
		return true
	})
	return out
}

// otherVariables are assignments that go to another variable of the same type.
func otherVariables(b *bench) (out []place) {
	p := b.src.Tree
	b.assigns(func(a *tree.Assign) {
		for i, e := range a.Lhs {
			v := p.Var(e)
			if v == nil {
				continue
			}
			for _, w := range p.Vars {
				if w != v && w != p.Recv && !slices.Contains(p.Args, w) && types.Identical(v.Type(), w.Type()) {
					x := spot(b.where(a)+" to "+w.Name(), func() { a.Lhs[i] = p.Ref(w) })
					x.garble = func() { b.spoil(a, w) }
					out = append(out, x)
				}
			}
		}
	})
	return out
}

// exchanged are statements that depend on the one before them, and come before it.
func exchanged(b *bench) (out []place) {
	blocks(&b.src.Tree.Body, func(list *tree.Block) {
		for i := 1; i < len(*list); i++ {
			x, ok := (*list)[i-1].(*tree.Assign)
			y, ok2 := (*list)[i].(*tree.Assign)
			if ok && ok2 && b.dependent(x, y) {
				p := spot(b.where(x)+" and "+b.where(y), func() {
					(*list)[i-1], (*list)[i] = y, x
					renumber(b.src.Tree)
				})
				n, ok := b.src.Node(x)
				switch {
				case x.Op == nil && y.Op == nil:
					p.garble = func() {
						b.spoil(y)
						b.spoil(x)
					}
				case len(y.Lhs) == 0 && !(ok && len(b.g.Nodes[n].Writes) > 0): // only what x leaves in variables can differ
					p.garble = func() { b.spoil(x) }
				}
				out = append(out, p)
			}
		}
	})
	return out
}

// dependent reports whether an assignment reads or writes what another writes, or
// the graph has an edge between two operations.
func (b *bench) dependent(x, y *tree.Assign) bool {
	xr, xw := b.touched(x)
	yr, yw := b.touched(y)
	if meet(xw, yr) || meet(xw, yw) || meet(xr, yw) {
		return true
	}
	m, ok := b.src.Node(x)
	n, ok2 := b.src.Node(y)
	return ok && ok2 && x.Op != nil && y.Op != nil && slices.ContainsFunc(b.g.Edges, func(e fdg.Edge) bool { return e.From == m && e.To == n })
}

// touch is a variable, or a field of one.
type touch struct {
	v     *types.Var
	field string
}

// meet reports whether a place in one list is, or holds, one in the other.
func meet(x, y []touch) bool {
	return slices.ContainsFunc(x, func(a touch) bool {
		return slices.ContainsFunc(y, func(b touch) bool { return a.v == b.v && (a.field == "" || b.field == "" || a.field == b.field) })
	})
}

// touched returns the places that an assignment reads and those that it writes.
func (b *bench) touched(a *tree.Assign) (read, written []touch) {
	for _, e := range a.Rhs {
		read = append(read, b.within(e)...)
	}
	for _, e := range a.Lhs {
		if all := b.within(e); b.src.Tree.Root(e) != nil && len(all) > 0 {
			written, read = append(written, all[0]), append(read, all[1:]...)
		}
	}
	for _, e := range a.Fills {
		written = append(written, b.within(e)...)
	}
	return read, written
}

// within returns the variables in an expression, and the fields where it selects
// one.
func (b *bench) within(e ast.Expr) (out []touch) {
	p := b.src.Tree
	add := func(x ast.Expr, field string) bool {
		v := p.Var(x)
		if v != nil && v != p.Recv && !slices.Contains(p.Args, v) {
			out = append(out, touch{v, field})
		}
		return v != nil
	}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			return !add(n.X, n.Sel.Name)
		case *ast.Ident:
			add(n, "")
		}
		return true
	})
	return out
}
