package project

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/plan"
)

// lowerer reads the loop into the tree, for one grouping: a statement in which one
// group alone has a part stays as the author wrote it; others are taken apart.
type lowerer struct {
	src    *analyze.Source
	g      *fdg.Graph
	groups []plan.Group
	group  map[string]int // of a fragment

	vars      map[variableKey]*variable
	resources map[int]*variable
	of        map[*ast.Ident]*variable
	paths     map[*ast.SelectorExpr]string
	types     map[ast.Expr]types.Type
	callee    map[*ast.CallExpr]*types.Func
	imports   map[string]string // path to name
	used      map[string]bool   // names that mean something of a package
	count     int               // of variables
	sites     int
	every     bool // no element of a slice is a member's own
	device    bool // the loop becomes a device program
	out       *findings
}

func newLowerer(src *analyze.Source, g *fdg.Graph, grouping plan.Grouping, out *findings) *lowerer {
	l := &lowerer{
		src: src, g: g, groups: grouping.Groups, group: map[string]int{}, vars: map[variableKey]*variable{},
		resources: map[int]*variable{}, of: map[*ast.Ident]*variable{}, paths: map[*ast.SelectorExpr]string{},
		types: map[ast.Expr]types.Type{}, callee: map[*ast.CallExpr]*types.Func{}, imports: map[string]string{}, used: map[string]bool{}, out: out,
	}
	for i, gr := range grouping.Groups {
		for _, f := range gr.Fragments {
			l.group[f] = i
		}
	}
	return l
}

func (l *lowerer) bad(pos token.Pos, message string) { l.out.add(l.src.Fset.Position(pos), message) }

// train reads the training function.
func (l *lowerer) train() block {
	call, _ := l.src.Inlined(analyze.Root)
	fr := &frame{Call: call, subst: map[types.Object]ast.Expr{}}
	fixed := func(list *ast.FieldList) {
		if list == nil {
			return
		}
		for _, f := range list.List {
			for _, name := range f.Names {
				if o := fr.Info.Defs[name]; o != nil {
					l.local(fr, o).fixed = true
				}
			}
		}
	}
	fixed(fr.Decl.Recv)
	fixed(fr.Decl.Type.Params)
	return l.block(fr, fr.Decl.Body.List)
}

// site numbers a statement.
func (l *lowerer) site(fr *frame, s ast.Stmt) site {
	l.sites++
	place := analyze.Place(fr.Place, s.Pos())
	return site{l.sites, s.Pos(), place + analyze.Before, place + analyze.After}
}

// block reads statements in order. In a function that is read through, what
// follows an if that returns becomes its other arm.
func (l *lowerer) block(fr *frame, list []ast.Stmt) (out block) {
	for i, s := range list {
		n, ok := s.(*ast.IfStmt)
		rest := list[i+1:]
		if !ok || fr.up == nil || len(rest) == 0 || !returns(n.Body.List) && !returns(elseOf(n)) {
			out = append(out, l.stmt(fr, s)...)
			continue
		}
		then, other := n.Body.List, slices.Concat(elseOf(n), rest)
		if !returns(then) {
			then, other = slices.Concat(then, rest), elseOf(n)
		}
		out = append(out, l.stmts(fr, n.Init)...)
		out = append(out, l.branch(fr, n, n.Cond, then, other)...)
		out[len(out)-1].at().after = fr.after
		return out
	}
	return out
}

func returns(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch s := list[len(list)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BlockStmt:
		return returns(s.List)
	case *ast.IfStmt:
		return returns(s.Body.List) && returns(elseOf(s))
	}
	return false
}

func elseOf(n *ast.IfStmt) []ast.Stmt {
	switch e := n.Else.(type) {
	case nil:
		return nil
	case *ast.BlockStmt:
		return e.List
	default:
		return []ast.Stmt{e}
	}
}

func (l *lowerer) stmts(fr *frame, s ast.Stmt) block {
	if s == nil {
		return nil
	}
	return l.stmt(fr, s)
}

func (l *lowerer) stmt(fr *frame, s ast.Stmt) block {
	switch s := s.(type) {
	case *ast.AssignStmt, *ast.ExprStmt, *ast.IncDecStmt:
		return l.simple(fr, s)
	case *ast.DeclStmt:
		return l.declaration(fr, s)
	case *ast.IfStmt:
		return append(l.stmts(fr, s.Init), l.branch(fr, s, s.Cond, s.Body.List, elseOf(s))...)
	case *ast.SwitchStmt:
		return l.choice(fr, s)
	case *ast.ForStmt:
		return l.forLoop(fr, s)
	case *ast.RangeStmt:
		return l.rangeLoop(fr, s)
	case *ast.BlockStmt:
		return l.block(fr, s.List)
	case *ast.BranchStmt:
		return block{&jump{l.site(fr, s), s.Tok}}
	case *ast.ReturnStmt:
		return l.returned(fr, s)
	case *ast.EmptyStmt:
		return nil
	}
	l.bad(s.Pos(), fmt.Sprintf("a statement of this kind (%T) cannot be taken apart", s))
	return nil
}

