package project

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

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

// where names a statement.
func (b *bench) where(s tree.Stmt) string {
	text := fmt.Sprintf("%T", s)
	switch s := s.(type) {
	case *tree.Assign:
		text = s.Text
	case *tree.Branch:
		text = s.Text
	case *tree.Loop:
		text = s.Text
	}
	return fmt.Sprintf("line %d: %s", b.src.Fset.Position(s.At().Pos).Line, text)
}

// statements visits the statements of a type.
func statements[S tree.Stmt](b *bench, f func(S)) {
	b.src.Tree.Body.Walk(func(s tree.Stmt) bool {
		if x, ok := s.(S); ok {
			f(x)
		}
		return true
	})
}

// lostEffects lists faults: writes of memory that an assignment no longer tells of.
func lostEffects(b *bench) (out []place) {
	statements(b, func(a *tree.Assign) {
		if len(a.Shares) > 0 {
			out = append(out, place{"shares of " + b.where(a), func() { a.Shares = nil }})
		}
		if len(a.Fills) > 0 {
			out = append(out, place{"fills of " + b.where(a), func() { a.Fills, a.Shares = nil, nil }})
		}
	})
	return out
}

// lostStatements lists faults: statements of a kind that can be taken out of the tree.
func (b *bench) lostStatements(lost func(tree.Stmt) bool) (out []place) {
	blocks(&b.src.Tree.Body, func(list *tree.Block) {
		for i, s := range *list {
			if lost(s) {
				out = append(out, place{b.where(s), func() {
					*list = slices.Delete(slices.Clone(*list), i, i+1)
				}})
			}
		}
	})
	return out
}

// lostAssigns lists faults: assignments that are left out, of operations or of others.
func lostAssigns(ops bool) func(*bench) []place {
	return func(b *bench) []place {
		return b.lostStatements(func(s tree.Stmt) bool { a, ok := s.(*tree.Assign); return ok && (a.Op != nil) == ops })
	}
}

// lostJumps lists faults: jumps that are left out.
func lostJumps(b *bench) []place {
	return b.lostStatements(func(s tree.Stmt) bool { _, ok := s.(*tree.Jump); return ok })
}

// otherJumps lists faults: jumps to the other end of a loop.
func otherJumps(b *bench) (out []place) {
	other := map[token.Token]token.Token{token.BREAK: token.CONTINUE, token.CONTINUE: token.BREAK}
	statements(b, func(j *tree.Jump) { out = append(out, place{b.where(j), func() { j.Tok = other[j.Tok] }}) })
	return out
}

// inside visits all expressions of the tree.
func (b *bench) inside(f func(ast.Expr)) {
	for e := range tree.ExprNodes[ast.Expr](b.src.Tree.Body) {
		f(e)
	}
}

var ordered = []token.Token{token.SUB, token.QUO, token.REM, token.LSS, token.LEQ, token.GTR, token.GEQ, token.SHL, token.SHR}

// swappedOperands lists faults: operations whose operands cannot change places.
func swappedOperands(b *bench) (out []place) {
	b.inside(func(e ast.Expr) {
		if x, ok := e.(*ast.BinaryExpr); ok && slices.Contains(ordered, x.Op) && b.differ(x.X, x.Y) {
			out = append(out, place{types.ExprString(x), func() { x.X, x.Y = x.Y, x.X }})
		}
	})
	return out
}

// differ reports whether two expressions are of one type and not written alike.
func (b *bench) differ(x, y ast.Expr) bool {
	info := b.src.Tree.Info
	return info.TypeOf(x) != nil && info.TypeOf(y) != nil && types.Identical(info.TypeOf(x), info.TypeOf(y)) && types.ExprString(x) != types.ExprString(y)
}

// swappedArguments lists faults: pairs of one type: arguments of a call, or fields of a
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
					out = append(out, place{fmt.Sprintf("%d and %d of %s", i, j, types.ExprString(e)), func() { *list[i], *list[j] = *list[j], *list[i] }})
				}
			}
		}
	})
	return out
}

