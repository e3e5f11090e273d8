package project

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/plan"
)

// loop is a training loop's tree, with the grouping whose programs are cut from
// it.
type loop struct {
	src    *analyze.Source
	tree   *tree.Program
	g      *fdg.Graph
	groups []plan.Group
	group  map[string]int // of a fragment

	vars      map[*types.Var]*variable
	resources map[int]*variable
	actions   map[*tree.Assign]*action
	families  map[*tree.Loop]*variable // loops over members, with the member's number

	hidden  map[*ast.Ident]Problem // names that a program of the package cannot use
	imports map[string]string      // path to name
	used    map[string]bool        // names that mean something of a package

	made  int  // variables that the tree does not have
	every bool // no element of a slice is a member's own
	out   *findings
}

func newLoop(src *analyze.Source, g *fdg.Graph, grouping plan.Grouping, out *findings) *loop {
	l := &loop{
		src: src, tree: src.Tree, g: g, groups: grouping.Groups, group: map[string]int{}, vars: map[*types.Var]*variable{},
		resources: map[int]*variable{}, actions: map[*tree.Assign]*action{}, families: map[*tree.Loop]*variable{},
		hidden: map[*ast.Ident]Problem{}, imports: map[string]string{}, used: map[string]bool{}, out: out,
	}
	for i, gr := range grouping.Groups {
		for _, f := range gr.Fragments {
			l.group[f] = i
		}
	}
	for i, v := range l.tree.Vars {
		l.vars[v] = &variable{id: i, name: v.Name(), typ: v.Type(), obj: v, temp: l.tree.Temps[v], resource: -1}
	}
	for _, v := range append([]*types.Var{l.tree.Recv}, l.tree.Args...) {
		if v != nil {
			l.vars[v].fixed = true
		}
	}
	l.walk(l.tree.Body, fresh{})
	return l
}

func (l *loop) bad(pos token.Pos, message string) { l.out.add(l.src.Fset.Position(pos), message) }

// variable is one of the tree's, one that a program has for itself, or the state
// of a copyable component.
type variable struct {
	id       int
	name     string
	typ      types.Type
	obj      *types.Var // its name in expressions; nil if it has none
	made     bool       // not in the tree
	fixed    bool       // the trainer and the run: the same everywhere, for ever
	temp     bool       // not the author's
	resource int        // or -1
	member   bool       // the number of a member, in a loop over a family
	written  *variable  // live while the variable's memory is going to be written; see flow.go
}

// pos returns where the author declared a variable.
func (v *variable) pos() token.Pos {
	if v.obj == nil {
		return token.NoPos
	}
	return v.obj.Pos()
}

// variable makes one that the tree does not have.
func (l *loop) variable(name string, t types.Type) *variable {
	l.made++
	v := &variable{id: len(l.tree.Vars) + len(l.g.Resources) + l.made, name: name, typ: t, obj: types.NewVar(token.NoPos, nil, name, t), made: true, resource: -1}
	l.vars[v.obj] = v
	return v
}

// resource returns the variable of a copyable component's state, or nil.
func (l *loop) resource(r int) *variable {
	if l.g.Resources[r].Sharing != fdg.Copyable {
		return nil
	}
	v, ok := l.resources[r]
	if !ok {
		v = &variable{id: len(l.tree.Vars) + r, name: l.g.Resources[r].Name, resource: r}
		l.resources[r] = v
	}
	return v
}

// family notes a loop over the members of a family, of which some may be a
// replica's own.
func (l *loop) family(s *tree.Loop) {
	id, ok := l.src.Node(s)
	if !ok || !s.Range || l.agents() < 0 || !l.src.Family(id) {
		return
	}
	key := l.vars[s.Key]
	if key == nil {
		key = l.variable("j", types.Typ[types.Int])
	}
	key.member = true
	l.families[s] = key
}

// def is a variable, or a field of one, that a statement gives a value.
type def struct {
	v    *variable
	path string
	weak bool // what was there before may still be
}

