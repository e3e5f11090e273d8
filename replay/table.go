package replay

import (
	"fmt"
	"slices"

	"github.com/weft-rl/weft/rl"
)

// Table keeps the last rows that it is given and lends them out as samples. E is
// a struct of tensors [env, ...], one row for each environment.
//
// Rows are numbered for life, in (step, environment) order: row r is that of
// environment r mod envs at step r / envs, whoever stepped it. It lies in slot r
// mod capacity of one flat ring for each tensor, and is overwritten by row r +
// capacity. Draws are integer arithmetic on the key's bits or follow a tree of
// sums with a written order (sums.go), and name rows by these numbers: so neither
// how environments are spread over workers nor where the table lives can change
// a sample, and arrays on a device can do the same to the bit.
//
// With NStep a row is what happens from its step on: of fields tagged
// `replay:"sum"` (rewards, [env] float32) the discounted sum over the steps, of
// those tagged `replay:"last"` (the state reached, whether the task ended) the
// last step's, of all others the first one's. The end of an episode ends the sum,
// by termination or truncation alike; what is bootstrapped from is the last
// step's successor, which at a truncation is the final observation.
//
//weft:component table axis=none home=replay large
type Table[E any] struct {
	Options
	store[E]
	name   string
	roles  []role
	powers []float32 // powers of the discount

	sampledRows int64
	inParts     bool // an insert has the rows of any number of parts of the environments
}

// Options are how a table samples.
type Options struct {
	NStep    int     // steps of a row; 0 and 1 are one
	Discount float64 // discount of a reward one step later
	// Sequence is a number of steps that every row of a sample has, [rows, time,
	// ...], for recurrent networks; 0 is none. Sample.Valid says where they end.
	Sequence int
	// Priority makes Sample draw rows in proportion to what Prioritise gave them;
	// before that a row has the largest priority that any was given.
	Priority bool
	// Ratio is how many rows the loop samples for each row that it inserts, where all
	// environments step in every iteration; 0 if that is not known. A deployment's
	// samples_per_insert is checked against it before a run begins. It changes no sample.
	Ratio float64
}

var tableTags = map[string]role{"sum": ofAll, "last": ofLast, "patch": ofPatch}

// NewTable returns an empty table of capacity rows.
//
//weft:makes name=1
func NewTable[E any](s *rl.Scope, name string, capacity int, how Options) *Table[E] {
	t := &Table[E]{Options: how, name: name, store: store[E]{columns: columns[E]{scope: s}, capacity: capacity, top: 1}}
	switch {
	case capacity < 1:
		rl.Failf("table %q: capacity %d: it must be at least 1 row", name, capacity)
	case how.NStep < 0 || how.Sequence < 0 || how.Ratio < 0:
		rl.Failf("table %q: options %+v: none may be negative", name, how)
	case how.NStep > 1 && how.Sequence > 0:
		rl.Failf("table %q: rows are of several steps, or samples are sequences, not both: the estimators of package rl make returns of sequences", name)
	case how.NStep > 1 && !slices.Contains(rolesOf[E](fieldsOf(t.like), tableTags), ofAll):
		rl.Failf(`table %q: rows of %d steps need a field of %T with the tag replay:"sum", the reward`, name, how.NStep, t.like)
	}
	if how.Priority {
		t.priority = newSums(capacity)
	}
	t.powers = make([]float32, t.span()+1)
	power := 1.0
	for i := range t.powers {
		t.powers[i] = float32(power)
		power *= how.Discount
	}
	s.Register(name, t)
	return t
}

// span returns the steps that a row looks ahead, itself included.
func (t *Table[E]) span() int { return max(1, t.NStep, t.Sequence) }

// Insert adds a row for every environment. done, [env] bool, is where an episode
// ended with this step, in either way.
//
//weft:op insert writes fills whole
func (t *Table[E]) Insert(e E, done rl.Tensor) { t.insert(e, done, rl.Tensor{}) }

// insert does what Insert and InsertRanked do.
func (t *Table[E]) insert(e E, done, priority rl.Tensor) {
	leaves := rl.Leaves(e)
	if l := t.scope.Lowering(); l != nil {
		t.traced(l).insert(e, leaves, done, priority)
		return
	}
	o := t.scope.Observed()
	t.inserted(e, leaves, done, priority)
	if o == nil {
		return
	}
	op := rl.Operation{Kind: "replay.Table.Insert", Name: t.name, Size: done.Shape().Size()}
	if o.Values() {
		in := append(rl.NamedLeaves("", e), rl.NamedLeaves("done", done)...)
		op.In = append(in, rl.NamedLeaves("priority", priority)...)
	}
	o.End(op)
}