// otherKeys lists faults: keys of draws that have another name or lack an index.
func otherKeys(b *bench) (out []place) {
	b.inside(func(e ast.Expr) {
		call, ok := e.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 || !strings.HasSuffix(types.ExprString(call.Fun), ".Key") {
			return
		}
		if name, ok := call.Args[0].(*ast.BasicLit); ok {
			out = append(out, place{"name of " + types.ExprString(call), func() {
				call.Args[0] = b.typed(&ast.BasicLit{Kind: token.STRING, Value: name.Value[:len(name.Value)-1] + `?"`}, types.Typ[types.String])
			}})
		}
		if n := len(call.Args); n > 1 {
			out = append(out, place{"last index of " + types.ExprString(call), func() { call.Args = call.Args[:n-1] }})
		}
	})
	return out
}

// typed makes an expression known to the tree.
func (b *bench) typed(e ast.Expr, t types.Type) ast.Expr {
	b.src.Tree.Info.Types[e] = types.TypeAndValue{Type: t}
	return e
}

// negated lists faults: conditions that are inverted.
func negated(b *bench) (out []place) {
	statements(b, func(x *tree.Branch) {
		if x.Cond != nil {
			out = append(out, place{b.where(x), func() {
				t := b.src.Tree.Info.TypeOf(x.Cond)
				x.Cond = b.typed(&ast.UnaryExpr{Op: token.NOT, X: b.typed(&ast.ParenExpr{X: x.Cond}, t)}, t)
			}})
		}
	})
	return out
}

// bounds lists faults: loops that go round once more, or once less.
func bounds(b *bench) (out []place) {
	off := map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}
	statements(b, func(l *tree.Loop) {
		if l.Next {
			return
		}
		if t := b.src.Tree.Info.TypeOf(l.Over); l.Range && isInteger(t) {
			out = append(out, place{b.where(l), func() {
				one := b.typed(&ast.BasicLit{Kind: token.INT, Value: "1"}, t)
				l.Over = b.typed(&ast.BinaryExpr{X: l.Over, Op: token.ADD, Y: one}, t)
			}})
		}
		if c, ok := l.Cond.(*ast.BinaryExpr); ok && off[c.Op] != 0 {
			out = append(out, place{b.where(l), func() { c.Op = off[c.Op] }})
		}
	})
	return out
}

// otherVariables lists faults: assignments that go to another variable of the same type.
func otherVariables(b *bench) (out []place) {
	p := b.src.Tree
	statements(b, func(a *tree.Assign) {
		for i, e := range a.Lhs {
			v := p.Var(e)
			if v == nil {
				continue
			}
			for _, w := range p.Vars {
				if w != v && w != p.Recv && !slices.Contains(p.Args, w) && types.Identical(v.Type(), w.Type()) {
					out = append(out, place{b.where(a) + " to " + w.Name(), func() { a.Lhs[i] = p.Ref(w) }})
				}
			}
		}
	})
	return out
}

// exchanged lists faults: statements that depend on the one before them, and come before it.
func exchanged(b *bench) (out []place) {
	blocks(&b.src.Tree.Body, func(list *tree.Block) {
		for i := 1; i < len(*list); i++ {
			x, ok := (*list)[i-1].(*tree.Assign)
			y, ok2 := (*list)[i].(*tree.Assign)
			if ok && ok2 && b.dependent(x, y) {
				out = append(out, place{b.where(x) + " and " + b.where(y), func() {
					(*list)[i-1], (*list)[i] = y, x
				}})
			}
		}
	})
	return out
}

// dependent reports whether an assignment reads what another writes to, or the graph
// has an edge between two operations.
func (b *bench) dependent(x, y *tree.Assign) bool {
	p := b.src.Tree
	for _, l := range x.Lhs {
		v, path := p.Path(l)
		for _, e := range y.Rhs {
			found := false
			ast.Inspect(e, func(n ast.Node) bool {
				if r, ok := n.(ast.Expr); ok && v != nil {
					w, at := p.Path(r)
					found = found || w == v && (strings.HasPrefix(at, path) || strings.HasPrefix(path, at))
					return w == nil
				}
				return true
			})
			if found {
				return true
			}
		}
	}
	m, ok := b.src.Node(x)
	n, ok2 := b.src.Node(y)
	return ok && ok2 && x.Op != nil && y.Op != nil && slices.ContainsFunc(b.g.Edges, func(e fdg.Edge) bool { return e.From == m && e.To == n })
}