// branch reads an if. An operation to the right of && becomes a branch inside the
// branch, as in the graph.
func (l *lowerer) branch(fr *frame, s ast.Stmt, cond ast.Expr, then, other []ast.Stmt) (out block) {
	cond = ast.Unparen(cond)
	if b, ok := cond.(*ast.BinaryExpr); ok && b.Op == token.LAND && len(other) == 0 && len(l.scan(fr, b.Y).nodes) > 0 {
		outer := &branch{site: l.site(fr, s)}
		outer.cond, out = l.condition(fr, s, b.X)
		outer.free = l.free(fr, b.X.Pos())
		outer.arms = []arm{{block: l.branch(fr, s, b.Y, then, nil)}}
		return append(out, outer)
	}
	n := &branch{site: l.site(fr, s), free: l.free(fr, cond.Pos())}
	n.cond, out = l.condition(fr, s, cond)
	n.arms = []arm{{block: l.block(fr, then)}}
	if len(other) > 0 {
		n.arms = append(n.arms, arm{block: l.block(fr, other)})
	}
	return append(out, n)
}

// free reports whether the branch at a position depends on nothing that a fragment
// owns.
func (l *lowerer) free(fr *frame, pos token.Pos) bool {
	id, ok := l.src.Node(analyze.Place(fr.Place, pos), analyze.OfBranch)
	return ok && !slices.ContainsFunc(l.g.Edges, func(e fdg.Edge) bool {
		return e.Kind == fdg.OfControl && e.To == id && l.g.Nodes[e.From].Fragment != ""
	})
}

// condition copies a condition, with operations in it before it.
func (l *lowerer) condition(fr *frame, s ast.Stmt, cond ast.Expr) (ast.Expr, block) {
	if len(l.scan(fr, cond).nodes) == 0 {
		return l.clone(fr, cond), nil
	}
	p := &pieces{l: l, fr: fr, s: s}
	e := p.flat(cond, false, "value")
	return e, p.out
}

func (l *lowerer) choice(fr *frame, s *ast.SwitchStmt) block {
	out := l.stmts(fr, s.Init)
	n := &branch{site: l.site(fr, s), choice: true, free: l.free(fr, s.Pos())}
	if s.Tag != nil {
		var before block
		n.cond, before = l.condition(fr, s, s.Tag)
		out = append(out, before...)
	}
	for _, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		n.arms = append(n.arms, arm{l.clones(fr, c.List), l.block(fr, c.Body)})
	}
	return append(out, n)
}

func (l *lowerer) forLoop(fr *frame, s *ast.ForStmt) block {
	n := &loop{site: l.site(fr, s), cond: l.clone(fr, s.Cond)}
	place := analyze.Place(fr.Place, s.Pos())
	n.node, _ = l.src.Node(place, analyze.OfLoop)
	n.next = l.g.Nodes[n.node].Kind == fdg.Next
	one := func(s ast.Stmt) *action {
		list := l.stmts(fr, s)
		if len(list) == 0 {
			return nil
		}
		a, ok := list[0].(*action)
		if !ok || len(list) > 1 || a.owner != everywhere {
			l.bad(s.Pos(), "the head of a loop that is taken apart does more than count; do it in the body")
		}
		return a
	}
	n.init, n.post = one(s.Init), one(s.Post)
	n.body = l.block(fr, s.Body.List)
	return block{n}
}

func (l *lowerer) rangeLoop(fr *frame, s *ast.RangeStmt) (out block) {
	n := &loop{site: l.site(fr, s), isRange: true, define: s.Tok == token.DEFINE, counts: isInteger(fr.Info.TypeOf(s.X))}
	n.node, _ = l.src.Node(analyze.Place(fr.Place, s.Pos()), analyze.OfLoop)
	n.over, out = l.condition(fr, s, s.X)
	take := func(e ast.Expr) *variable {
		id, ok := e.(*ast.Ident)
		if !ok || id.Name == "_" {
			return nil
		}
		return l.local(fr, fr.Info.ObjectOf(id))
	}
	n.key, n.value = take(s.Key), take(s.Value)
	if n.family = l.agents() >= 0 && l.src.Family(n.node); n.family {
		if n.key == nil {
			n.key = l.variable("j", types.Typ[types.Int])
		}
		n.key.member = true
	}
	n.body = l.block(fr, s.Body.List)
	return append(out, n)
}

