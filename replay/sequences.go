package replay

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// Sequences keeps the last steps of every environment and lends out sequences of
// them, for recurrent networks (Kapturowski et al., "Recurrent experience replay in
// distributed reinforcement learning", 2019). E is a struct of tensors [env, ...],
// one row for each environment.
//
// The first sequence of an episode begins with its first step, the next one Stride
// steps later, and so on. A sequence never goes beyond its episode: Sample.Valid says
// where it ends. It can be drawn once it is complete. One without a step beyond those
// of the sequence before it is left out. So every step is in a sequence, and steps
// are stored once however many sequences share them.
//
// Fields of E that are tagged `replay:"start"` are recurrent memory, as it was before
// the step. Only that of each sequence's first step is stored, and a sample has it as
// [rows, ...]; of all other fields it has [rows, time, ...]. The memory of a sequence
// that begins an episode is zero. Others have been computed with older weights, and
// BurnIn is how many of their first steps bring it up to date before there is
// something to learn: Sample.Learn is false there.
//
// Steps are rows, numbered for life in (step, environment) order as those of a Table,
// and a sequence has the number of its first row. So neither how environments are
// spread over workers nor where the table lives can change a sample.
//
//weft:component table axis=none home=replay large
type Sequences[E any] struct {
	SequenceOptions
	store[E]
	roles  []role
	begins *rl.Ring // whether a row is the first of its episode
	age    []int64  // steps of every environment's episode so far
	held   int64    // sequences that can be drawn
	cut    cuts     // the last three on a device, where a program has them
}

// SequenceOptions are how sequences are cut and drawn.
type SequenceOptions struct {
	Length int // steps of a sequence, the burn-in included
	// Stride is the steps from the start of a sequence to that of the next; 0 means
	// Length - BurnIn, with which every step is learned from once.
	Stride int
	BurnIn int // steps at the beginning of a sequence that only warm the memory up
	// Priority makes Sample draw sequences in proportion to what Prioritise gave them;
	// before that a sequence has the largest priority that any was given.
	Priority bool
}

var sequenceTags = map[string]role{"start": ofStart}

// NewSequences returns an empty table of capacity steps.
//
//weft:makes name=1
func NewSequences[E any](s *rl.Scope, name string, capacity int, how SequenceOptions) *Sequences[E] {
	if how.Stride == 0 {
		how.Stride = how.Length - how.BurnIn
	}
	switch {
	case capacity < 1:
		rl.Failf("sequences %q: capacity %d: it must be at least 1 step", name, capacity)
	case how.Length < 1 || how.BurnIn < 0:
		rl.Failf("sequences %q: Length must be at least 1 and BurnIn at least 0, got %+v", name, how)
	case how.BurnIn >= how.Length:
		rl.Failf("sequences %q: a burn-in of %d leaves nothing of %d steps to learn from", name, how.BurnIn, how.Length)
	case how.Stride < 1 || how.Stride > how.Length-how.BurnIn:
		rl.Failf("sequences %q: a stride of %d leaves steps out: it may be 1 to %d, the length without the burn-in", name, how.Stride, how.Length-how.BurnIn)
	}
	q := &Sequences[E]{SequenceOptions: how, store: store[E]{columns: columns[E]{scope: s}, capacity: capacity, top: 1, priority: newSums(capacity)}}
	rolesOf[E](rl.LeafNames(q.like), sequenceTags) // reports wrong tags
	s.Register(name, q)
	return q
}

// Insert adds a step of every environment. done, [env] bool, is where an episode
// ended with this step, in either way.
//
//weft:op insert writes fills whole
func (q *Sequences[E]) Insert(e E, done rl.Tensor) {
	leaves := rl.Leaves(e)
	if l := q.scope.Lowering(); l != nil {
		q.traced(l).insert(e, leaves, done)
		return
	}
	q.leave()
	if q.rings == nil {
		q.begin(e, leaves, done)
	}
	q.check(leaves, done)
	q.put(leaves, done)
	q.remember(leaves)
	q.enter(rl.Read[bool](done))
	q.count.Add(int64(q.envs))
}

