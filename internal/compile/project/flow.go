package project

import (
	"fmt"
	"go/ast"
	"slices"
)

// flow finds, for every group, which statements its program has and what it needs
// from others where. It goes through the tree backwards with what is wanted, once
// for each group, until no group asks another one for more.
type flow struct {
	*lowerer
	tree block

	// sent is what others made that a group receives behind a statement.
	sent map[stmt]map[int]live
	from map[stmt]map[*variable]int // who sends it, behind a loop or branch
	keep map[stmt]map[int]bool      // loops and branches that a group must follow
	has  map[stmt]map[int]live      // what is wanted behind an action that a group carries out
	mods map[stmt]live

	// all is what members of one group gather from each other behind a loop.
	all map[stmt]live
	// lasting is what is wanted behind a loop, or carried round it.
	lasting map[stmt]map[*variable]bool
}

func newFlow(l *lowerer, tree block) *flow {
	return &flow{
		lowerer: l, tree: tree, sent: map[stmt]map[int]live{}, from: map[stmt]map[*variable]int{},
		keep: map[stmt]map[int]bool{}, has: map[stmt]map[int]live{}, mods: map[stmt]live{},
		all: map[stmt]live{}, lasting: map[stmt]map[*variable]bool{},
	}
}

// rounds is far more than any program needs: each adds what one more group asks
// for.
const rounds = 100

func (f *flow) solve() error {
	for range rounds {
		before := f.sent
		kept := f.kept()
		f.sent, f.has, f.all = map[stmt]map[int]live{}, map[stmt]map[int]live{}, map[stmt]live{}
		for g := range f.groups {
			w := &walker{flow: f, g: g, asked: before}
			w.block(f.tree, live{})
		}
		if sameSent(before, f.sent) && kept == f.kept() {
			return nil
		}
	}
	return fmt.Errorf("what groups need from each other does not settle")
}

func (f *flow) kept() (n int) {
	for _, m := range f.keep {
		n += len(m)
	}
	return n
}

func sameSent(a, b map[stmt]map[int]live) bool {
	if len(a) != len(b) {
		return false
	}
	for s, m := range a {
		if len(m) != len(b[s]) {
			return false
		}
		for g, l := range m {
			if !l.equal(b[s][g]) {
				return false
			}
		}
	}
	return true
}

// receive notes that a group gets something behind a statement.
func (f *flow) receive(s stmt, g int, v *variable, p *part) {
	if f.sent[s] == nil {
		f.sent[s] = map[int]live{}
	}
	if f.sent[s][g] == nil {
		f.sent[s][g] = live{}
	}
	f.sent[s][g].add(v, p)
}

func (f *flow) follow(s stmt, g int) {
	if f.keep[s] == nil {
		f.keep[s] = map[int]bool{}
	}
	f.keep[s][g] = true
}

// changes are what is given a value inside a statement.
func (f *flow) changes(s stmt) live {
	if m, ok := f.mods[s]; ok {
		return m
	}
	m := live{}
	block{s}.walk(func(s stmt) bool {
		switch s := s.(type) {
		case *action:
			for _, d := range s.defs {
				if d.v != nil {
					m.add(d.v, at(d.path))
				}
			}
		case *loop:
			for _, v := range []*variable{s.key, s.value} {
				if v != nil {
					m.add(v, whole)
				}
			}
		}
		return true
	})
	f.mods[s] = m
	return m
}

