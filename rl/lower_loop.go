package rl

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/internal/subgraph"
)

// errUnroll is why a loop cannot be one of the program's: it is written out, round
// after round.
var errUnroll = errors.New("the loop's index must be known")

// Unroll serves operations that cannot take an index that is a graph value: the
// loops around them are written out, from the innermost one, until it is known.
func Unroll(why string) { Fail(fmt.Errorf("%w: %s", errUnroll, why)) }

// For makes a loop of a device program: body n times, with the variables that it
// changes and that live on.
func (system) For(r *Run, n int, vars []Carried, body func(i Int)) {
	r.root().lower.loop(n, nil, vars, func(i Int) Tensor {
		body(i)
		return Tensor{}
	})
}

// Until does what For does that ends early, after the round in which body gives true, a bool
// scalar.
func (system) Until(r *Run, n int, vars []Carried, body func(i Int) (stop Tensor)) {
	r.root().lower.loop(n, nil, vars, body)
}

// carriers returns everything that may change in a loop.
func (l *Lowering) carriers(vars []Carried) []Carried {
	return slices.Concat(l.state, []Carried{&l.logs, Carry(&l.failed), Carry(&l.tally), Carry(&l.logged)}, vars)
}

func (b *logBook) carried() []Tensor { return Leaves(b.values) }
func (b *logBook) carry(t []Tensor)  { b.values = Rebuild(b.values, t) }
func (b *logBook) form() func()      { return func() {} }

// meet: what was logged for the first time is there from now on, but absent.
func (b *logBook) meet(before, after picture) []Tensor {
	b.values = make([]logSum, len(b.names))
	b.carry(append(slices.Clone(before.leaves), make([]Tensor, 2*len(b.names)-len(before.leaves))...))
	return append(slices.Clone(after.leaves), make([]Tensor, 2*len(b.names)-len(after.leaves))...)
}

// held returns what carriers hold at a point.
func held(carriers []Carried) (out []Tensor) {
	for _, c := range carriers {
		out = append(out, c.carried()...)
	}
	return out
}

// hold gives carriers their tensors.
func hold(carriers []Carried, t []Tensor) {
	for _, c := range carriers {
		n := len(c.carried())
		c.carry(t[:n:n])
		t = t[n:]
	}
}

// loop makes a While of n rounds, or of limit if that is less.
func (l *Lowering) loop(n int, limit *graph.Node, vars []Carried, body func(Int) Tensor) {
	if n < 1 {
		return
	}
	around := l.frame
	defer func() { l.frame = around }()
	l.frame = &frame{n: n}
	if l.far && limit == nil {
		l.frame.state = asking
	}
	carriers := l.carriers(vars)
	before, outer := l.mark(), l.takeStreams()
	l.inner = true
	seen, err := l.rehearse(carriers, body)
	inner := l.inner
	l.inner = false // what is around has a loop in it
	steps := l.steps != before.steps
	l.reset(before)
	if errors.Is(err, errUnroll) && limit == nil {
		l.frame = around
		l.putStreams(outer)
		l.written(n, body)
		return
	}
	check(err)
	l.frame.state = framed
	if k := divisor(n, l.unroll); k > 1 && inner && limit == nil && !seen.stop.Ok() && !(steps && l.scope.dev.kernels) {
		n, body = n/k, l.frame.several(k, body)
		seen, err = l.rehearse(carriers, body)
		l.reset(before)
		l.inner = false
		check(err)
	}
	l.frame.make(l.c.graph)
	w := &while{l: l, n: n, limit: limit, carriers: carriers, seen: seen, stops: seen.stop.Ok()}
	if w.stops && limit == nil && (steps || slices.ContainsFunc(seen.blocks, whole)) {
		failf("an environment is stepped, or a rollout filled, in a loop that may end early: how many steps an iteration makes would depend on it")
	}
	w.build(body)
	l.mergeStreams(outer, w.blocks)
}