// begin makes the rings for steps like the first ones.
func (q *Sequences[E]) begin(e E, leaves []rl.Tensor, done rl.Tensor) {
	q.shape(rl.LeafNames(e), done.Rows())
	q.store.begin(e, leaves, done, q.Length, q.roles)
	q.begins, q.age = q.scope.Ring(q.capacity, done), make([]int64, q.envs)
}

// shape works out where memory is stored. Steps are counted in blocks of Stride: an
// environment starts at most one sequence in a block, apart from those that begin
// an episode, so a block has one slot for each environment. The last slot is zero.
func (q *Sequences[E]) shape(names []string, envs int) {
	q.roles = rolesOf[E](names, sequenceTags)
	q.aside = make([]bool, len(names))
	for i, r := range q.roles {
		q.aside[i] = r == ofStart
	}
	steps := (q.capacity + envs - 1) / envs
	q.sparse = ((steps+q.Stride-1)/q.Stride+1)*envs + 1
}

// memorySlot returns where the memory of a sequence's first row is stored.
func (q *Sequences[E]) memorySlot(row int64) int {
	block := row / int64(q.envs) / int64(q.Stride) % int64(q.blocks())
	return int(block)*q.envs + int(row%int64(q.envs))
}

// blocks returns the number of blocks that memory is stored of.
func (q *Sequences[E]) blocks() int { return (q.sparse - 1) / q.envs }

// remember stores the memory of the environments whose next sequence starts now, and
// which rows begin an episode.
func (q *Sequences[E]) remember(leaves []rl.Tensor) {
	begins := make([]bool, q.envs)
	for e, age := range q.age {
		begins[e] = age == 0
		if age == 0 || age%int64(q.Stride) != 0 {
			continue
		}
		slot := q.memorySlot(q.count.Int64() + int64(e))
		for i, x := range leaves {
			if x.Ok() && q.apart(i) {
				q.rings[i].PutRow(slot, x, e)
			}
		}
	}
	q.begins.Put(q.slot(q.count.Int64()), rl.FromFlat(q.scope, begins, q.envs))
}

// enter lets the sequences be drawn that are complete with the step just put, at most
// one for each environment, and those no more whose first row it has overwritten.
func (q *Sequences[E]) enter(done []bool) {
	for e, over := range done {
		row := q.count.Int64() + int64(e)
		q.weigh(row, 0)
		if back, ok := q.completes(q.age[e], over); ok {
			q.weigh(row-back*int64(q.envs), q.top)
		}
		q.age[e]++
		if over {
			q.age[e] = 0
		}
	}
}

// Break ends the sequences of environments whose next steps do not follow their last ones,
// as the end of an episode does.
func (q *Sequences[E]) Break(envs []rl.Span) {
	q.leave()
	for _, e := range q.breaks(envs) {
		age := q.age[e] - 1
		if _, whole := q.completes(age, false); !whole { // else it can be drawn already
			back, _ := q.completes(age, true)
			q.weigh(q.lastRow(e)-back*int64(q.envs), q.top)
		}
		q.age[e] = 0
	}
}

// completes finds the sequence that a step completes which comes age steps after the
// beginning of its episode: how many steps before it the sequence started.
func (q *Sequences[E]) completes(age int64, over bool) (back int64, ok bool) {
	first := age - int64(q.Length-1) // of a whole sequence
	stride := int64(q.Stride)
	start := (max(0, first) + stride - 1) / stride * stride
	return age - start, over || start == first
}

// weigh gives the sequence of a row a priority, or none.
func (q *Sequences[E]) weigh(row int64, p float32) {
	slot := q.slot(row)
	switch was := q.priority.of(slot); {
	case was == 0 && p == 0:
		return
	case was > 0:
		q.held--
	}
	if p > 0 {
		q.held++
	}
	q.priority.set(slot, p)
}

// Ready reports whether there are n sequences to draw from.
//
//weft:op read reads shape=one device=ReadyAt
func (q *Sequences[E]) Ready(n int) bool {
	if q.cut.Held.Ok() {
		q.held = rl.Read[int64](q.cut.Held)[0]
	}
	return q.held >= int64(n)
}

