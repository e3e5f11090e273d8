package replay

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

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
//weft:component table axis=none home=replay
type Table[E any] struct {
	Options
	scope    *rl.Scope
	name     string
	capacity int
	like     E          // of what was inserted; its trees' names count
	rings    []*rl.Ring // one for each tensor; nil where it is absent
	done     *rl.Ring
	roles    []role
	count    rl.Counter // rows inserted, ever
	envs     int        // rows of a step
	priority *sums      // nil if sampling is uniform
	top      float32
	on       stored    // the same on a device, where a program has it
	powers   []float32 // of the discount

	rows        []int64 // scratch of Sample
	first, last []int
	window      []int
}

// Options are how a table samples.
type Options struct {
	NStep    int     // steps of a row; 0 and 1 are one
	Discount float64 // of a reward one step later
	// Sequence is a number of steps that every row of a sample has, [rows, time,
	// ...], for recurrent networks; 0 is none. Sample.Valid says where they end.
	Sequence int
	// Priority makes Sample draw rows in proportion to what Prioritise gave them;
	// before that a row has the largest priority that any was given.
	Priority bool
	// Ratio is the samples per insert that asynchronous policies must keep; 0
	// leaves it open. Synchronous ones follow the loop.
	Ratio float64
}

type role uint8

const (
	ofFirst role = iota
	ofLast
	ofAll // the discounted sum
)

