package rl

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/internal/total"
)

// The loop as one device program.
//
// Under gpu-only nothing crosses to the host for a chunk of iterations. rl/lower*.go builds that
// program out of the very functions that the loop calls: generated code runs the author's
// statements once, on nodes, and the components hold nodes for state meanwhile (rl.Resident).
//
//   - Loops and branches. Run.For and Run.If first build a body in vain, in a closure that nobody
//     calls, to see what it changes, logs and puts aside; then they build it in earnest with just
//     that as the loop's state. A variable that is absent before the loop and there after it starts
//     as zeros of the shape that the rehearsal saw. An index that somebody must know as a Go number
//     unrolls its loop.
//   - What only the host knows, schedules and conditions on counters, is a table with a row for
//     each iteration of the chunk, which the author's own Go code fills before the call (HostFloat,
//     HostBool).
//   - Streams are what a loop puts aside round by round: a rollout's steps, and the rewards and
//     ends by which the host follows episodes when the chunk is done.
//   - The same bits. Keys, permutations and uniform draws exist as graph code with the integer
//     arithmetic of the Go code; logged tensors are added up in a written order (halves, element by
//     element) in both. On the CPU engine a draw is one operation, its generator of Philox blocks,
//     of which a key is the state. So on the CPU engine weights, state, metrics and episodes are
//     the plain loop's, and a run moves between gpu-only and any other policy at a checkpoint.
//   - Failures (a loss that is not a number) are carried through the program as the number of the
//     first check that failed, which has the author's position.
//   - Several devices (rl/lower_parts.go) have one program on whole values, of which is said beside
//     it how inputs and outputs are cut: state of environments along them, everything else not at
//     all. XLA's partitioner does the rest, so there is no second analysis of a loop, no algorithm
//     is special, and nothing but the order of sums depends on how many devices there are. Where
//     rows come from nowhere, as a minibatch's do, their numbers are an input that is cut, and what
//     is done by these numbers follows. The alternative, the multi-learner program lowered with
//     collectives for edges, would keep Weft's kernels, which a partitioner cannot take apart; but
//     it needs shapes that do not depend on which rows a shuffle gives to whom.

// Lowering is a training loop under construction as one device program. Generated
// code runs the author's statements once, on nodes: components hold nodes for
// state, For and If make the program's loops and branches of Go's, and what only
// the host knows (schedules, counters) comes in as a table with one row for each
// iteration of a chunk.
type Lowering struct {
	c     *Ctx
	scope *Scope
	run   *Run

	state  []Carried // state of all components, followed by the log's and the failure
	iter   *graph.Node
	at     *graph.Node // iteration of the chunk
	chunk  int         // the most iterations that a call makes
	inCall bool        // a graph function is being built
	unroll int         // rounds of an innermost loop that one trip makes
	far    bool        // kernels are launched one by one: few of them count
	frame  *frame      // the loop that is being built
	inner  bool        // there has been no loop since this was set

	hosts   []hostTable
	tables  []*graph.Node
	counts  []int         // sizes of the vectors of numbers that are asked for
	counted []*graph.Node // and what of them is given
	uneven  []int         // sizes of those that devices cannot share
	logs    logBook
	raw     bool // what is logged is put aside as it is
	rawLogs []spanLog
	logged  Tensor // then, how often something was
	streams []*Stream
	rounds  Tensor // rounds of the last loop
	failed  Tensor // 0, or the number of the first check that failed, from 1
	checks  []*Failure
	health  []*Stream // values that FiniteStep put aside, by check
	steps   int       // environment steps of an iteration

	moves *Stream // ends and rewards of every step
	moved Moved   // what they are of
	sums  bool    // episodes are added up on the device, and moves is empty
	tally tally   // then, of this iteration
	times int     // rounds of the loops around
}

// hostTable is a number that the host computes for every iteration, or a tensor that it brings.
type hostTable struct {
	dtype dtypes.DType
	of    func(*Run) float64
	dims  []int             // of a tensor
	bring func(*Run) Tensor // nil of a number
}

// under returns the construction that leaves belong to; one that has no node among them
// may still stand in the loop of a device program.
func (s *Scope) under(leaves []Tensor) *Ctx {
	if c := ctxOf(leaves); c != nil {
		return c
	}
	if s.lower != nil {
		return s.lower.c
	}
	return nil
}

// Lowering returns the device program that is being built of the scope's loop, or nil.
func (s *Scope) Lowering() *Lowering {
	if s == nil {
		return nil
	}
	return s.lower
}

