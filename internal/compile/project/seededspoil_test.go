package project

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
)

// spoiled makes an expression that is garbage of another one's type.
func (b *bench) spoiled(e ast.Expr) ast.Expr {
	name := "Spoiled"
	switch b.src.Tree.Info.TypeOf(e).String() {
	case "float64":
		name = "SpoiledFloat"
	case "int":
		name = "SpoiledInt"
	}
	fun := &ast.SelectorExpr{X: ast.NewIdent("fault"), Sel: ast.NewIdent(name)}
	return b.typed(&ast.CallExpr{Fun: fun, Args: []ast.Expr{e}}, b.src.Tree.Info.TypeOf(e))
}

// spoil puts garbage into what an assignment writes, and into further variables,
// behind it.
func (b *bench) spoil(s *tree.Assign, more ...*types.Var) {
	p := b.src.Tree
	var places []ast.Expr
	for _, e := range s.Lhs {
		if p.Root(e) != nil {
			places = append(places, e)
		}
	}
	for _, v := range more {
		places = append(places, p.Ref(v))
	}
	found := false
	blocks(&p.Body, func(list *tree.Block) {
		i := slices.Index(*list, tree.Stmt(s))
		if i < 0 {
			return
		}
		found = true
		for _, e := range places {
			a := &tree.Assign{Site: s.Site, Tok: token.ASSIGN, Lhs: []ast.Expr{p.Copy(e)}, Rhs: []ast.Expr{b.spoiled(p.Copy(e))}, Text: "garbage"}
			*list = slices.Insert(slices.Clone(*list), i+1, tree.Stmt(a))
		}
	})
	if !found || len(places) == 0 {
		panic(errNowhere)
	}
	renumber(p)
}

// spoilBehind puts garbage behind a statement into all variables that are written
// inside it and mentioned outside.
func (b *bench) spoilBehind(s tree.Stmt) {
	p, inside := b.src.Tree, b.mentions(tree.Block{s})
	if a, ok := s.(*tree.Assign); ok {
		b.spoil(a)
		return
	}
	all, written := b.mentions(p.Body), []*types.Var{}
	tree.Block{s}.Walk(func(s tree.Stmt) bool {
		if a, ok := s.(*tree.Assign); ok {
			for _, e := range append(slices.Clone(a.Lhs), a.Fills...) {
				if v := p.Root(e); v != nil && inside[v] < all[v] && !slices.Contains(written, v) {
					written = append(written, v)
				}
			}
		}
		return true
	})
	blocks(&p.Body, func(list *tree.Block) {
		if i := slices.Index(*list, s); i >= 0 {
			for _, v := range written {
				a := &tree.Assign{Site: *s.At(), Tok: token.ASSIGN, Lhs: []ast.Expr{p.Ref(v)}, Rhs: []ast.Expr{b.spoiled(p.Ref(v))}, Text: "garbage"}
				*list = slices.Insert(slices.Clone(*list), i+1, tree.Stmt(a))
			}
		}
	})
	renumber(p)
}

// computes reports whether a statement leaves nothing but values of variables: it
// changes no component, logs nothing and does not jump.
func (b *bench) computes(s tree.Stmt) bool {
	yes := !exits(s)
	tree.Block{s}.Walk(func(s tree.Stmt) bool {
		n, ok := b.src.Node(s)
		yes = yes && !(ok && (len(b.g.Nodes[n].Writes) > 0 || b.g.Nodes[n].Kind == fdg.Log))
		return yes
	})
	return yes
}

// numbered returns the statement with a number.
func (b *bench) numbered(id int) (out tree.Stmt) {
	b.src.Tree.Body.Walk(func(s tree.Stmt) bool {
		if s.At().ID == id && out == nil {
			out = s
		}
		return true
	})
	return out
}

// trailing reports whether a statement is a continue behind which its loop has
// nothing.
func (b *bench) trailing(s tree.Stmt) (yes bool) {
	j, ok := s.(*tree.Jump)
	if !ok || j.Tok != token.CONTINUE {
		return false
	}
	b.src.Tree.Body.Walk(func(s tree.Stmt) bool {
		l, ok := s.(*tree.Loop)
		yes = yes || ok && closes(l.Body, j)
		return true
	})
	return yes
}

