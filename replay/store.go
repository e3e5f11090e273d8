package replay

import (
	"fmt"
	"slices"

	"github.com/weft-rl/weft/rl"
)

// store holds the last rows of all environments for Table and Sequences: one flat
// ring for each tensor, and a tree of sums for the draws. Rows are numbered for
// life, in (step, environment) order. Row r lies in slot r mod capacity.
type store[E any] struct {
	columns[E]
	capacity int
	done     *rl.Ring
	aside    []bool     // tensors that are not stored by row; nil: none
	sparse   int        // slots of the rings of those tensors
	count    rl.Counter // rows inserted, ever
	envs     int        // rows of a step
	priority *sums      // nil where draws need no tree
	top      float32    // the largest priority that any row was given
	rank     *rl.Ring   // the priorities that rows enter with; nil if they were given none
	on       stored     // the same on a device, where a program has it

	rows        []int64 // scratch of Sample: the rows that were drawn
	first, last []int   // the slots of their first and last steps
	window      []int   // the slots of all their steps
}

// slotsOf returns the number of slots in the ring of tensor i.
func (t *store[E]) slotsOf(i int) int {
	if t.apart(i) {
		return t.sparse
	}
	return t.capacity
}

// apart reports whether tensor i is not stored by row.
func (t *store[E]) apart(i int) bool { return t.aside != nil && t.aside[i] }

// begin makes the columns for rows like e's, of which a sample may span several steps.
func (t *store[E]) begin(e E, leaves []rl.Tensor, done rl.Tensor, span int, roles []role) {
	t.envs = done.Rows()
	if span*t.envs > t.capacity {
		rl.Failf("a table of %d rows cannot hold %d steps of %d environments", t.capacity, span, t.envs)
	}
	t.columns.begin(e, leaves, t.envs, t.slotsOf, t.share(rl.LeafNames(e), leaves, roles))
	t.done = t.scope.Ring(t.capacity, done)
}

// check fails unless rows are like those before.
func (t *store[E]) check(leaves []rl.Tensor, done rl.Tensor) {
	if !t.fit(leaves) || done.Rows() != t.envs {
		rl.Failf("the table is given other tensors (%v, done %v) than before: rows must always have the same fields and shapes", leaves, done)
	}
}

// put writes the next rows into their slots. It does not count them.
func (t *store[E]) put(leaves []rl.Tensor, done rl.Tensor) {
	at := t.slot(t.count.Int64())
	for i, x := range leaves {
		if x.Ok() && !t.apart(i) {
			t.rings[i].Put(at, x)
		}
	}
	t.done.Put(at, done)
}

// slot returns where a row lies.
func (t *store[E]) slot(row int64) int { return int(row % int64(t.capacity)) }

// oldest returns the first row that has not been overwritten.
func (t *store[E]) oldest() int64 { return max(0, t.count.Int64()-int64(t.capacity)) }

// rowIn returns the newest row that was put into a slot.
func (t *store[E]) rowIn(slot int) int64 {
	last := t.count.Int64() - 1
	return last - int64((t.slot(last)-slot+t.capacity)%t.capacity)
}

// parts reports why samples of span steps cannot be made of rows that come from one
// part of the environments at a time; nil if they can.
func (t *store[E]) parts(span int, parts []rl.Span) error {
	if span > 1 {
		return fmt.Errorf("samples have %d steps of an environment, which cannot come from shards of the environments: use samples of 1 step, or a policy with one collector", span)
	}
	for _, p := range parts {
		if p.Len() != parts[0].Len() {
			return fmt.Errorf("replicas have %d and %d environments: use a number of environments that the replicas divide evenly", parts[0].Len(), p.Len())
		}
	}
	return nil
}

// breaks ends the episode of every one of some environments that is under way, with its
// last step, and returns the numbers of these environments.
func (t *store[E]) breaks(envs []rl.Span) (out []int) {
	if t.count.Int64() == 0 {
		return nil
	}
	t.leave()
	over := rl.FromFlat(t.scope, []bool{true}, 1)
	for _, s := range envs {
		for e := s.Lo; e < s.Hi; e++ {
			if at := t.slot(t.lastRow(e)); !t.done.Bools()[at] {
				t.done.PutRow(at, over, 0)
				out = append(out, e)
			}
		}
	}
	return out
}