// counting checks that counters are asked for where they are numbers.
func (r *Run) counting() *Run {
	if r.lower != nil {
		failf("a counter is read inside a device program, where only the host knows it: generated code asks through edge.HostFloat or edge.HostBool")
	}
	return r
}

// call builds a graph function that the loop calls on a batch of lead rows.
func (l *Lowering) call(k Key, lead int, build func()) {
	l.inCall = true
	l.c.calling(k, lead, build)
	l.inCall = false
}

// Int is an integer of a lowered loop: its index.
type Int struct {
	n    int
	node *graph.Node // int32 scalar
	of   *frame      // the loop whose index it is; nil where it is calculated
}

// IntOf returns an integer that is known.
func IntOf(n int) Int { return Int{n: n} }

// Known returns the integer, where the loop was not made one of the program's.
func (i Int) Known() (n int, ok bool) { return i.n, i.node == nil }

// Node returns the integer as an int32 scalar of graph g.
func (i Int) Node(g *graph.Graph) *graph.Node {
	if i.node == nil {
		return graph.Const(g, int32(i.n))
	}
	return i.node
}

// Times returns the integer n times.
func (i Int) Times(n int) Int {
	if i.node == nil {
		return IntOf(i.n * n)
	}
	return Int{node: graph.MulScalar(i.node, n)}
}

func (i Int) plus(n int) Int {
	switch {
	case i.node == nil:
		return IntOf(i.n + n)
	case n == 0:
		return i
	}
	return Int{node: graph.AddScalar(i.node, n)}
}

// Inside reports whether the key is one of a device program.
func (k Key) Inside() bool { return k.in != nil }

// Graph returns the program's graph.
func (l *Lowering) Graph() *graph.Graph { return l.c.graph }

// Lift turns values among tensors into constants of the program.
func (l *Lowering) Lift(tensors []Tensor) []Tensor { return l.c.lift(tensors) }

// known returns what is known of an index that a key is folded with.
func (l *Lowering) known(i Int) *keyFold {
	switch {
	case i.of == nil:
		return nil
	case i.of == l.frame:
		return &keyFold{round: true}
	}
	return &keyFold{node: i.node} // of a loop around
}

// KeyAt does what Key does with positions that may be graph values.
func (system) KeyAt(r *Run, use string, at ...Int) Key {
	k := r.Key(use)
	for _, i := range at {
		if i.node == nil {
			k = k.Fold(uint64(i.n))
		} else {
			k = k.foldNode(i.node, r.root().lower.known(i))
		}
	}
	return k
}

// host does what System.Table does.
func (r *Run) host(d dtypes.DType, f func(*Run) float64) Tensor {
	l := r.root().lower
	if l == nil {
		failf("the host's numbers are asked for outside of a device program")
	}
	return l.table(hostTable{dtype: d, of: func(host *Run) float64 { return f(r.as(host)) }})
}

// as returns the same view of another run: a member's, say.
func (r *Run) as(root *Run) *Run {
	if r.parent == nil {
		return root
	}
	return &Run{scope: r.scope, parent: root, prefix: r.prefix, key: r.key}
}

// Finite stops the run when floats among tensors are not numbers.
func (l *Lowering) Finite(what string, tensors []Tensor) {
	if l.far && l.scope.dev.parts < 2 { // as one vector, gradients would be shared out as rows are
		tensors = flattened(tensors)
	}
	sum := graph.Const(l.c.graph, float32(0))
	for _, t := range tensors {
		if x := t.Node(); x.DType().IsFloat() {
			// 0, or no number for infinities and what is none: a sum costs less than a test of
			// every element.
			sum = graph.Add(sum, graph.ConvertDType(graph.ReduceAllSum(graph.Sub(x, x)), dtypes.Float32))
		}
	}
	l.Check(Wrap(graph.Equal(sum, graph.ZerosLike(sum))), "%s is not a number", what)
}

// flattened returns floats as one vector, so that they are looked at in one go.
func flattened(tensors []Tensor) []Tensor {
	parts := map[dtypes.DType][]*graph.Node{}
	var kinds []dtypes.DType
	for _, t := range tensors {
		x := t.Node()
		d := x.DType()
		if !d.IsFloat() {
			continue
		}
		if parts[d] == nil {
			kinds = append(kinds, d)
		}
		parts[d] = append(parts[d], graph.Reshape(x, -1))
	}
	var out []Tensor
	for _, d := range kinds {
		out = append(out, Wrap(graph.Concatenate(parts[d], 0)))
	}
	return out
}