// closes reports whether a block may end with a jump.
func closes(list tree.Block, j *tree.Jump) bool {
	if len(list) == 0 {
		return false
	}
	switch s := list[len(list)-1].(type) {
	case *tree.Jump:
		return s == j
	case *tree.Branch:
		return slices.ContainsFunc(s.Arms, func(a tree.Arm) bool { return closes(a.Body, j) })
	}
	return false
}

// idle reports whether one round of a loop is like another, and all that it leaves
// are records: a run shows the mean of those with one name.
func (b *bench) idle(l *tree.Loop) bool {
	yes := l.Key == nil
	l.Body.Walk(func(s tree.Stmt) bool {
		switch s := s.(type) {
		case *tree.Assign:
			n, ok := b.src.Node(s)
			yes = yes && !(ok && len(b.g.Nodes[n].Writes) > 0) && len(s.Fills) == 0
			for _, e := range s.Lhs {
				v := b.src.Tree.Var(e)
				yes = yes && v != nil && (s.Define || b.src.Tree.Temps[v])
			}
		case *tree.Return:
			yes = false
		}
		return yes
	})
	return yes
}

// overwritten reports whether all that a further round of a loop does is to write an
// element of a slice that the statement behind the loop writes again.
func (b *bench) overwritten(l *tree.Loop) (yes bool) {
	element := func(s tree.Stmt) (of, at string) {
		if a, ok := s.(*tree.Assign); ok && len(a.Lhs) == 1 && a.Tok == token.ASSIGN {
			if x, ok := a.Lhs[0].(*ast.IndexExpr); ok {
				return types.ExprString(x.X), types.ExprString(x.Index)
			}
		}
		return "", ""
	}
	blocks(&b.src.Tree.Body, func(list *tree.Block) {
		i := slices.Index(*list, tree.Stmt(l))
		if i < 0 || i+1 >= len(*list) || len(l.Body) != 1 || l.Key == nil {
			return
		}
		of, at := element(l.Body[0])
		again, where := element((*list)[i+1])
		yes = of != "" && of == again && at == l.Key.Name() && where == types.ExprString(l.Over)
	})
	return yes
}

// sliced reports whether a variable that may share memory with v is cut anywhere.
func (b *bench) sliced(v *types.Var) (yes bool) {
	class := b.src.Tree.Class(v)
	b.inside(func(e ast.Expr) {
		x, ok := e.(*ast.SliceExpr)
		yes = yes || ok && slices.Contains(class, b.src.Tree.Root(x.X))
	})
	return yes
}

// barren reports whether a branch, and all that a jump in it skips, leaves nothing:
// no record, no component changed, and no variable that anything else reads.
func (b *bench) barren(x *tree.Branch) (yes bool) {
	blocks(&b.src.Tree.Body, func(list *tree.Block) {
		i := slices.Index(*list, tree.Stmt(x))
		if i < 0 {
			return
		}
		region := (*list)[i : i+1]
		if exits(x) {
			region = (*list)[i:]
		}
		yes = b.leavesNothing(region) && (!exits(x) || b.isBody(list))
	})
	return yes
}

// isBody reports whether a block is the body of a loop.
func (b *bench) isBody(list *tree.Block) (yes bool) {
	b.src.Tree.Body.Walk(func(s tree.Stmt) bool {
		l, ok := s.(*tree.Loop)
		yes = yes || ok && &l.Body == list
		return true
	})
	return yes
}

func (b *bench) leavesNothing(region tree.Block) bool {
	inside, all, yes := b.mentions(region), b.mentions(b.src.Tree.Body), true
	region.Walk(func(s tree.Stmt) bool {
		switch s := s.(type) {
		case *tree.Assign:
			if n, ok := b.src.Node(s); ok && (len(b.g.Nodes[n].Writes) > 0 || b.g.Nodes[n].Kind == fdg.Log) {
				yes = false
			}
			for _, e := range append(slices.Clone(s.Lhs), s.Fills...) {
				v := b.src.Tree.Root(e)
				yes = yes && v != nil && inside[v] == all[v]
			}
		case *tree.Jump:
			yes = yes && s.Tok == token.CONTINUE
		case *tree.Return:
			yes = false
		}
		return yes
	})
	return yes
}

// mentions counts how often statements mention variables.
func (b *bench) mentions(list tree.Block) map[*types.Var]int {
	out := map[*types.Var]int{}
	eachExpr(list, func(e ast.Expr) {
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && b.src.Tree.Var(id) != nil {
				out[b.src.Tree.Var(id)]++
			}
			return true
		})
	})
	return out
}