// divisor returns the largest number up to most that divides n.
func divisor(n, most int) int {
	for k := min(n, most); k > 1; k-- {
		if n%k == 0 {
			return k
		}
	}
	return 1
}

// several returns k rounds as one.
func (f *frame) several(k int, body func(Int) Tensor) func(Int) Tensor {
	return func(i Int) Tensor {
		first := i.Times(k)
		for j := range k {
			f.round = first.plus(j)
			f.round.of = f
			body(f.round)
		}
		return Tensor{}
	}
}

// written writes a loop out.
func (l *Lowering) written(n int, body func(Int) Tensor) {
	for i := range n {
		if stop := body(IntOf(i)); stop.Ok() {
			failf("a loop that may end early cannot be written out")
		}
	}
}

// mark is how far lists have come, so that a rehearsal leaves no trace.
type mark struct{ hosts, checks, steps, times int }

func (l *Lowering) mark() mark { return mark{len(l.hosts), len(l.checks), l.steps, l.times} }

func (l *Lowering) reset(m mark) {
	l.hosts, l.checks, l.steps, l.times = l.hosts[:m.hosts], l.checks[:m.checks], m.steps, m.times
}

// rehearsal holds what building a body once, in vain, shows of it.
type rehearsal struct {
	entry   []Tensor // nodes; what was absent before and is there after starts as zero
	changed []int    // positions of what changes
	blocks  []given
	stop    Tensor
}

// rehearse builds body in a closure that is never called.
func (l *Lowering) rehearse(carriers []Carried, body func(Int) Tensor) (seen rehearsal, err error) {
	hold(carriers, l.c.lift(held(carriers)))
	before := pictures(carriers)
	l.frame.begin(carriers)
	var after []picture
	err = Catch(func() error {
		subgraph.Closure(l.c.graph, func(g *graph.Graph) []*graph.Node {
			seen.stop = body(l.frame.index(graph.Parameter(g, "i", shapes.Make(dtypes.Int32))))
			l.frame.rehearsed()
			after = pictures(carriers)
			seen.blocks = l.takeStreams()
			return []*graph.Node{graph.Const(g, int32(0))}
		})
		return nil
	})
	if err != nil {
		l.takeStreams()
		after = before
	}
	var exit []Tensor
	for i, c := range carriers {
		exit = append(exit, c.meet(before[i], after[i])...)
	}
	seen.compare(l.c.graph, held(carriers), exit)
	hold(carriers, seen.entry)
	return seen, err
}

// compare finds what changes between the beginning of a body and its end.
func (s *rehearsal) compare(g *graph.Graph, entry, exit []Tensor) {
	s.entry = entry
	for i, t := range exit {
		switch old := entry[i]; {
		case !t.Ok() && !old.Ok():
		case !old.Ok():
			s.entry[i] = Wrap(graph.Zeros(g, t.Shape()))
			s.changed = append(s.changed, i)
		case t.node != old.node:
			if t.Ok() && !t.Shape().Equal(old.Shape()) {
				failf("a variable that a loop carries has shape %s before a round and %s after it", old.Shape(), t.Shape())
			}
			s.changed = append(s.changed, i)
		}
	}
}

// picture is the content of a carrier at a point: its tensors, and how to give it the
// form that it has there.
type picture struct {
	leaves []Tensor
	form   func()
}

func pictures(carriers []Carried) []picture {
	out := make([]picture, len(carriers))
	for i, c := range carriers {
		out[i] = picture{c.carried(), c.form()}
	}
	return out
}

// reconciled takes a carrier back to where it was, and returns what it held in the
// end. What had no tensors at one of the two points, such as a tree that is filled
// in a body, has the form of the other, and is absent.
func reconciled(c Carried, before, after picture) (exit []Tensor) {
	a, b := before.leaves, after.leaves
	switch {
	case len(a) == len(b) || absent(b):
		before.form()
		c.carry(a)
		return fitted(b, len(a))
	case absent(a):
		after.form()
		c.carry(make([]Tensor, len(b)))
		return b
	}
	failf("a variable that a loop or branch of a device program changes has %d tensors before it and %d after", len(a), len(b))
	return nil
}

