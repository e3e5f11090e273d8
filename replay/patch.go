package replay

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// Patch gives rows of a sample, by their index, new values of the field tagged `replay:"patch"`,
// such as memory that newer weights have computed: x is a float32 tensor like that of the sample,
// [rows, ...]; of sequences [rows, time, ...], with a value for every step, beyond the end of an
// episode too. Steps that were overwritten since are left out. Of several values for one step that
// of the last row counts, and of the last time in it.
//
//weft:op patch writes whole
func (t *Table[E]) Patch(index, x rl.Tensor) {
	if l := t.scope.Lowering(); l != nil {
		t.traced(l).patch(index, x)
		return
	}
	o := t.scope.Observed()
	t.leave()
	t.patch(t.patched(), rl.Read[int64](index), x)
	if o != nil {
		o.End(rl.Operation{Kind: "replay.Table.Patch", Name: t.name, In: []rl.Leaf{{Name: "index", Tensor: index}, {Name: "value", Tensor: x}}})
	}
}

// patched returns the tensor that Patch changes.
func (t *Table[E]) patched() int {
	i := slices.Index(t.roles, ofPatch)
	if i < 0 || slices.Contains(t.roles[i+1:], ofPatch) {
		rl.Failf(`table %q: exactly one field of %T has the tag replay:"patch"`, t.name, t.like)
	}
	return i
}

// patch does what Patch does on values, with tensor i of the rows.
func (t *Table[E]) patch(i int, rows []int64, x rl.Tensor) {
	span := max(1, t.Sequence)
	dims := append([]int{len(rows) * span}, x.Shape().Dimensions[min(x.Shape().Rank(), 1+min(t.Sequence, 1)):]...)
	flat := rl.FromFlat(t.scope, rl.Read[float32](x), dims...)
	for r, row := range rows {
		for step := range span {
			if at := row + int64(step*t.envs); at >= t.oldest() && at < t.count.Int64() {
				t.rings[i].PutRow(t.slot(at), flat, r*span+step)
			}
		}
	}
}

// patch does what Patch does. The values for one slot are all replaced by the one that counts: so
// it does not matter in which order they are written.
func (t tracedTable[E]) patch(index, x rl.Tensor) {
	both := t.l.Lift([]rl.Tensor{index, x})
	i, span := t.table.patched(), max(1, t.table.Sequence)
	ring := t.on.Rings[i].Node()
	n := both[0].Shape().Size()
	m := n * span
	values := graph.Reshape(both[1].Node(), append([]int{m}, ring.Shape().Dimensions[1:]...)...)
	row := graph.Add(t.across(both[0].Node(), span), graph.MulScalar(graph.ConvertDType(t.times(n, span), dtypes.Int64), t.envs))
	row = graph.Reshape(row, m)
	kept := graph.GreaterOrEqual(row, graph.BroadcastToDims(t.oldest(), m))
	slot := t.slotOf64(row)
	one := func(x *graph.Node, axis int) *graph.Node {
		return graph.BroadcastToDims(graph.ExpandAxes(x, axis), m, m)
	}
	counts := graph.LogicalAnd(graph.Equal(one(slot, 1), one(slot, 0)), one(kept, 0))
	number := graph.Iota(t.g, shapes.Make(dtypes.Int32, m, m), 1)
	last := graph.ReduceMax(graph.Where(counts, number, graph.Neg(graph.OnesLike(number))), 1) // -1: none counts
	none := graph.LessThan(last, graph.ZerosLike(last))
	for none.Rank() < values.Rank() {
		none = graph.ExpandAxes(none, -1)
	}
	none = graph.BroadcastToDims(none, values.Shape().Dimensions...)
	values = graph.Where(none, take(ring, slot), take(values, graph.Max(last, graph.ZerosLike(last))))
	at := graph.ExpandAxes(slot, -1)
	lowest := graph.BroadcastToDims(graph.Infinity(t.g, ring.DType(), -1), values.Shape().Dimensions...)
	ring = graph.ScatterMin(ring, at, lowest, false, false)
	t.on.Rings[i] = rl.Wrap(graph.ScatterMax(ring, at, values, false, false))
}