// returned gives a function's results to whoever called it.
func (l *lowerer) returned(fr *frame, s *ast.ReturnStmt) block {
	if fr.up == nil {
		p := &pieces{l: l, fr: fr, s: s}
		n := &result{site: l.site(fr, s)}
		for _, e := range s.Results {
			n.values = append(n.values, p.flat(e, true, "result"))
		}
		return append(p.out, n)
	}
	results := s.Results
	if len(results) == 0 { // named ones
		for _, f := range fr.Decl.Type.Results.List {
			for _, name := range f.Names {
				results = append(results, name)
			}
		}
	}
	p := &pieces{l: l, fr: fr, s: s}
	p.assign(fr.targets, results)
	for _, n := range p.out {
		if a, ok := n.(*action); ok && a.after == p.site().after {
			a.after = fr.after
		}
	}
	return p.out
}

func (l *lowerer) declaration(fr *frame, s *ast.DeclStmt) block {
	d, ok := s.Decl.(*ast.GenDecl)
	if !ok || d.Tok != token.VAR {
		return block{&note{l.site(fr, s), s.Decl}}
	}
	var out block
	for _, spec := range d.Specs {
		spec := spec.(*ast.ValueSpec)
		if len(spec.Values) == 0 {
			for _, name := range spec.Names {
				out = append(out, l.zero(fr, s, l.local(fr, fr.Info.Defs[name])))
			}
			continue
		}
		var lhs []ast.Expr
		for _, name := range spec.Names {
			lhs = append(lhs, name)
		}
		tok := token.DEFINE
		if spec.Type != nil { // which the values alone may not have
			tok = token.ASSIGN
		}
		out = append(out, l.simple(fr, &ast.AssignStmt{Lhs: lhs, TokPos: s.Pos(), Tok: tok, Rhs: spec.Values})...)
	}
	return out
}

// zero declares a variable.
func (l *lowerer) zero(fr *frame, s ast.Stmt, v *variable) *action {
	return &action{site: l.site(fr, s), lhs: []ast.Expr{l.ref(v)}, tok: token.DEFINE, defs: []def{{v: v}}, owner: everywhere}
}

// found is what stands in an expression or a statement.
type found struct {
	nodes  []int
	owners []int // groups
	calls  bool  // functions of the author's that hold operations
	apart  bool  // something that has to be taken apart for replicas
	fn     *types.Func
}

// single reports whether a statement may stay as it is.
func (f found) single() bool { return len(f.owners) <= 1 && !f.apart }

// scan finds the nodes in a statement or an expression.
func (l *lowerer) scan(fr *frame, n ast.Node) (f found) {
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			l.scanCall(fr, call, &f)
		}
		return true
	})
	switch s := n.(type) {
	case *ast.AssignStmt:
		l.computed(fr, s.Lhs, &f)
	case *ast.IncDecStmt:
		l.computed(fr, []ast.Expr{s.X}, &f)
	}
	slices.Sort(f.nodes)
	f.nodes = slices.Compact(f.nodes)
	return f
}

// scanCall adds the nodes of a call, and of all that it is read through to.
func (l *lowerer) scanCall(fr *frame, call *ast.CallExpr, f *found) {
	place := analyze.Place(fr.Place, call.Pos())
	if id, ok := l.src.Node(place, analyze.OfCall); ok {
		f.add(l, id)
	}
	if _, ok := l.src.Inlined(place); !ok {
		return
	}
	for _, id := range l.src.Within(place) {
		f.add(l, id)
	}
	f.calls = f.calls || len(l.src.Within(place)) > 0
	f.apart = f.apart || l.loose(place) || l.device && len(l.src.Within(place)) > 0 && (l.hands(fr, call) || l.opens(place))
}

// computed adds the nodes of values that are computed by being assigned.
func (l *lowerer) computed(fr *frame, lhs []ast.Expr, f *found) {
	for _, e := range lhs {
		if id, ok := l.src.Node(analyze.Place(fr.Place, ast.Unparen(e).Pos()), analyze.OfAssign); ok {
			f.add(l, id)
		}
	}
}

func (f *found) add(l *lowerer, id int) {
	f.nodes = append(f.nodes, id)
	if g, ok := l.group[l.g.Nodes[id].Fragment]; ok {
		if !slices.Contains(f.owners, g) {
			f.owners = append(f.owners, g)
		}
		f.apart = f.apart || l.special(id)
	}
}

// loose reports whether a call that holds operations also returns a number that
// depends on none of them, which every group can compute for itself.
func (l *lowerer) loose(place string) bool {
	if len(l.groups) < 2 || len(l.src.Within(place)) == 0 {
		return false
	}
	c, _ := l.src.Inlined(place)
	res := c.Fn.Signature().Results()
	for i := range res.Len() {
		if !l.src.IsBatch(c.Subst(res.At(i).Type())) && len(l.src.Returned(place, i, "")) == 0 {
			return true
		}
	}
	return false
}
