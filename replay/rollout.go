package replay

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/support/xslices"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// Rollout collects one element a step and is emptied by its reader within the
// same iteration, so it can live with its writers. E is a struct of tensors
// [env, ...].
//
//weft:component rollout axis=environments home=replay steady
type Rollout[E any] struct {
	scope *rl.Scope
	name  string
	steps []E
	in    *inside[E] // a device program
}

// inside is a rollout while its loop is made a device program.
type inside[E any] struct {
	program *rl.Lowering
	stream  *rl.Stream
	like    E
}

// NewRollout returns an empty rollout.
//
//weft:makes name=1
func NewRollout[E any](s *rl.Scope, name string) *Rollout[E] {
	r := &Rollout[E]{scope: s, name: name}
	s.Register(name, r)
	return r
}

// Insert adds a step.
//
//weft:op insert writes fills rows
func (r *Rollout[E]) Insert(e E) {
	if l := r.scope.Lowering(); l != nil {
		r.put(l, e)
		return
	}
	o := r.scope.Observed()
	r.steps = append(r.steps, e)
	if o != nil {
		op := rl.Operation{Kind: "replay.Rollout.Insert", Name: r.name}
		if o.Values() {
			op.In = rl.NamedLeaves("", e)
		}
		o.End(op)
	}
}

// put does what Insert does inside a device program.
func (r *Rollout[E]) put(l *rl.Lowering, e E) {
	if r.in == nil || r.in.program != l {
		in := &inside[E]{program: l, stream: l.NewStream()}
		in.stream.Land(func(item []rl.Tensor) { r.steps = append(r.steps, rl.Rebuild(in.like, item)) })
		r.in = in
	}
	r.in.like = e
	r.in.stream.Put(l.Lift(rl.Leaves(e)))
}

// taken does what Drain does inside a device program.
func (r *Rollout[E]) taken() E {
	n, leaves := 0, []rl.Tensor(nil)
	if r.in != nil {
		n, leaves = r.in.stream.Take()
	}
	if n == 0 {
		rl.Failf("the rollout is drained before anything is inserted: insert first")
	}
	for i, t := range leaves {
		if t.Ok() {
			axes := xslices.Iota(0, t.Shape().Rank())
			axes[0], axes[1] = 1, 0
			leaves[i] = rl.Wrap(graph.TransposeAllAxes(t.Node(), axes...))
		}
	}
	return rl.Rebuild(r.in.like, leaves)
}

// Resident returns nothing: between iterations a rollout is empty.
func (r *Rollout[E]) Resident() []rl.Carried { return nil }

// Drain returns all steps since the last Drain, as tensors [env, time, ...].
//
//weft:op drain writes empties one rows shape=time
func (r *Rollout[E]) Drain() E {
	if r.scope.Lowering() != nil {
		return r.taken()
	}
	if len(r.steps) == 0 {
		rl.Failf("the rollout is drained before anything is inserted: insert first")
	}
	o := r.scope.Observed()
	e := r.drained()
	if o != nil {
		op := rl.Operation{Kind: "replay.Rollout.Drain", Name: r.name}
		if o.Values() {
			op.Out = rl.NamedLeaves("", e)
		}
		o.End(op)
	}
	return e
}

// drained does what Drain does on values.
func (r *Rollout[E]) drained() E {
	columns := r.columns()
	out := make([]rl.Tensor, len(columns[0]))
	steps := make([]rl.Tensor, len(columns))
	for i := range out {
		if !columns[0][i].Ok() {
			continue
		}
		for t := range columns {
			steps[t] = columns[t][i]
		}
		out[i] = rl.Stack(steps)
	}
	like := r.steps[0]
	clear(r.steps) // or its tensors would live on
	r.steps = r.steps[:0]
	return rl.Rebuild(like, out)
}

// columns returns the tensors of every step, which must be the same ones.
func (r *Rollout[E]) columns() [][]rl.Tensor {
	out := make([][]rl.Tensor, len(r.steps))
	present := func(a, b rl.Tensor) bool { return a.Ok() == b.Ok() }
	for t, e := range r.steps {
		out[t] = rl.Leaves(e)
		if !slices.EqualFunc(out[t], out[0], present) {
			rl.Failf("step %d of a rollout has other tensors (%v) than its first (%v)", t, out[t], out[0])
		}
	}
	return out
}

// Axis returns that a rollout can be split by environment: every row is one environment's.
func (r *Rollout[E]) Axis() rl.Axis { return rl.Envs }

// Save has nothing to put: between iterations a rollout is empty.
func (r *Rollout[E]) Save(*rl.State) {
	if len(r.steps) > 0 {
		rl.Failf("a rollout holds %d steps at the end of an iteration: drain it in the iteration that fills it", len(r.steps))
	}
}

