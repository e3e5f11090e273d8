package project

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/plan"
)

// A group may be replicated over agents: the members of a family. Each replica has
// all of the loop, but goes only through its own members where the loop goes
// through the family. A slice with an element for every member then holds a
// replica's own elements; who needs all of them gathers them behind the loop.

// element is the part of a slice that belongs to the member at hand.
const element = "[]"

// agents returns the group that is replicated over agents, or -1.
func (l *loop) agents() int {
	return slices.IndexFunc(l.groups, func(g plan.Group) bool { return g.Over == fdg.Agents || g.Over == fdg.Members })
}

// own reports whether an expression is a member's own element of a slice.
func (l *loop) own(e *ast.IndexExpr) bool {
	v := l.of(e.Index)
	return v != nil && v.member && !l.every
}

// elementwise reports whether a part is of own elements alone.
func (p part) elementwise() bool {
	return !p.none() && !p.all() && !slices.ContainsFunc(p, func(path string) bool { return !overlap(path, element) })
}

// shared reports whether a loop is gone through by members of the group that is
// replicated over them: it has work of that group in it.
func (l *loop) shared(s *tree.Loop, g int) bool {
	return l.families[s] != nil && g == l.agents() && l.owned(s, g)
}

// filled reports whether members fill a slice, each its own element, in a
// statement.
func (l *loop) filled(s tree.Stmt, v *variable) (yes bool) {
	fills := func(e ast.Expr) bool { return l.place(e).v == v && l.ownPlace(e) }
	for n := range tree.Each[*tree.Loop](tree.Block{s}) {
		yes = yes || l.shared(n, l.agents()) &&
			slices.ContainsFunc(l.inside(n), func(a *action) bool { return slices.ContainsFunc(a.Lhs, fills) })
	}
	return yes
}

// ownPlace reports whether what is assigned to is the member's own element, or a
// field of it.
func (l *loop) ownPlace(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.IndexExpr:
		return l.own(e)
	case *ast.SelectorExpr:
		return l.ownPlace(e.X)
	}
	return false
}

// together gathers, behind a loop over members, the elements of those slices that
// are wanted whole.
func (w *walker) together(s *tree.Loop, out live) live {
	out = out.clone()
	for _, v := range out.sorted() {
		if p := out[v]; v.resource < 0 && !p.elementwise() && w.filled(s, v) {
			if w.all[s] == nil {
				w.all[s] = live{}
			}
			w.all[s].add(v, whole)
			out[v] = at(element)
		}
	}
	w.keeps(s, out)
	return out
}

func (w *walker) keeps(s *tree.Loop, l live) {
	for v := range l {
		if w.lasting[s] == nil {
			w.lasting[s] = map[*variable]bool{}
		}
		w.lasting[s][v] = true
	}
}

// checkMembers refuses what members would not do alike when each is by itself.
func (f *flow) checkMembers() {
	g := f.agents()
	if g < 0 {
		return
	}
	if !slices.ContainsFunc(f.g.Resources, func(r fdg.Resource) bool { return r.Family }) {
		f.bad(f.src.Train.Pos(), "the loop has no family of agents that replicas could share out")
	}
	for id, n := range f.g.Nodes {
		if at, ok := f.group[n.Fragment]; ok && at == g {
			f.checkMember(id, n)
		}
	}
	for n := range tree.Each[*tree.Loop](f.tree.Body) {
		if f.shared(n, g) {
			f.checkFamily(n)
		}
	}
	f.checkElements()
}

func (f *flow) checkMember(id int, n fdg.Node) {
	inside := slices.ContainsFunc(n.Freq.Loops, f.src.Family)
	for _, r := range union(n.Reads, n.Writes) {
		switch res := f.g.Resources[r]; {
		case res.Family && !inside:
			f.bad(f.src.Pos(id), fmt.Sprintf("%s uses %s of a member outside of a loop over the members, so no replica can be said to own it", n.Text, res.Name))
		case res.Family && f.src.Shared(r):
			f.bad(f.src.Pos(id), fmt.Sprintf("%s may be about another member's %s, which the trainer also holds outside of the family", n.Text, res.Name))
		case !res.Family && inside && slices.Contains(n.Writes, r):
			f.bad(f.src.Pos(id), fmt.Sprintf("%s writes %s for one member after another, so members cannot be apart", n.Text, res.Name))
		}
	}
}