// everywhere owns what every group computes for itself.
const everywhere = -1

// action says what an assignment means to the groups.
type action struct {
	*tree.Assign
	node  int   // of its operation, or -1
	owner int   // group
	defs  []def // as many as Lhs, an empty one for a blank, then the memory and the components that it writes
	reads []*variable
}

func (l *loop) action(s *tree.Assign, now fresh) *action {
	a := &action{Assign: s, node: -1, owner: everywhere}
	for _, e := range s.Lhs {
		a.defs = append(a.defs, l.place(e))
	}
	for _, e := range s.Fills {
		d := l.place(e)
		d.weak = true
		a.defs = append(a.defs, d)
	}
	through := slices.ContainsFunc(slices.Concat(s.Lhs, s.Fills), func(e ast.Expr) bool { return !now[l.tree.Root(e)] })
	for _, v := range s.Shares {
		if through && !now[v] {
			a.defs = append(a.defs, def{v: l.vars[v], weak: true})
		}
	}
	if s.Op == nil {
		return a
	}
	id, ok := l.src.Node(s)
	if !ok {
		l.bad(s.Pos, s.Text+" is an operation that the graph does not have")
		return a
	}
	a.node = id
	n := l.g.Nodes[id]
	if g, ok := l.group[n.Fragment]; ok {
		a.owner = g
	}
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
	return a
}

// place returns what an assignment to an expression gives a value. What is behind
// a pointer or in a slice counts as the variable that leads there.
func (l *loop) place(e ast.Expr) (d def) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if v := l.of(e); v != nil && !v.fixed {
			d.v = v
		}
	case *ast.SelectorExpr:
		d = l.place(e.X)
		path, field := l.path(e)
		switch {
		case d.weak:
		case !field || path == "":
			d.weak = true
		default:
			d.path = strings.TrimPrefix(d.path+"."+path, ".")
		}
	case *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr:
		d = l.place(*tree.Parts(e)[0])
		d.weak = true
	case *ast.UnaryExpr:
		d = l.place(e.X)
	}
	return d
}

// wanted returns which part of the value on the right of a.Lhs[i] is needed, where
// out is wanted behind the statement. Whoever wants something that the statement
// writes through shared memory wants all of it.
func (a *action) wanted(i int, out live) part {
	d := a.defs[i]
	if d.v == nil {
		return nil
	}
	if !d.weak {
		return out[d.v].get(d.path)
	}
	for j, d := range a.defs {
		if (j == i || j >= len(a.Lhs)) && d.v != nil && !out[d.v].and(at(d.path)).none() {
			return whole
		}
	}
	return nil
}

// inside returns the actions in a statement, in order.
func (l *loop) inside(s tree.Stmt) (out []*action) {
	for a := range tree.Each[*tree.Assign](tree.Block{s}) {
		out = append(out, l.actions[a])
	}
	return out
}

// owners returns the groups that have operations in a statement.
func (l *loop) owners(s tree.Stmt) (out []int) {
	for _, a := range l.inside(s) {
		if a.owner != everywhere && !slices.Contains(out, a.owner) {
			out = append(out, a.owner)
		}
	}
	return out
}

// owned reports whether a statement holds an operation of a group.
func (l *loop) owned(s tree.Stmt, group int) bool { return slices.Contains(l.owners(s), group) }

// exits reports whether there is a jump or a return inside a statement that leaves
// it.
func exits(s tree.Stmt) (yes bool) {
	tree.Block{s}.Walk(func(x tree.Stmt) bool {
		_, jump := x.(*tree.Jump)
		_, loop := x.(*tree.Loop)
		yes = yes || jump || returns(x)
		return !yes && !loop
	})
	return yes
}

// returns reports whether a statement may leave the program.
func returns(s tree.Stmt) bool {
	for range tree.Each[*tree.Return](tree.Block{s}) {
		return true
	}
	return false
}