// FiniteStep does what Finite does of what a step of environments returned, tensors that all
// have a row for each of them. Steps are many and small: on a device that is far
// rows are only put aside, and looked at when the iteration is over.
func (l *Lowering) FiniteStep(what string, tensors []Tensor) {
	if !l.far {
		l.Finite(what, tensors)
		return
	}
	var sick *graph.Node // 0 or not a number, by row
	for _, t := range tensors {
		x := t.Node()
		if !x.DType().IsFloat() {
			continue
		}
		if x = graph.ConvertDType(graph.Sub(x, x), dtypes.Float32); x.Rank() > 1 {
			x = graph.ReduceSum(graph.Reshape(x, x.Shape().Dimensions[0], -1), -1)
		}
		if sick != nil {
			x = graph.Add(x, sick)
		}
		sick = x
	}
	if sick == nil {
		return
	}
	l.checks = append(l.checks, newFailure(fmt.Errorf("%s is not a number", what)))
	for len(l.health) < len(l.checks) {
		l.health = append(l.health, nil)
	}
	at := &l.health[len(l.checks)-1]
	if *at == nil {
		*at = l.NewStream()
	}
	(*at).Put([]Tensor{Wrap(sick)})
}

// examine looks at what FiniteStep put aside in an iteration.
func (l *Lowering) examine() {
	for i, s := range l.health {
		if s == nil {
			continue
		}
		if items, sick := s.Take(); items > 0 {
			l.fail(i+1, graph.LogicalAll(graph.IsFinite(sick[0].Node())))
		}
	}
}

// Check stops the run when a bool scalar is false in any iteration.
func (l *Lowering) Check(ok Tensor, format string, args ...any) {
	l.checks = append(l.checks, newFailure(fmt.Errorf(format, args...)))
	l.fail(len(l.checks), ok.Node())
}

// fail notes that check number n failed, unless ok is true or another did before.
func (l *Lowering) fail(n int, ok *graph.Node) {
	id := graph.Const(l.c.graph, int32(n))
	old := l.failed.Node()
	first := graph.LogicalAnd(graph.LogicalNot(ok), graph.Equal(old, graph.ZerosLike(old)))
	l.failed = Wrap(graph.Where(first, id, old))
}

// Moved is one step of environments, as the host follows their episodes by it.
type Moved struct {
	Episodes    *Episodes
	First, Envs int      // the global index of the first, and how many the run has
	Kinds       []string // kinds of agents, if there are several
	Reward      []Tensor // rewards by kind, [env] or [env, agent]
	Over        Tensor
}

// Stepped tells the host of a step.
func (l *Lowering) Stepped(m Moved) {
	if l.moved.Episodes != nil && l.moved.Episodes != m.Episodes {
		failf("a device program can step one batch of environments, not two")
	}
	l.moved = m
	l.steps += m.Envs * l.times
	if l.sums {
		l.count(m)
		return
	}
	put := []Tensor{m.Over}
	for _, r := range m.Reward {
		if l.far && r.Shape().Rank() > 1 { // agents are many, and it is far to the host
			r = Wrap(ofEnvs(m, r))
		}
		put = append(put, r)
	}
	l.moves.Put(put)
}

// logBook holds the logs of an iteration: sums and counts by name.
type logBook struct {
	names  []string
	values []logSum
}

type logSum struct{ Sum, Count Tensor } // float64 scalars

// log adds a tensor to the sum of its name.
func (l *Lowering) log(name string, x Tensor) {
	if l.raw {
		l.logRaw(name, x)
		return
	}
	node := l.c.lift([]Tensor{x})[0].Node()
	var sum *graph.Node
	if l.c.dev.shared {
		sum = total.Node(node)
	} else { // a tree of halves would be many small kernels
		sum = graph.ConvertDType(graph.ReduceAllSum(graph.ConvertDType(node, dtypes.Float32)), dtypes.Float64)
	}
	s := l.logs.of(name, l.c.graph)
	s.Sum = Wrap(graph.Add(s.Sum.node, sum))
	s.Count = Wrap(graph.AddScalar(s.Count.node, float64(node.Shape().Size())))
}

func (b *logBook) of(name string, g *graph.Graph) *logSum {
	for i, n := range b.names {
		if n == name {
			if !b.values[i].Sum.Ok() {
				b.values[i] = logSum{zero64(g), zero64(g)}
			}
			return &b.values[i]
		}
	}
	b.names = append(b.names, name)
	b.values = append(b.values, logSum{zero64(g), zero64(g)})
	return &b.values[len(b.values)-1]
}

func zero64(g *graph.Graph) Tensor { return Wrap(graph.Const(g, float64(0))) }