// NewTable is an empty table of capacity rows.
//
//weft:makes name=1
func NewTable[E any](s *rl.Scope, name string, capacity int, how Options) *Table[E] {
	t := &Table[E]{Options: how, scope: s, name: name, capacity: capacity, top: 1}
	switch {
	case capacity < 1:
		rl.Failf("table %q: a capacity of %d rows", name, capacity)
	case how.NStep < 0 || how.Sequence < 0 || how.Ratio < 0:
		rl.Failf("table %q: negative options %+v", name, how)
	case how.NStep > 1 && how.Sequence > 0:
		rl.Failf("table %q: rows are of several steps, or samples are sequences, not both: the estimators of package rl make returns of sequences", name)
	case how.NStep > 1 && !slices.Contains(t.rolesOf(rl.LeafNames(t.like)), ofAll):
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

// span is the steps that a row looks ahead, itself included.
func (t *Table[E]) span() int { return max(1, t.NStep, t.Sequence) }

// rolesOf reads the tags of E's fields.
func (t *Table[E]) rolesOf(names []string) []role {
	out := make([]role, len(names))
	typ := reflect.TypeFor[E]()
	if typ.Kind() != reflect.Struct {
		return out
	}
	for i, name := range names {
		field, _, _ := strings.Cut(name, ".")
		f, _ := typ.FieldByName(field)
		switch tag := f.Tag.Get("replay"); tag {
		case "":
		case "sum":
			out[i] = ofAll
		case "last":
			out[i] = ofLast
		default:
			rl.Failf(`field %s of %s has the tag replay:%q: it may be "sum" or "last"`, field, typ, tag)
		}
	}
	return out
}

// Insert adds a row for every environment. done, [env] bool, is where an episode
// ended with this step, in either way.
//
//weft:op insert writes fills whole
func (t *Table[E]) Insert(e E, done rl.Tensor) {
	leaves := rl.Leaves(e)
	if l := t.scope.Lowering(); l != nil {
		t.traced(l).insert(e, leaves, done)
		return
	}
	if o := t.scope.Observed(); o != nil {
		o.End(rl.Operation{Kind: "replay.Table.Insert", Name: t.name, In: append(rl.NamedLeaves("", e), rl.NamedLeaves("done", done)...)})
	}
	t.leave()
	if t.rings == nil {
		t.begin(e, leaves, done)
	}
	t.check(leaves, done)
	at := t.slot(t.count.Int64())
	for i, x := range leaves {
		if x.Ok() {
			t.rings[i].Put(at, x)
		}
	}
	t.done.Put(at, done)
	if t.priority != nil {
		t.enter()
	}
	t.count.Add(int64(t.envs))
}

// check sees that rows are like those before.
func (t *Table[E]) check(leaves []rl.Tensor, done rl.Tensor) {
	present := func(x rl.Tensor, r *rl.Ring) bool { return x.Ok() == (r != nil) }
	if !slices.EqualFunc(leaves, t.rings, present) || done.Rows() != t.envs {
		rl.Failf("a table is given other tensors (%v, done %v) than before", leaves, done)
	}
}

// begin makes the rings for rows like the first ones.
func (t *Table[E]) begin(e E, leaves []rl.Tensor, done rl.Tensor) {
	t.envs = done.Rows()
	if t.span()*t.envs > t.capacity {
		rl.Failf("a table of %d rows cannot hold %d steps of %d environments", t.capacity, t.span(), t.envs)
	}
	t.like = rl.Rebuild(e, make([]rl.Tensor, len(leaves))) // its tensors would live on
	t.roles = t.rolesOf(rl.LeafNames(e))
	t.rings = make([]*rl.Ring, len(leaves))
	for i, x := range leaves {
		switch {
		case !x.Ok():
			continue
		case x.Rows() != t.envs:
			rl.Failf("%s has %d rows, done has %d: there is one for each environment", nameOf(e, i), x.Rows(), t.envs)
		}
		t.rings[i] = rl.NewRing(t.capacity, x)
	}
	t.done = rl.NewRing(t.capacity, done)
}

// InPart reports why a table cannot be given the rows of one of these parts of the
// environments at a time, nil if it can: rows are then those of whoever comes next.
func (t *Table[E]) InPart(parts []rl.Span) error {
	if t.span() > 1 {
		return fmt.Errorf("a sample has %d steps of an environment", t.span())
	}
	for _, p := range parts {
		if p.Len() != parts[0].Len() {
			return fmt.Errorf("some replicas have %d environments and some %d", parts[0].Len(), p.Len())
		}
	}
	return nil
}

// enter gives the rows that have just been overwritten no priority, and those
// whose last step has just come the largest.
func (t *Table[E]) enter() {
	ready := t.count.Int64() - int64(t.span()-1)*int64(t.envs)
	for i := range t.envs {
		t.priority.set(t.slot(t.count.Int64()+int64(i)), 0)
	}
	for i := range t.envs {
		if r := ready + int64(i); r >= 0 {
			t.priority.set(t.slot(r), t.top)
		}
	}
}

func (t *Table[E]) slot(row int64) int { return int(row % int64(t.capacity)) }

// held are the rows that may be drawn: n from row lo on. The newest are held back
// until all their steps are there.
func (t *Table[E]) held() (lo int64, n int) {
	lo = max(0, t.count.Int64()-int64(t.capacity))
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
	if o := t.scope.Observed(); o != nil {
		o.End(rl.Operation{Kind: "replay.Table.Prioritise", Name: t.name, In: []rl.Leaf{{Name: "index", Tensor: index}, {Name: "priority", Tensor: priority}}})
	}
	t.leave()
	rows, p := rl.Read[int64](index), rl.Read[float32](priority)
	if len(rows) != len(p) {
		rl.Failf("%d priorities for %d rows", len(p), len(rows))
	}
	lo, n := t.held()
	for i, r := range rows {
		switch {
		case !(p[i] > 0) || p[i]-p[i] != 0:
			rl.Failf("priority %v in row %d: priorities are positive numbers", p[i], i)
		case r >= lo+int64(n):
			rl.Failf("row %d is none of a sample: there are %d", r, lo+int64(n))
		case r >= lo:
			t.priority.set(t.slot(r), p[i])
		}
		t.top = max(t.top, p[i])
	}
}

// Axis of a table: a sample is drawn from all of it.
func (t *Table[E]) Axis() rl.Axis { return rl.None }

// Save puts the rows that are there, their priorities and the count of them all.
func (t *Table[E]) Save(s *rl.State) {
	if t.count.Int64() == 0 { // a device program may know the rows' form before there are any
		rl.PutSlice(s, "counters", []int64{0, 0, int64(t.capacity), int64(t.span())})
		return
	}
	t.land()
	rl.PutSlice(s, "counters", []int64{t.count.Int64(), int64(t.envs), int64(t.capacity), int64(t.span())})
	rl.PutSlice(s, "form", []byte(rl.FormOf(t.like)))
	rows := int(min(t.count.Int64(), int64(t.capacity)))
	for i, r := range t.rings {
		if r != nil {
			r.Save(s.At("rows"), fmt.Sprint(i), rows)
		}
	}
	t.done.Save(s, "done", rows)
	if t.priority != nil {
		rl.PutSlice(s, "priority", t.priority.leaves(rows))
		rl.PutSlice(s, "top", []float32{t.top})
	}
}

// Load takes them back.
func (t *Table[E]) Load(s *rl.State) error {
	counters := rl.GetSliceN[int64](s, "counters", 4)
	if s.Err() != nil {
		return s.Err()
	}
	if c, n := int(counters[2]), int(counters[3]); c != t.capacity || n != t.span() {
		return fmt.Errorf("the state is of a table of %d rows of %d steps, this one has %d of %d", c, n, t.capacity, t.span())
	}
	t.count.Set(counters[0])
	t.envs, t.rings, t.done, t.top, t.on = int(counters[1]), nil, nil, 1, stored{}
	if t.priority != nil {
		t.priority = newSums(t.capacity)
	}
	if t.count.Int64() == 0 {
		return nil
	}
	return t.loadRows(s, int(min(t.count.Int64(), int64(t.capacity))))
}

func (t *Table[E]) loadRows(s *rl.State, rows int) (err error) {
	if t.like, err = rl.OfForm[E](string(rl.GetSlice[byte](s, "form"))); err != nil {
		return err
	}
	names := rl.LeafNames(t.like)
	t.roles, t.rings = t.rolesOf(names), make([]*rl.Ring, len(names))
	for i := range names {
		if at := s.At("rows"); at.Has(fmt.Sprint(i)) {
			t.rings[i] = rl.LoadRing(at, fmt.Sprint(i), t.capacity)
		}
	}
	t.done = rl.LoadRing(s, "done", t.capacity)
	if t.priority != nil {
		t.priority.load(rl.GetSliceN[float32](s, "priority", rows))
		if top := rl.GetSliceN[float32](s, "top", 1); s.Err() == nil {
			t.top = top[0]
		}
	}
	return s.Err()
}