// Sample draws n sequences, with replacement.
//
//weft:op sample reads whole shape=rows
func (q *Sequences[E]) Sample(k rl.Key, n int) Sample[E] {
	if l := q.scope.Lowering(); l != nil {
		return q.traced(l).sample(k, n)
	}
	q.land()
	if !q.Ready(1) {
		rl.Failf("sequences are sampled before one is complete: ask whether they are Ready, or begin to learn later")
	}
	prob := q.draw(k, n)
	steps := q.follow(q.Length)
	q.windows(q.Length)
	memory, burn := make([]int, n), make([]int, n)
	for i, r := range q.rows {
		if memory[i], burn[i] = q.memorySlot(r), q.BurnIn; q.begins.Bools()[q.first[i]] {
			memory[i], burn[i] = q.sparse-1, 0
		}
	}
	return Sample[E]{
		Data:  rl.Rebuild(q.like, q.gather(memory)),
		Index: rl.FromFlat(q.scope, q.rows, n),
		Prob:  rl.FromFlat(q.scope, prob, n),
		Valid: q.within(nil, steps, q.Length),
		Learn: q.within(burn, steps, q.Length),
	}
}

// draw chooses sequences and returns their probabilities.
func (q *Sequences[E]) draw(k rl.Key, n int) []float32 {
	q.rows = slices.Grow(q.rows[:0], n)[:n]
	prob := make([]float32, n)
	for i := range q.rows {
		slot := 0
		if q.Priority {
			slot, prob[i] = q.priority.draw(k, i, n)
		} else { // all weights are 1
			slot, prob[i] = q.priority.find(float64(k.IntN(i, 0, int(q.held)))+.5), float32(1/float64(q.held))
		}
		q.rows[i] = q.rowIn(slot)
	}
	return prob
}

// gather returns the tensors of a sample whose memory is in these slots.
func (q *Sequences[E]) gather(memory []int) []rl.Tensor {
	out := make([]rl.Tensor, len(q.rings))
	for i, r := range q.rings {
		switch {
		case r == nil:
		case q.apart(i):
			out[i] = r.Gather(q.scope, memory)
		default:
			out[i] = r.Gather(q.scope, q.window, len(memory), q.Length)
		}
	}
	return out
}

// Prioritise gives sequences of a sample, by their index, new priorities: positive
// numbers [rows] float32, to which the probability of being drawn is proportional. A
// sequence that was overwritten since is left out; of two that are the same the later
// one counts.
//
//weft:op prioritise writes whole
func (q *Sequences[E]) Prioritise(index, priority rl.Tensor) {
	if !q.Priority {
		rl.Failf("sequences that are drawn uniformly are given priorities: make them with SequenceOptions.Priority")
	}
	if l := q.scope.Lowering(); l != nil {
		q.traced(l).prioritise(index, priority)
		return
	}
	q.leave()
	q.prioritise(index, priority)
}

// InPart reports why sequences cannot be given the steps of one of these parts of the
// environments at a time; nil if they can.
func (q *Sequences[E]) InPart(parts []rl.Span) error { return q.parts(max(2, q.Length), parts) }

// Axis returns that the sequences cannot be split: a sample is drawn from all of them.
func (q *Sequences[E]) Axis() rl.Axis { return rl.None }

// settings returns what a state and the table it is loaded into must agree on.
func (q *Sequences[E]) settings() []int64 {
	out := []int64{int64(q.capacity), int64(q.Length), int64(q.Stride), 0}
	if q.Priority {
		out[3] = 1
	}
	return out
}

// Save puts the steps that are there, the memory, the priorities and what is known of
// the episodes under way.
func (q *Sequences[E]) Save(s *rl.State) {
	if q.count.Int64() == 0 { // a device program may know the rows' form before there are any
		rl.PutSlice(s, "counters", append([]int64{0, 0}, q.settings()...))
		return
	}
	q.land()
	rl.PutSlice(s, "counters", append([]int64{q.count.Int64(), int64(q.envs)}, q.settings()...))
	q.save(s)
	q.begins.Save(s, "begins", q.filled(q.capacity))
	rl.PutSlice(s, "age", q.age)
}

