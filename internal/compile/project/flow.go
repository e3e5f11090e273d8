package project

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
)

// flow finds, for every group, which statements its program has and what it needs
// from others where. It goes through the tree backwards with what is wanted, once
// for each group, until no group asks another one for more.
type flow struct {
	*loop

	// sent holds what a group receives behind a statement, and from whom.
	sent map[spot]live
	from map[spot]map[*variable]int
	keep map[spot]bool // loops, branches and calls that a group goes into
	does map[spot]live // what is wanted behind an assignment that a group executes
	ins  map[spot]live // what is wanted before a call that a group goes into
	mods map[tree.Stmt]live

	// all holds what members of one group gather from each other behind a loop.
	all map[tree.Stmt]live
	// lasting holds the variables that are used behind a loop, or carried round it.
	lasting map[tree.Stmt]map[*variable]bool
}

// spot is a statement in the program of a group.
type spot struct {
	s tree.Stmt
	g int
}

func newFlow(l *loop) *flow {
	f := &flow{
		loop: l, from: map[spot]map[*variable]int{}, keep: map[spot]bool{},
		mods: map[tree.Stmt]live{}, lasting: map[tree.Stmt]map[*variable]bool{},
	}
	f.begin()
	return f
}

// begin forgets what the round before found out.
func (f *flow) begin() {
	f.sent, f.does, f.ins, f.all = map[spot]live{}, map[spot]live{}, map[spot]live{}, map[tree.Stmt]live{}
}

// rounds is far more than any program needs: each adds what one more group asks
// for.
const rounds = 100

func (f *flow) solve() error {
	for range rounds {
		before, kept := f.sent, len(f.keep)
		f.begin()
		for g := range f.groups {
			w := &walker{flow: f, g: g, asked: before}
			w.block(f.tree.Body, live{})
		}
		if maps.EqualFunc(before, f.sent, live.equal) && kept == len(f.keep) {
			return nil
		}
	}
	return fmt.Errorf("what groups need from each other does not settle")
}

// receive notes that a group gets something behind a statement.
func (f *flow) receive(s tree.Stmt, g int, v *variable, p part, from int) {
	at := spot{s, g}
	if f.sent[at] == nil {
		f.sent[at] = live{}
	}
	if f.sent[at].add(v, p); f.from[at] == nil {
		f.from[at] = map[*variable]int{}
	}
	f.from[at][v] = from
}

// changes returns what is given a value inside a statement.
func (f *flow) changes(s tree.Stmt) live {
	if m, ok := f.mods[s]; ok {
		return m
	}
	m := live{}
	for _, a := range f.inside(s) {
		for _, d := range a.defs {
			if d.v != nil {
				m.add(d.v, at(d.path))
			}
		}
	}
	f.mods[s] = m
	return m
}