func absent(t []Tensor) bool {
	return !slices.ContainsFunc(t, Tensor.Ok)
}

// fitted returns n tensors, all absent where there were none at all.
func fitted(t []Tensor, n int) []Tensor {
	if len(t) != n && absent(t) {
		return make([]Tensor, n)
	}
	return t
}

// leaving returns the nodes of what changed, at the end of a body.
func leaving(g *graph.Graph, carriers []Carried, sizes []int, entry []Tensor, changed []int) []*graph.Node {
	var exit []Tensor
	for i, c := range carriers {
		exit = append(exit, fitted(c.carried(), sizes[i])...)
	}
	out := make([]*graph.Node, len(changed))
	for j, at := range changed {
		if t := exit[at]; t.Ok() {
			out[j] = t.Node()
		} else {
			out[j] = graph.Zeros(g, entry[at].Shape())
		}
	}
	return out
}

// sizes returns how many tensors carriers hold.
func sizes(carriers []Carried) []int {
	out := make([]int, len(carriers))
	for i, c := range carriers {
		out[i] = len(c.carried())
	}
	return out
}

// while is a loop of the program under construction.
type while struct {
	l        *Lowering
	n        int
	limit    *graph.Node
	carriers []Carried
	seen     rehearsal
	stops    bool
	blocks   []given
}

// build makes the While and leaves its results with the carriers.
func (w *while) build(body func(Int) Tensor) {
	g, form := w.l.c.graph, formed(w.carriers)
	initial := []*graph.Node{graph.Const(g, int32(0))}
	if w.stops {
		initial = append(initial, graph.Const(g, false))
	}
	for _, i := range w.seen.changed {
		initial = append(initial, w.seen.entry[i].node)
	}
	for _, s := range w.seen.blocks {
		initial = append(initial, s.Room(g, w.n)...)
	}
	cond := subgraph.Closure(g, func(g *graph.Graph) []*graph.Node { return []*graph.Node{w.goesOn(params(g, initial))} })
	step := subgraph.Closure(g, func(g *graph.Graph) []*graph.Node { return w.round(g, params(g, initial), body) })
	form()
	w.results(graph.While(cond, step, initial...))
}

// params returns a closure's parameters for the loop's state.
func params(g *graph.Graph, like []*graph.Node) []*graph.Node {
	out := make([]*graph.Node, len(like))
	for i, x := range like {
		out[i] = graph.Parameter(g, fmt.Sprintf("state%d", i), x.Shape())
	}
	return out
}

// goesOn returns the loop's condition.
func (w *while) goesOn(state []*graph.Node) *graph.Node {
	i := state[0]
	more := graph.LessThan(i, graph.ConstAs(i, w.n))
	if w.limit != nil {
		more = graph.LogicalAnd(more, graph.LessThan(i, w.limit))
	}
	if w.stops {
		more = graph.LogicalAnd(more, graph.LogicalNot(state[1]))
	}
	return more
}

// round returns one round of the loop.
func (w *while) round(g *graph.Graph, state []*graph.Node, body func(Int) Tensor) []*graph.Node {
	l, i := w.l, state[0]
	now := slices.Clone(w.seen.entry)
	rest := state[1:]
	if w.stops {
		rest = rest[1:]
	}
	for _, at := range w.seen.changed {
		now[at], rest = Wrap(rest[0]), rest[1:]
	}
	hold(w.carriers, now)
	sizes := sizes(w.carriers)
	times := l.times
	if w.limit == nil { // else it is the loop over iterations itself
		l.times *= w.n
	}
	stop := body(l.frame.index(i))
	l.times = times
	out := []*graph.Node{graph.AddScalar(i, int32(1))}
	if w.stops {
		out = append(out, stop.Node())
	}
	out = append(out, leaving(g, w.carriers, sizes, w.seen.entry, w.seen.changed)...)
	w.blocks = l.takeStreams()
	for _, s := range w.blocks {
		var put []*graph.Node
		put, rest = s.Put(g, i, rest)
		out = append(out, put...)
	}
	return out
}