// Load takes back what Save put.
func (q *Sequences[E]) Load(s *rl.State) error {
	c := rl.GetSliceN[int64](s, "counters", 6)
	if s.Err() != nil {
		return s.Err()
	}
	if want := q.settings(); !slices.Equal(c[2:], want) {
		return fmt.Errorf("the state is of sequences with capacity, length, stride and priorities %v, these have %v", c[2:], want)
	}
	q.empty(c[0], int(c[1]))
	q.begins, q.age, q.held, q.cut = nil, nil, 0, cuts{}
	if q.count.Int64() == 0 {
		return nil
	}
	if err := q.loadForm(s); err != nil {
		return err
	}
	q.shape(rl.LeafNames(q.like), q.envs)
	q.begins, q.age = rl.LoadRing(s, "begins", q.capacity), rl.GetSliceN[int64](s, "age", q.envs)
	if err := q.loadRows(s); err != nil {
		return err
	}
	for _, p := range q.priority.leaves(q.capacity) {
		if p > 0 {
			q.held++
		}
	}
	return nil
}

// cuts is how a device knows where sequences start, and how many there are.
type cuts struct{ Begins, Age, Held rl.Tensor }

// Resident returns the rings, the priorities, the count and what is known of episodes.
func (q *Sequences[E]) Resident() []rl.Carried {
	q.board()
	if q.rings != nil && !q.cut.Held.Ok() {
		q.cut = cuts{q.begins.Tensor(q.scope), rl.FromFlat(q.scope, q.age, q.envs), rl.FromFlat(q.scope, []int64{q.held})}
	}
	return []rl.Carried{rl.Carry(&q.on), rl.Carry(&q.cut), q.count.Carried()}
}

// land gives the host what a device program left.
func (q *Sequences[E]) land() {
	q.store.land()
	if q.cut.Held.Ok() {
		q.begins.Take(q.cut.Begins)
		copy(q.age, rl.Read[int64](q.cut.Age))
		q.held = rl.Read[int64](q.cut.Held)[0]
	}
}

// leave lands for a host that is about to change something.
func (q *Sequences[E]) leave() {
	q.land()
	q.on, q.cut = stored{}, cuts{}
}

// tracedSequences are sequences in a device program that is being built.
type tracedSequences[E any] struct {
	traced[E]
	q *Sequences[E]
}

func (q *Sequences[E]) traced(l *rl.Lowering) tracedSequences[E] {
	return tracedSequences[E]{q.store.traced(l), q}
}

// ReadyAt does what Ready does inside a device program: a bool scalar.
func (q *Sequences[E]) ReadyAt(n int) rl.Tensor {
	if !q.cut.Held.Ok() {
		return rl.Wrap(graph.Const(q.scope.Lowering().Graph(), n <= 0))
	}
	held := q.cut.Held.Node()
	return rl.Wrap(graph.GreaterOrEqual(held, graph.ConstAs(held, n)))
}

// insert does what Insert does.
func (t tracedSequences[E]) insert(e E, leaves []rl.Tensor, done rl.Tensor) {
	leaves, done = t.l.Lift(leaves), t.l.Lift([]rl.Tensor{done})[0]
	if t.rings == nil {
		t.q.begin(e, leaves, done)
	}
	t.put(leaves, done)
	c := &t.q.cut
	if !c.Held.Ok() { // before the program's own tensors are there
		zero := graph.Zeros(t.g, shapes.Make(dtypes.Int64, t.envs))
		*c = cuts{t.ring(done, t.capacity), rl.Wrap(zero), rl.Wrap(graph.Const(t.g, int64(0)))}
	}
	age := c.Age.Node()
	t.remember(leaves, age)
	zero := graph.ZerosLike(age)
	c.Begins = rl.Wrap(t.write(c.Begins.Node(), t.slotOf(t.rows()), graph.Equal(age, zero)))
	t.enter(age, done.Node())
	c.Age = rl.Wrap(graph.Where(done.Node(), zero, graph.AddScalar(age, 1)))
	t.count.Add(int64(t.envs))
}

// remember stores memory as Sequences.remember does.
func (t tracedSequences[E]) remember(leaves []rl.Tensor, age *graph.Node) {
	zero, stride := graph.ZerosLike(age), t.full(age, t.q.Stride)
	starts := graph.LogicalAnd(graph.GreaterThan(age, zero), graph.Equal(graph.Mod(age, stride), zero))
	at := graph.ConvertDType(t.block(t.rows()), dtypes.Int32)
	for i, x := range leaves {
		if !x.Ok() || !t.apart(i) {
			continue
		}
		ring, dims := t.on.Rings[i].Node(), x.Shape().Dimensions
		own := starts
		for own.Rank() < len(dims) {
			own = graph.ExpandAxes(own, -1)
		}
		old := graph.DynamicSlice(ring, t.start(ring, at), dims)
		now := graph.Where(graph.BroadcastToDims(own, dims...), x.Node(), old)
		t.on.Rings[i] = rl.Wrap(graph.DynamicUpdateSlice(ring, now, t.start(ring, at)))
	}
}