// lastRow returns the last row of an environment.
func (t *store[E]) lastRow(env int) int64 { return t.count.Int64() - int64(t.envs-env) }

// prioritise gives rows that can be drawn new priorities. Rows that were
// overwritten are left out.
func (t *store[E]) prioritise(index, priority rl.Tensor) {
	t.leave()
	rows, p := rl.Read[int64](index), rl.Read[float32](priority)
	if len(rows) != len(p) {
		rl.Failf("%d priorities for %d rows", len(p), len(rows))
	}
	for i, r := range rows {
		switch {
		case !(p[i] > 0) || p[i]-p[i] != 0:
			rl.Failf("priority %v in row %d: priorities are positive numbers", p[i], i)
		case r < t.oldest(): // overwritten
		case r >= t.count.Int64() || t.priority.of(t.slot(r)) == 0:
			rl.Failf("row %d was never sampled: %d rows were inserted", r, t.count.Int64())
		default:
			t.priority.set(t.slot(r), p[i])
		}
		t.top = max(t.top, p[i])
	}
}

// follow finds the slots where the drawn rows begin and end, and the number of steps
// until the end of the episode, at most span.
func (t *store[E]) follow(span int) (steps []int) {
	n := len(t.rows)
	t.first, t.last = slices.Grow(t.first[:0], n)[:n], slices.Grow(t.last[:0], n)[:n]
	steps = make([]int, n)
	done := t.done.Bools()
	for i, r := range t.rows {
		at := t.slot(r)
		t.first[i] = at
		m := 1
		for ; m < span && !done[at]; m++ {
			at = (at + t.envs) % t.capacity
		}
		t.last[i], steps[i] = at, m
	}
	return steps
}

// windows lists the slots of span steps of every drawn row, beyond the end of an
// episode too.
func (t *store[E]) windows(span int) {
	t.window = t.window[:0]
	for _, at := range t.first {
		for range span {
			t.window = append(t.window, at)
			at = (at + t.envs) % t.capacity
		}
	}
}

// within returns a mask [rows, span] of each row's steps from step from, or 0 where
// from is nil, up to step to.
func (t *store[E]) within(from, to []int, span int) rl.Tensor {
	out := make([]bool, len(to)*span)
	for i, m := range to {
		j := 0
		if from != nil {
			j = from[i]
		}
		for ; j < m; j++ {
			out[i*span+j] = true
		}
	}
	return rl.FromFlat(t.scope, out, len(to), span)
}

// save puts the rows that are there, and their priorities.
func (t *store[E]) save(s *rl.State) {
	t.columns.save(s, func(i int) int { return t.filled(t.slotsOf(i)) })
	rows := t.filled(t.capacity)
	t.done.Save(s, "done", rows)
	if t.priority != nil {
		rl.PutSlice(s, "priority", t.priority.leaves(rows))
		rl.PutSlice(s, "top", []float32{t.top})
	}
	if t.rank != nil {
		t.rank.Save(s, "rank", rows)
	}
}

// filled returns how many of a ring's first slots may hold something.
func (t *store[E]) filled(slots int) int { return int(min(t.count.Int64(), int64(slots))) }

// empty forgets all rows, before a state is loaded of so many.
func (t *store[E]) empty(count int64, envs int) {
	t.count.Set(count)
	t.envs, t.rings, t.done, t.rank, t.top, t.on = envs, nil, nil, nil, 1, stored{}
	if t.priority != nil {
		t.priority = newSums(t.capacity)
	}
}

// loadRows takes back what save put, once the form is known.
func (t *store[E]) loadRows(s *rl.State) error {
	t.columns.load(s, t.slotsOf)
	t.done = rl.LoadRing(s, "done", t.capacity)
	if t.priority != nil {
		t.priority.load(rl.GetSliceN[float32](s, "priority", t.filled(t.capacity)))
		if top := rl.GetSliceN[float32](s, "top", 1); s.Err() == nil {
			t.top = top[0]
		}
	}
	if s.Has("rank") {
		t.rank = rl.LoadRing(s, "rank", t.capacity)
	}
	return s.Err()
}