// Load empties the rollout.
func (r *Rollout[E]) Load(*rl.State) error {
	r.steps = nil
	return nil
}

// By says what the rows of a minibatch are.
type By uint8

// The rows of a minibatch.
const (
	ByStep By = iota // single steps: the environment and time axes become one
	ByEnv            // whole sequences
)

// Take returns minibatch m of n of a batch of tensors [env, time, ...], shuffled by
// k: the n minibatches of one key share no row and leave none out. Scalars are
// the same in every minibatch.
//
// Of a replica's environments it is the rows that they have in the minibatch of
// all: their number varies, and may be 0.
//
//weft:op batch whole shape=rows shards=own again device=TakeAt index=3
func Take[B any](b B, k rl.Key, by By, m, n int) B {
	if k.Inside() {
		return TakeAt(b, k, by, rl.IntOf(m), n)
	}
	axes := 2
	if by == ByEnv {
		axes = 1
	}
	rows, envs := rowsOf(b, axes)
	own, sharded := k.OwnOf(envs)
	if !sharded {
		own = rl.Span{Lo: 0, Hi: envs, Of: envs}
	}
	each := rows / max(1, envs)
	rows = own.Of * each // of all replicas
	if m < 0 || m >= n || n > rows {
		rl.Failf("minibatch %d of %d cannot be taken from %d rows: there are fewer rows than minibatches, or no such minibatch", m, n, rows)
	}
	order := rl.NewPermutation(k, rows)
	lo, hi := m*rows/n, (m+1)*rows/n
	index := make([]int, hi-lo)
	order.Fill(index, lo)
	if own.Len() < own.Of {
		index = ours(index, own.Lo*each, own.Hi*each)
	}
	return rl.Map(b, func(t rl.Tensor) rl.Tensor {
		if t.Shape().Rank() == 0 {
			return t
		}
		return rl.Gather(t, axes, index)
	})
}

// ours returns the rows of a shard, counted from its first, in the order they have among
// all.
func ours(index []int, lo, hi int) []int {
	out := index[:0]
	for _, i := range index {
		if i >= lo && i < hi {
			out = append(out, i-lo)
		}
	}
	return out
}

// TakeAt does what Take does inside a device program, where which minibatch it is may be a
// graph value.
func TakeAt[B any](b B, k rl.Key, by By, m rl.Int, n int) B {
	axes := 2
	if by == ByEnv {
		axes = 1
	}
	rows, envs := rowsOf(b, axes)
	if _, sharded := k.OwnOf(envs); sharded {
		rl.Failf("a minibatch of a part of the environments has another number of rows each time")
	}
	size := rows / n
	known, ok := m.Known()
	switch {
	case ok:
		lo := known * rows / n
		size = (known+1)*rows/n - lo
		m = rl.IntOf(lo)
	case rows%n != 0:
		rl.Unroll(fmt.Sprintf("%d rows make no %d equal minibatches", rows, n))
	default:
		m = m.Times(size)
	}
	index := rl.GraphPermutation(k, rows, m, size)
	return rl.Map(b, func(t rl.Tensor) rl.Tensor {
		if t.Shape().Rank() == 0 {
			return t
		}
		x := graph.Reshape(t.Node(), append([]int{rows}, t.Shape().Dimensions[axes:]...)...)
		return rl.Wrap(graph.Gather(x, graph.ExpandAxes(index, -1)))
	})
}

// rowsOf returns the number of rows that all tensors of b agree on, and of
// environments that they are of.
func rowsOf[B any](b B, axes int) (n, envs int) {
	var rows []int // the axes that are to be one
	for i, t := range rl.Leaves(b) {
		if !t.Ok() || t.Shape().Rank() == 0 {
			continue
		}
		if t.Shape().Rank() < axes {
			rl.Failf("%s has shape %s: no environment and time axis to take steps from", nameOf(b, i), t.Shape())
		}
		d := t.Shape().Dimensions[:axes]
		if rows != nil && !slices.Equal(d, rows) {
			rl.Failf("%s has rows %v, others have %v", nameOf(b, i), d, rows)
		}
		rows = d
	}
	if rows == nil {
		rl.Fail(fmt.Errorf("%T has no tensor to take rows of", b))
	}
	n = 1
	for _, d := range rows {
		n *= d
	}
	return n, rows[0]
}

// nameOf returns what a message calls leaf i: a batch of one tensor has no name.
func nameOf[B any](b B, i int) string {
	if name := rl.LeafNames(b)[i]; name != "" {
		return name
	}
	return "the batch"
}