// block returns the first memory slot of the blocks that rows are in.
func (t tracedSequences[E]) block(row *graph.Node) *graph.Node {
	block := graph.Mod(graph.Div(row, t.full(row, t.envs*t.q.Stride)), t.full(row, t.q.blocks()))
	return graph.MulScalar(block, t.envs)
}

// enter does what Sequences.enter does, and completes.
func (t tracedSequences[E]) enter(age, done *graph.Node) {
	rows, gone := t.overwrite()
	held := graph.Sub(t.q.cut.Held.Node(), number(graph.GreaterThan(gone, graph.ZerosLike(gone))))
	first := graph.AddScalar(age, -(t.q.Length - 1))
	start := graph.AddScalar(graph.Max(first, graph.ZerosLike(first)), t.q.Stride-1)
	start = graph.MulScalar(graph.Div(start, t.full(start, t.q.Stride)), t.q.Stride)
	enters := graph.LogicalOr(done, graph.Equal(start, first))
	row := graph.Sub(rows, graph.MulScalar(graph.Sub(age, start), t.envs))
	at := t.leaf(t.slotOf64(row))
	t.set(graph.Where(enters, at, graph.ZerosLike(at)), t.topOf(t.envs))
	t.q.cut.Held = rl.Wrap(graph.Add(held, number(enters)))
}

// sample does what Sample does.
func (t tracedSequences[E]) sample(k rl.Key, n int) (s Sample[E]) {
	if !t.q.cut.Held.Ok() {
		rl.Failf("the sequences are sampled before anything is inserted: insert first")
	}
	held := t.q.cut.Held.Node()
	t.l.Check(rl.Wrap(graph.GreaterThan(held, graph.ZerosLike(held))), "sequences are sampled before one is complete: ask whether they are Ready, or begin to learn later")
	draw := t.uniform
	if t.q.Priority {
		draw = t.proportional
	}
	row, prob := draw(k, n)
	first, length := t.slotOf64(row), t.q.Length
	_, steps := t.follow(first, length)
	begins := take(t.q.cut.Begins.Node(), first)
	valid := t.within(steps, length)
	burnt := graph.GreaterOrEqual(t.times(n, length), t.full(t.times(n, length), t.q.BurnIn))
	s.Index, s.Prob, s.Valid = rl.Wrap(row), rl.Wrap(prob), rl.Wrap(valid)
	s.Learn = rl.Wrap(graph.LogicalAnd(valid, graph.LogicalOr(t.across(begins, length), burnt)))
	s.Data = rl.Rebuild(t.like, t.gather(row, first, begins))
	return s
}

// uniform draws sequences that are all as likely: their weights are 1.
func (t tracedSequences[E]) uniform(k rl.Key, n int) (row, prob *graph.Node) {
	at, prob := t.below(k, n, t.q.cut.Held.Node())
	x := graph.AddScalar(graph.ConvertDType(graph.ConvertDType(at, dtypes.Int64), dtypes.Float64), .5)
	return t.rowAt(t.find(x)), prob
}

// gather does what Sequences.gather does.
func (t tracedSequences[E]) gather(row, first, begins *graph.Node) []rl.Tensor {
	own := graph.Add(t.block(row), graph.Mod(row, t.full(row, t.envs)))
	memory := graph.ConvertDType(graph.Where(begins, t.full(row, t.sparse-1), own), dtypes.Int32)
	window := t.windows(first, t.q.Length)
	out := make([]rl.Tensor, len(t.on.Rings))
	for i, r := range t.on.Rings {
		switch {
		case !r.Ok():
		case t.apart(i):
			out[i] = rl.Wrap(take(r.Node(), memory))
		default:
			out[i] = rl.Wrap(graph.Gather(r.Node(), window))
		}
	}
	return out
}