// checkFamily refuses what one member leaves for the next, and what crosses while
// members are gone through.
func (f *flow) checkFamily(s *tree.Loop) {
	if !f.held(s.Over) {
		f.bad(s.Pos, "members are shared out by their number in the family, and this goes through a part of it: range over the family itself")
	}
	s.Body.Walk(func(n tree.Stmt) bool {
		if j, ok := n.(*tree.Jump); ok && j.Tok == token.BREAK {
			f.bad(j.Pos, "a member that ends the loop for those after it cannot be apart from them")
		}
		_, inner := n.(*tree.Loop) // whose breaks are its own
		return !inner
	})
	outer := f.changes(s)
	for n := range tree.Each[tree.Stmt](s.Body) {
		switch n := n.(type) {
		case *tree.Loop:
			if f.families[n] != nil {
				f.bad(n.Pos, "a member that goes through all members cannot be apart from them")
			}
		case *tree.Assign:
			a := f.actions[n]
			for i, d := range a.defs {
				kept := d.v != nil && d.v.resource < 0 && !outer[d.v].none() && f.lasting[s][d.v]
				if kept && !(d.weak && i < len(n.Lhs) && f.ownPlace(n.Lhs[i])) {
					f.bad(n.Pos, fmt.Sprintf("%s goes from one member to the next, so members cannot be apart; keep an element for each in a slice", d.v.name))
				}
			}
		}
		for g := range f.groups {
			for _, v := range f.sent[spot{n, g}].sorted() {
				f.bad(n.At().Pos, fmt.Sprintf("%s crosses while members are gone through, and no replica goes through all of them; let all members come first", v.name))
			}
		}
	}
}

// held reports whether an expression is a field that the trainer leads to.
func (l *loop) held(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v := l.of(e)
		return v != nil && v.fixed
	case *ast.SelectorExpr:
		_, field := l.path(e)
		return field && l.held(e.X)
	case *ast.StarExpr:
		return l.held(e.X)
	}
	return false
}

// checkElements refuses a member that is named by another number than that of the
// loop over members: it may be another replica's.
func (f *flow) checkElements() {
	var members []types.Type
	for s := range f.families {
		members = append(members, tree.Element(f.typeOf(s.Over)))
	}
	config := map[ast.Expr]bool{} // a number of a member's is the same everywhere
	for e := range tree.ExprNodes[ast.Expr](f.tree.Body) {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			config[x.X] = tree.IsBasic(f.typeOf(x), ^0)
		case *ast.IndexExpr:
			is := func(t types.Type) bool { return types.Identical(t, f.typeOf(x)) }
			if slices.ContainsFunc(members, is) && !f.own(x) && !config[x] {
				f.bad(x.Pos(), "this may be another member, whom another replica has; use the number of the loop over members")
			}
		}
	}
}

// memberLoop goes through a replica's own members.
func (m *emitter) memberLoop(s *tree.Loop, n *line) {
	key := m.families[s]
	field := func(name string) ast.Expr {
		return &ast.SelectorExpr{X: m.ref(m.x), Sel: ast.NewIdent(name)}
	}
	if s.Value != nil {
		at := &ast.IndexExpr{X: m.copy(s.Over), Index: m.ref(key)}
		first := m.assign(s.Pos, m.ref(m.vars[s.Value]), m.tree.Typed(at, s.Value.Type()))
		first.pure = true
		n.arms[0] = append([]*line{first}, n.arms[0]...)
	}
	n.ranged, n.key, n.value = false, nil, nil
	n.init = &line{pos: s.Pos, tok: token.DEFINE, lhs: []ast.Expr{m.ref(key)}, rhs: []ast.Expr{field("Lo")}}
	n.head = []ast.Expr{&ast.BinaryExpr{X: m.ref(key), Op: token.LSS, Y: field("Hi")}}
	n.post = &line{pos: s.Pos, tok: token.INC, lhs: []ast.Expr{m.ref(key)}}
}

// memberFunc writes the function that lists a member's components.
func (f *flow) memberFunc(b *bytes.Buffer) {
	if f.agents() < 0 {
		return
	}
	var list []string
	for id, r := range f.g.Resources {
		if !r.Family {
			continue
		}
		way, ok := f.src.Way(id)
		text, several := "t", 0
		for _, s := range way {
			text += "." + s.Name
			if s.Each {
				text += "[member]"
				several++
			}
		}
		if !ok || several != 1 || r.Part != "" {
			f.bad(f.src.Train.Pos(), fmt.Sprintf("%s of a member cannot be found from the trainer: keep it in a field of the member", r.Name))
			continue
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	edge, rl := f.edgePackage(), f.rlPackage()
	fmt.Fprintf(b, "Member: %s.MemberOf(func(t %s, member int) []%s.Component {\nif member >= len(%s) {\nreturn nil\n}\nreturn []%s.Component{%s}\n}),\n",
		edge, f.typeName(f.trainerType()), rl, familyOf(list), rl, strings.Join(list, ", "))
}

// familyOf returns the slice that members' components are found through.
func familyOf(components []string) string {
	if len(components) == 0 {
		return "[]int{}"
	}
	family, _, _ := strings.Cut(components[0], "[member]")
	return family
}
