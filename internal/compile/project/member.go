package project

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
)

// A group may be replicated over agents: the members of a family. Each replica has
// all of the loop, but goes only through its own members where the loop goes
// through the family. A slice with an element for every member then holds a
// replica's own elements; who needs all of them gathers them behind the loop.

// element is the part of a slice that belongs to the member at hand.
const element = "[]"

// agents is the group that is replicated over agents, or -1.
func (l *lowerer) agents() int {
	return slices.IndexFunc(l.groups, func(g plan.Group) bool { return g.Over == fdg.Agents || g.Over == fdg.Members })
}

// own reports whether an expression is a member's own element of a slice.
func (l *lowerer) own(e *ast.IndexExpr) bool {
	id, ok := e.Index.(*ast.Ident)
	return ok && !l.every && l.of[id] != nil && l.of[id].member
}

// elementwise reports whether a part is of own elements alone.
func (p *part) elementwise() bool {
	return p != nil && !p.all && len(p.sub) == 1 && p.sub[element] != nil
}

// shared reports whether a loop is gone through by members of the group that is
// replicated over them: it has work of that group in it.
func (f *flow) shared(s *loop, g int) bool { return s.family && g == f.agents() && owned(s, g) }

// made reports whether members fill a slice, each its own element, in a statement.
func (f *flow) made(s stmt, v *variable) bool {
	mine := false
	block{s}.walk(func(s stmt) bool {
		n, ok := s.(*loop)
		if ok && f.shared(n, f.agents()) {
			n.body.walk(func(s stmt) bool {
				if a, ok := s.(*action); ok {
					for i, d := range a.defs {
						mine = mine || d.v == v && d.weak && i < len(a.lhs) && f.ownTarget(a.lhs[i])
					}
				}
				return true
			})
		}
		return !mine
	})
	return mine
}

// ownTarget reports whether what is assigned to is the member's own element, or a
// field of it.
func (l *lowerer) ownTarget(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.IndexExpr:
		return l.own(e)
	case *ast.SelectorExpr:
		return l.ownTarget(e.X)
	}
	return false
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
	f.tree.walk(func(s stmt) bool {
		if n, ok := s.(*loop); ok && f.shared(n, g) {
			f.checkFamily(n)
		}
		return true
	})
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
func (f *flow) checkFamily(s *loop) {
	outer := f.changes(s)
	s.body.walk(func(n stmt) bool {
		switch n := n.(type) {
		case *jump:
			if n.tok == token.BREAK && f.leaves(s, n) {
				f.bad(n.pos, "a member that ends the loop for those after it cannot be apart from them")
			}
		case *action:
			for i, d := range n.defs {
				kept := d.v != nil && d.v.resource < 0 && !outer[d.v].none() && f.lasting[s][d.v]
				if kept && !(d.weak && i < len(n.lhs) && f.ownTarget(n.lhs[i])) {
					f.bad(n.pos, fmt.Sprintf("%s goes from one member to the next, so members cannot be apart; keep an element for each in a slice", d.v.name))
				}
			}
		}
		for g := range f.groups {
			for _, v := range f.sent[n][g].sorted() {
				f.bad(n.at().pos, fmt.Sprintf("%s crosses while members are gone through, and no replica goes through all of them; let all members come first", v.name))
			}
		}
		return true
	})
}

// leaves reports whether a break leaves a loop, and not one inside it.
func (f *flow) leaves(s *loop, j *jump) bool {
	inner := false
	s.body.walk(func(n stmt) bool {
		if l, ok := n.(*loop); ok {
			l.body.walk(func(x stmt) bool {
				inner = inner || x == stmt(j)
				return true
			})
		}
		return true
	})
	return !inner
}

// memberLoop goes through a replica's own members.
func (m *emitter) memberLoop(s *loop, n *line) {
	field := func(name string) ast.Expr {
		return &ast.SelectorExpr{X: m.ref(m.x), Sel: ast.NewIdent(name)}
	}
	if s.value != nil {
		at := &ast.IndexExpr{X: m.copy(s.over), Index: m.ref(s.key)}
		first := m.assign(s.pos, m.ref(s.value), at)
		first.pure = true
		first.stmt.(*ast.AssignStmt).Tok = token.DEFINE
		n.arms[0].body = append([]*line{first}, n.arms[0].body...)
	}
	n.ranged, n.key, n.value = false, nil, nil
	n.init = &line{pos: s.pos, stmt: &ast.AssignStmt{Lhs: []ast.Expr{m.ref(s.key)}, Tok: token.DEFINE, Rhs: []ast.Expr{field("Lo")}}}
	n.head = []ast.Expr{&ast.BinaryExpr{X: m.ref(s.key), Op: token.LSS, Y: field("Hi")}}
	n.post = &line{pos: s.pos, stmt: &ast.IncDecStmt{X: m.ref(s.key), Tok: token.INC}}
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
		if !ok || several != 1 || r.Kind == "statistics" && strings.HasSuffix(r.Name, "/stats") {
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

// familyOf is the slice that members' components are found through.
func familyOf(components []string) string {
	if len(components) == 0 {
		return "[]int{}"
	}
	family, _, _ := strings.Cut(components[0], "[member]")
	return family
}