// makers are the groups whose operations made what a part of a variable may hold
// behind a statement.
func (f *flow) makers(s stmt, v *variable, p *part) (out []int) {
	add := func(fragment string) {
		if g, ok := f.group[fragment]; ok && !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	if v.resource >= 0 {
		add(f.g.Resources[v.resource].Home)
		return out
	}
	for _, path := range p.paths() {
		for _, o := range f.origins(v, path, s.at().after) {
			add(f.g.Nodes[o.Node].Fragment)
		}
	}
	slices.Sort(out)
	return out
}

// walker is one group's way through the tree.
type walker struct {
	*flow
	g     int
	asked map[stmt]map[int]live // what others asked for in the round before
	loops []jumps
}

// jumps are what is wanted where a break or a continue leads to.
type jumps struct{ out, head live }

func (w *walker) block(b block, out live) live {
	for _, s := range slices.Backward(b) {
		out = w.stmt(s, out)
	}
	return out
}

func (w *walker) stmt(s stmt, out live) live {
	switch s := s.(type) {
	case *action:
		return w.action(s, out)
	case *branch:
		return w.branch(s, w.owed(s, out))
	case *loop:
		return w.loop(s, w.owed(s, out))
	case *jump:
		if len(w.loops) == 0 {
			return out
		}
		if top := w.loops[len(w.loops)-1]; s.tok.String() == "break" {
			return top.out.clone()
		} else {
			return top.head.clone()
		}
	case *result:
		in := live{}
		for _, e := range s.values {
			w.uses(e, whole, in)
		}
		return in
	}
	return out
}

// owed adds what the group has to send behind a loop or branch.
func (w *walker) owed(s stmt, out live) live {
	out = out.clone()
	for g, l := range w.asked[s] {
		for v, p := range l {
			if g == w.g || w.from[s][v] != w.g {
				continue
			}
			if w.g == w.agents() && w.made(s, v) { // each replica gives its members' elements
				p = at(element)
			}
			out.add(v, p)
		}
	}
	return out
}

func (w *walker) action(a *action, out live) live {
	in := out.clone()
	needed := false
	for _, d := range a.defs {
		if d.v == nil {
			continue
		}
		p := out[d.v].and(at(d.path))
		needed = needed || !p.none()
		if a.owner != w.g && a.owner != everywhere && !p.none() {
			w.receive(a, w.g, d.v, p)
		}
	}
	for _, d := range a.defs {
		if d.v != nil && !d.weak {
			in.drop(d.v, at(d.path))
		}
	}
	if a.owner == w.g || a.owner == everywhere && needed {
		if w.has[a] == nil {
			w.has[a] = map[int]live{}
		}
		w.has[a][w.g] = out
		wanted := out
		for g, l := range w.asked[a] { // what it sends is wanted of it
			if g != w.g {
				wanted = wanted.union(l)
			}
		}
		return in.union(w.wants(a, wanted))
	}
	return in
}

// outside tries to let a group pass a loop or branch by: what changed there and is
// wanted comes from one other group, behind it. skip is what the group follows it
// for all the same.
func (w *walker) outside(s stmt, out live) (in live, ok bool) {
	in = out.clone()
	type need struct {
		v    *variable
		p    *part
		from int
	}
	var needs []need
	changed := w.changes(s)
	for _, v := range out.sorted() {
		p := out[v].and(changed[v])
		if p.none() {
			continue
		}
		from := w.makers(s, v, p)
		if len(from) != 1 || from[0] == w.g {
			return nil, false
		}
		needs = append(needs, need{v, p, from[0]})
	}
	for _, n := range needs {
		w.receive(s, w.g, n.v, n.p)
		if w.from[s] == nil {
			w.from[s] = map[*variable]int{}
		}
		w.from[s][n.v] = n.from
		in.drop(n.v, n.p)
	}
	return in, true
}

// concerned reports whether anything that is wanted changes in a statement.
func (w *walker) concerned(s stmt, out live) bool {
	for v, p := range w.changes(s) {
		if !out[v].and(p).none() {
			return true
		}
	}
	return false
}

func (w *walker) branch(s *branch, out live) live {
	follow := w.keep[s][w.g] || owned(s, w.g) || exits(s) && (len(w.loops) > 0 || returnsOut(s))
	if !follow && s.free && w.concerned(s, out) {
		follow = true
	}
	if !follow {
		if in, ok := w.outside(s, out); ok {
			return in
		}
		w.follow(s, w.g)
	} else {
		w.follow(s, w.g)
	}
	in := live{}
	exhaustive := false
	for _, a := range s.arms {
		in = in.union(w.block(a.block, out))
		for _, e := range a.list {
			w.uses(e, whole, in)
		}
		exhaustive = exhaustive || s.choice && a.list == nil
	}
	if !s.choice {
		exhaustive = len(s.arms) > 1
	}
	if !exhaustive {
		in = in.union(out)
	}
	if s.cond != nil {
		w.uses(s.cond, whole, in)
	}
	return in
}

func (w *walker) loop(s *loop, out live) live {
	if !s.next && !w.keep[s][w.g] && !owned(s, w.g) && !exits(s) {
		if in, ok := w.outside(s, out); ok {
			return in
		}
	}
	w.follow(s, w.g)
	if w.shared(s, w.g) {
		out = w.together(s, out)
	}
	inner := w.round(s, live{})
	through := out.clone() // what passes the loop by
	if !s.next {
		through = w.after(s, out, inner)
	}
	head := w.round(s, through)
	if w.shared(s, w.g) {
		w.keeps(s, head)
	}
	in := w.head(s, head)
	if s.init != nil {
		in = w.action(s.init, in)
	}
	return in
}

// after lets what is only wanted behind a loop cross there.
func (w *walker) after(s *loop, out, inner live) live {
	through := out.clone()
	changed := w.changes(s)
	for _, v := range out.sorted() {
		p := out[v].and(changed[v])
		if p.none() || !inner[v].and(p).none() {
			continue
		}
		from := w.makers(s, v, p)
		if len(from) != 1 || from[0] == w.g || v.resource < 0 && !owned(s, from[0]) {
			continue // or it is only moved there, which the group can do itself
		}
		w.receive(s, w.g, v, p)
		if w.from[s] == nil {
			w.from[s] = map[*variable]int{}
		}
		w.from[s][v] = from[0]
		through.drop(v, p)
	}
	return through
}

// round is what is wanted at the top of a loop's body, gone round until it is
// settled.
func (w *walker) round(s *loop, out live) live {
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

func (w *walker) body(s *loop, out live) live {
	if s.post != nil {
		out = w.action(s.post, out)
	}
	w.loops[len(w.loops)-1].head = out // where continue leads to
	in := w.block(s.body, out)
	for _, v := range []*variable{s.key, s.value} {
		if v != nil {
			in.drop(v, whole)
		}
	}
	return w.head(s, in)
}

// head adds what deciding on a round needs.
func (w *walker) head(s *loop, in live) live {
	in = in.clone()
	for _, e := range []ast.Expr{s.cond, s.over} {
		if e != nil {
			w.uses(e, whole, in)
		}
	}
	return in
}

// together gathers, behind a loop over members, the elements of those slices that
// are wanted whole.
func (w *walker) together(s *loop, out live) live {
	out = out.clone()
	for _, v := range out.sorted() {
		if p := out[v]; v.resource < 0 && !p.elementwise() && w.made(s, v) {
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

func (w *walker) keeps(s *loop, l live) {
	if w.lasting[s] == nil {
		w.lasting[s] = map[*variable]bool{}
	}
	for v := range l {
		w.lasting[s][v] = true
	}
}