// formed gives carriers back the form that they have now.
func formed(carriers []Carried) func() {
	now := pictures(carriers)
	return func() {
		for _, p := range now {
			p.form()
		}
	}
}

// results gives what the loop left to the carriers and streams.
func (w *while) results(out []*graph.Node) {
	now := slices.Clone(w.seen.entry)
	rest := out[1:]
	if w.stops {
		rest = rest[1:]
	}
	for _, at := range w.seen.changed {
		now[at], rest = Wrap(rest[0]), rest[1:]
	}
	hold(w.carriers, now)
	w.l.rounds = Wrap(out[0])
	for i := range w.blocks {
		w.blocks[i].Block, rest = w.blocks[i].Gather(w.n, rest)
	}
}

// If makes a branch of a device program: one of two bodies, with the variables that
// they change and that live on.
func (system) If(r *Run, yes Tensor, vars []Carried, then, otherwise func()) {
	l := r.root().lower
	around := l.frame
	l.frame = &frame{} // arms are built several times, and draw for themselves
	defer func() { l.frame = around }()
	carriers := l.carriers(vars)
	before, outer := l.mark(), l.takeStreams()
	arms := []func(){then, otherwise}
	var seen [2]rehearsal
	for again := true; again; { // what one arm logs or fills the other has as well
		size := sizes(carriers)
		for i, arm := range arms {
			seen[i] = l.rehearseArm(carriers, before, arm)
		}
		again = !slices.Equal(size, sizes(carriers))
	}
	l.putStreams(outer)
	entry := held(carriers)
	changed := slices.Concat(seen[0].changed, seen[1].changed)
	slices.Sort(changed)
	changed = slices.Compact(changed)
	if len(changed) == 0 {
		return
	}
	l.branch(yes, carriers, entry, changed, arms, sidesOf(seen[0].blocks, seen[1].blocks))
}

// rehearseArm returns rehearse for an arm of a branch, in which nothing may happen whose
// number has to be known.
func (l *Lowering) rehearseArm(carriers []Carried, before mark, arm func()) rehearsal {
	seen, err := l.rehearse(carriers, func(Int) Tensor {
		if arm != nil {
			arm()
		}
		return Tensor{}
	})
	check(err)
	if slices.ContainsFunc(seen.blocks, whole) {
		failf("what a branch inserts or steps cannot be part of a device program: how much there is would depend on the branch")
	}
	if l.steps != before.steps {
		failf("an environment is stepped inside a branch: how many steps an iteration makes would depend on it")
	}
	l.reset(before)
	return seen
}

func (l *Lowering) branch(yes Tensor, carriers []Carried, entry []Tensor, changed []int, arms []func(), logs []sides) {
	var closures [2]*graph.Function
	sizes, form := sizes(carriers), formed(carriers)
	outer := l.takeStreams()
	for i, arm := range arms {
		closures[i] = subgraph.Closure(l.c.graph, func(*graph.Graph) []*graph.Node {
			form()
			hold(carriers, entry)
			if arm != nil {
				arm()
			}
			out := leaving(l.c.graph, carriers, sizes, entry, changed)
			for j, at := range changed {
				if out[j] == entry[at].node {
					out[j] = graph.Identity(out[j])
				}
			}
			return append(out, padded(l.takeStreams(), logs, i)...)
		})
	}
	form()
	now := slices.Clone(entry)
	made := graph.If(yes.Node(), closures[0], closures[1])
	for j, at := range changed {
		now[at] = Wrap(made[j])
	}
	hold(carriers, now)
	l.mergeStreams(outer, unpadded(made[len(changed):], logs))
}
