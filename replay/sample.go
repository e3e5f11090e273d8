package replay

import (
	"slices"

	"github.com/weft-rl/weft/rl"
)

// Sample is rows that were drawn from a store.
//
//weft:batch
type Sample[E any] struct {
	Data E // [rows, ...]; of sequences [rows, time, ...]
	// Index is the rows' numbers, int64. They are never used again, so that an
	// update of a row that was overwritten can be told from one of its successor.
	Index rl.Tensor
	Prob  rl.Tensor // probability of being drawn, float32
	// Discount is the worth, at the beginning of a row, of a value at its end: the
	// table's discount to the power of the row's steps. Sequences have none.
	Discount rl.Tensor
	// Valid is, of sequences, [rows, time] bool: false beyond the end of the
	// episode.
	Valid rl.Tensor
	// Learn is Valid without the steps of the burn-in, which only warm the memory
	// up. A Table's samples have none.
	Learn rl.Tensor
}

// Sample draws n rows, with replacement.
//
//weft:op sample reads whole shape=rows
func (t *Table[E]) Sample(k rl.Key, n int) Sample[E] {
	if l := t.scope.Lowering(); l != nil {
		return t.traced(l).sample(k, n)
	}
	o := t.scope.Observed()
	s := t.sampled(k, n)
	if o != nil {
		op := rl.Operation{Kind: "replay.Table.Sample", Name: t.name, Size: n}
		if o.Values() {
			op.Out = rl.NamedLeaves("", s)
		}
		o.End(op)
	}
	return s
}

// sampled does what Sample does on values.
func (t *Table[E]) sampled(k rl.Key, n int) Sample[E] {
	t.land()
	if !t.Ready(1) {
		rl.Failf("the table is sampled before it has a row: call Ready first, or begin to learn later")
	}
	t.sampledRows += int64(n)
	prob := t.draw(k, n)
	s := Sample[E]{Index: rl.FromFlat(t.scope, t.rows, n), Prob: rl.FromFlat(t.scope, prob, n)}
	steps := t.follow(t.span())
	if t.Sequence > 0 {
		s.Valid = t.within(nil, steps, t.Sequence)
	} else {
		discount := prob // of which there is a copy
		for i, m := range steps {
			discount[i] = t.powers[m]
		}
		s.Discount = rl.FromFlat(t.scope, discount, n)
	}
	s.Data = rl.Rebuild(t.like, t.gather(n, steps))
	return s
}

// draw chooses rows and returns their probabilities.
func (t *Table[E]) draw(k rl.Key, n int) []float32 {
	lo, held := t.held()
	t.rows = slices.Grow(t.rows[:0], n)[:n]
	prob := make([]float32, n)
	for i := range t.rows {
		if t.priority == nil {
			t.rows[i], prob[i] = lo+int64(k.IntN(i, 0, held)), float32(1/float64(held))
			continue
		}
		slot, p := t.priority.draw(k, i, n)
		t.rows[i], prob[i] = t.rowIn(slot), p
	}
	return prob
}

// gather returns the tensors of a sample.
func (t *Table[E]) gather(n int, steps []int) []rl.Tensor {
	out := make([]rl.Tensor, len(t.rings))
	if t.span() > 1 {
		t.windows(t.span())
	}
	for i, r := range t.rings {
		switch {
		case r == nil:
		case t.Sequence > 0:
			out[i] = r.Gather(t.scope, t.window, n, t.Sequence)
		case t.roles[i] == ofLast:
			out[i] = r.Gather(t.scope, t.last)
		case t.roles[i] == ofAll && t.span() > 1:
			out[i] = t.sum(r.Gather(t.scope, t.window, n, t.span()), steps)
		default:
			out[i] = r.Gather(t.scope, t.first)
		}
	}
	return out
}

// sum returns the discounted sum of rewards [rows, time], or [rows, time, agent], over the steps of
// each row. It is the estimator of package rl, so that there is one definition of what rounds.
func (t *Table[E]) sum(reward rl.Tensor, steps []int) rl.Tensor {
	n, span, dims := len(steps), t.span(), reward.Shape().Dimensions
	agents := reward.Shape().Size() / (n * span)
	end := make([]bool, n*span*agents)
	first := make([]int, n)
	for i, m := range steps {
		for a := range agents {
			end[(i*span+m-1)*agents+a] = true
		}
		first[i] = i * span
	}
	no := rl.FromFlat(t.scope, make([]bool, len(end)), dims...)
	ret := rl.NStep(t.Discount, span, reward, rl.Zero(reward), no, rl.FromFlat(t.scope, end, dims...))
	return rl.Gather(ret, 2, first)
}