// inserted does what insert does on values.
func (t *Table[E]) inserted(e E, leaves []rl.Tensor, done, priority rl.Tensor) {
	t.leave()
	if t.inParts {
		t.envs = done.Rows()
	}
	if t.rings == nil {
		t.begin(e, leaves, done)
	}
	t.check(leaves, done)
	t.put(leaves, done)
	if t.priority != nil {
		t.ranks(priority)
		t.enter()
	}
	t.count.Add(int64(t.envs))
}

// begin makes the rings for rows like the first ones.
func (t *Table[E]) begin(e E, leaves []rl.Tensor, done rl.Tensor) {
	t.roles = rolesOf[E](rl.LeafNames(e), tableTags)
	t.store.begin(e, leaves, done, t.span(), t.roles)
}

// InPart reports why a table cannot be given the rows of some of these parts of the
// environments at a time, nil if it can: rows are then those of whoever comes next, and
// an insert may have those of any number of parts.
func (t *Table[E]) InPart(parts []rl.Span) error {
	err := t.parts(t.span(), parts)
	t.inParts = err == nil
	return err
}

// Break ends the rows of environments whose next steps do not follow their last ones, as the
// end of an episode does.
func (t *Table[E]) Break(envs []rl.Span) {
	if t.span() > 1 {
		t.breaks(envs)
	}
}

// enter gives the rows that have just been overwritten no priority, and those
// whose last step has just come their own or the largest.
func (t *Table[E]) enter() {
	ready := t.count.Int64() - int64(t.span()-1)*int64(t.envs)
	for i := range t.envs {
		t.priority.set(t.slot(t.count.Int64()+int64(i)), 0)
	}
	for i := range t.envs {
		if r := ready + int64(i); r >= 0 {
			t.priority.set(t.slot(r), t.ranked(t.slot(r)))
		}
	}
}

// held returns the rows that may be drawn: n from row lo on. The newest are held back
// until all their steps are there.
func (t *Table[E]) held() (lo int64, n int) {
	lo = t.oldest()
	return lo, int(max(0, t.count.Int64()-int64(t.span()-1)*int64(t.envs)-lo))
}

// Ready reports whether there are n rows to draw from.
//
//weft:op read reads shape=one device=ReadyAt
func (t *Table[E]) Ready(n int) bool {
	_, held := t.held()
	return held >= n
}

// Prioritise gives rows of a sample, by their index, new priorities: positive
// numbers [rows] float32, to which the probability of being drawn is
// proportional. A row that was overwritten since is left out; of two that are the
// same the later one counts.
//
//weft:op prioritise writes whole
func (t *Table[E]) Prioritise(index, priority rl.Tensor) {
	if t.priority == nil {
		rl.Failf("a table that draws uniformly is given priorities: make it with Options.Priority")
	}
	if l := t.scope.Lowering(); l != nil {
		t.traced(l).prioritise(index, priority)
		return
	}
	o := t.scope.Observed()
	t.prioritise(index, priority)
	if o != nil {
		o.End(rl.Operation{Kind: "replay.Table.Prioritise", Name: t.name, In: []rl.Leaf{{Name: "index", Tensor: index}, {Name: "priority", Tensor: priority}}})
	}
}

// Axis returns that a table cannot be split: a sample is drawn from all of it.
func (t *Table[E]) Axis() rl.Axis { return rl.None }

// Save puts the rows that are there, their priorities and the count of them all.
func (t *Table[E]) Save(s *rl.State) {
	if t.count.Int64() == 0 { // a device program may know the rows' form before there are any
		rl.PutSlice(s, "counters", []int64{0, 0, int64(t.capacity), int64(t.span())})
		return
	}
	t.land()
	rl.PutSlice(s, "counters", []int64{t.count.Int64(), int64(t.envs), int64(t.capacity), int64(t.span())})
	t.save(s)
}

// Load restores what Save saved.
func (t *Table[E]) Load(s *rl.State) error {
	counters := rl.GetSliceN[int64](s, "counters", 4)
	if s.Err() != nil {
		return s.Err()
	}
	if c, n := int(counters[2]), int(counters[3]); c != t.capacity || n != t.span() {
		return fmt.Errorf("the state is of a table of %d rows of %d steps, this one has %d of %d", c, n, t.capacity, t.span())
	}
	t.empty(counters[0], int(counters[1]))
	if t.count.Int64() == 0 {
		return nil
	}
	if err := t.loadForm(s); err != nil {
		return err
	}
	t.roles = rolesOf[E](rl.LeafNames(t.like), tableTags)
	return t.loadRows(s)
}