// makers returns the groups whose operations made what a part of a variable may hold
// behind a statement.
func (f *flow) makers(s tree.Stmt, v *variable, p part) (out []int) {
	add := func(fragment string) {
		if g, ok := f.group[fragment]; ok && !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	if v.resource >= 0 {
		add(f.g.Resources[v.resource].Home)
		return out
	}
	for _, path := range p {
		for _, o := range f.origins(s, true, v, path) {
			add(f.g.Nodes[o.Node].Fragment)
		}
	}
	slices.Sort(out)
	return out
}

// Variables that share memory must go on sharing it if the group writes that memory
// later. For that a variable has a companion, written, which is live from where
// the variable gets its value to where the group writes its memory. While it is
// live, the variable cannot be received: a copy would have memory of its own.

// memory returns a variable's companion.
func (l *loop) memory(v *variable) *variable {
	if v.written == nil {
		v.written = &variable{id: v.id, name: v.name, resource: -1}
	}
	return v.written
}

// shares reports whether v must not be received where out is live: the group writes
// v's memory later, and another variable may share it.
func (l *loop) shares(v *variable, out live) bool {
	return v.obj != nil && v.written != nil && !out[v.written].none() && !l.tree.Alone(v.obj)
}

// walker is one group's way through the tree.
type walker struct {
	*flow
	g      int
	asked  map[spot]live // what others asked for in the round before
	loops  []jumps
	around []tree.Stmt // loops, branches and calls
}

// jumps holds what is live where a break or a continue leads to.
type jumps struct{ out, head live }

// follow goes into a statement. leave undoes it.
func (w *walker) follow(s tree.Stmt) {
	w.keep[spot{s, w.g}] = true
	w.around = append(w.around, s)
}

func (w *walker) leave() { w.around = w.around[:len(w.around)-1] }

// ask notes that the group gets something from another one behind a loop, branch
// or call. That one then goes into all that is around it.
func (w *walker) ask(s tree.Stmt, v *variable, p part, from int) {
	w.receive(s, w.g, v, p, from)
	for _, around := range w.around {
		w.keep[spot{around, from}] = true
	}
}

func (w *walker) block(b tree.Block, out live) live {
	for _, s := range slices.Backward(b) {
		out = w.stmt(s, out)
	}
	return out
}

func (w *walker) stmt(s tree.Stmt, out live) live {
	switch s := s.(type) {
	case *tree.Assign:
		return w.assign(s, out)
	case *tree.Branch:
		return w.branch(s, w.owed(s, out))
	case *tree.Loop:
		return w.loop(s, w.owed(s, out))
	case *tree.Call:
		return w.call(s, w.owed(s, out))
	case *tree.Jump:
		if len(w.loops) == 0 {
			return out
		}
		if top := w.loops[len(w.loops)-1]; s.Tok == token.BREAK {
			return top.out.clone()
		} else {
			return top.head.clone()
		}
	case *tree.Return:
		in := live{}
		w.usesAll(s.Results, in)
		return in
	}
	return out
}

// owed adds what the group has to send behind a loop, branch or call.
func (w *walker) owed(s tree.Stmt, out live) live {
	out = out.clone()
	for g := range w.groups {
		for v, p := range w.asked[spot{s, g}] {
			if g == w.g || w.from[spot{s, g}][v] != w.g {
				continue
			}
			if w.g == w.agents() && w.filled(s, v) { // each replica gives its members' elements
				p = at(element)
			}
			out.add(v, p)
		}
	}
	return out
}

func (w *walker) assign(s *tree.Assign, out live) live {
	a := w.actions[s]
	in, needed := out.clone(), false
	for _, d := range a.defs {
		if d.v == nil {
			continue
		}
		p := out[d.v].and(at(d.path))
		needed = needed || !p.none()
		if a.owner != w.g && a.owner != everywhere && !p.none() {
			if w.shares(d.v, out) {
				w.bad(s.Pos, fmt.Sprintf("%s is made by %s, and %s writes into its memory under another name: copy it before", d.v.name, w.groups[a.owner].Name, w.groups[w.g].Name))
			}
			if !w.crosses(s, d.v, p) {
				w.bad(s.Pos, fmt.Sprintf("%s goes from %s to %s, but holds a slice of structs whose fields are not exported: export them", d.v.name, w.groups[a.owner].Name, w.groups[w.g].Name))
			}
			w.receive(s, w.g, d.v, p, a.owner)
		}
	}
	for _, d := range a.defs {
		if d.v != nil && !d.weak {
			if in.drop(d.v, at(d.path)); in[d.v].none() {
				delete(in, w.memory(d.v))
			}
		}
	}
	if a.owner != w.g && (a.owner != everywhere || !needed) {
		return in
	}
	for i, d := range a.defs { // through some names it writes, others see it
		if d.v != nil && d.weak && d.v.resource < 0 && (i < len(s.Lhs)+len(s.Fills) || !out[d.v].none()) {
			in.add(w.memory(d.v), whole)
		}
	}
	w.does[spot{s, w.g}] = out
	wanted := out
	for g := range w.groups { // what it sends is wanted of it
		if g != w.g {
			wanted = wanted.union(w.asked[spot{s, g}])
		}
	}
	return in.union(w.wants(a, wanted))
}

// outside tries to let a group pass a loop, branch or call by: what changed there
// and is wanted comes from one other group, behind it.
func (w *walker) outside(s tree.Stmt, out live) (in live, ok bool) {
	in = out.clone()
	from, changed := map[*variable]int{}, w.changes(s)
	for v := range out {
		if p := out[v].and(changed[v]); !p.none() {
			if from[v], ok = w.maker(s, v, p, out); !ok || len(w.owners(s)) == 0 {
				return nil, false
			}
		}
	}
	for v, g := range from {
		p := out[v].and(changed[v])
		w.ask(s, v, p, g)
		in.drop(v, p)
	}
	return in, true
}

// maker returns the one group that made a part of a variable, if the walker's may
// receive it behind a statement.
func (w *walker) maker(s tree.Stmt, v *variable, p part, out live) (from int, ok bool) {
	list := w.makers(s, v, p)
	if len(list) != 1 || list[0] == w.g || w.shares(v, out) || !w.crosses(s, v, p) {
		return everywhere, false
	}
	return list[0], true
}

// concerned reports whether anything that is wanted changes in a statement.
func (w *walker) concerned(s tree.Stmt, out live) bool {
	for v, p := range w.changes(s) {
		if !out[v].and(p).none() {
			return true
		}
	}
	return false
}

// call goes into a function that was read through, or passes it by if it is all
// another group's.
func (w *walker) call(s *tree.Call, out live) live {
	if owner, ok := w.single(s); ok && owner != w.g && !w.keep[spot{s, w.g}] {
		if in, ok := w.outside(s, out); ok {
			return in
		}
	}
	w.follow(s)
	in := w.block(s.Body, out)
	w.leave()
	w.ins[spot{s, w.g}] = in
	return in
}

// single returns the group that owns all operations in a call, if there is one and
// it does them as they stand.
func (l *loop) single(s *tree.Call) (owner int, ok bool) {
	owners := l.owners(s)
	if len(owners) != 1 || exits(s) || slices.ContainsFunc(l.inside(s), func(a *action) bool { return a.node >= 0 && l.special(a.node) }) {
		return everywhere, false
	}
	return owners[0], true
}

func (w *walker) branch(s *tree.Branch, out live) live {
	if !w.keep[spot{s, w.g}] && !w.owned(s, w.g) && !(exits(s) && (len(w.loops) > 0 || returns(s))) && !(w.free(s) && w.concerned(s, out)) {
		if in, ok := w.outside(s, out); ok {
			return in
		}
	}
	w.follow(s)
	in := live{}
	for _, a := range s.Arms {
		in = in.union(w.block(a.Body, out))
	}
	if len(s.Arms) == 1 {
		in = in.union(out)
	}
	w.leave()
	w.uses(s.Cond, whole, in)
	return in
}

// free reports whether a branch depends on nothing that a fragment owns.
func (l *loop) free(s *tree.Branch) bool {
	id, ok := l.src.Node(s)
	if !ok {
		return false
	}
	for _, e := range l.g.Edges {
		if e.Kind == fdg.OfControl && e.To == id && l.g.Nodes[e.From].Fragment != "" {
			return false
		}
	}
	return true
}

func (w *walker) loop(s *tree.Loop, out live) live {
	if !s.Next && !w.keep[spot{s, w.g}] && !w.owned(s, w.g) && !exits(s) {
		if in, ok := w.outside(s, out); ok {
			return in
		}
	}
	w.follow(s)
	if w.shared(s, w.g) {
		out = w.together(s, out)
	}
	inner := w.round(s, live{})
	through := out.clone() // what passes the loop by
	if !s.Next {
		through = w.after(s, out, inner)
	}
	head := w.round(s, through)
	w.leave()
	if w.shared(s, w.g) {
		w.keeps(s, head)
	}
	in := w.head(s, head)
	if s.Init != nil {
		in = w.assign(s.Init, in)
	}
	return in
}

// after lets what is only wanted behind a loop cross there.
func (w *walker) after(s *tree.Loop, out, inner live) live {
	through := out.clone()
	changed := w.changes(s)
	for _, v := range out.sorted() {
		p := out[v].and(changed[v])
		if p.none() || !inner[v].and(p).none() {
			continue
		}
		if from, ok := w.maker(s, v, p, out); ok && (v.resource >= 0 || w.owned(s, from)) {
			w.ask(s, v, p, from)
			through.drop(v, p)
		} // or it is only moved there, which the group can do itself
	}
	return through
}

// round returns what is wanted at the top of a loop's body, gone round until it is
// settled.
func (w *walker) round(s *tree.Loop, out live) live {
	head := out.clone()
	for {
		w.loops = append(w.loops, jumps{out, head})
		next := w.body(s, head)
		w.loops = w.loops[:len(w.loops)-1]
		now := out.union(next)
		if now.equal(head) {
			return head
		}
		head = now
	}
}

func (w *walker) body(s *tree.Loop, out live) live {
	if s.Post != nil {
		out = w.assign(s.Post, out)
	}
	w.loops[len(w.loops)-1].head = out // where continue leads to
	in := w.block(s.Body, out).clone()
	for _, v := range []*types.Var{s.Key, s.Value} {
		if v != nil {
			in.drop(w.vars[v], whole)
		}
	}
	return w.head(s, in)
}

// head adds what deciding on a round needs.
func (w *walker) head(s *tree.Loop, in live) live {
	in = in.clone()
	w.usesAll([]ast.Expr{s.Cond, s.Over}, in)
	return in
}
