package replay

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// InsertRanked does what Insert does, and gives the rows that begin with this step priorities of
// their own, as Ape-X's actors do (Horgan et al., "Distributed prioritized experience replay",
// 2018): positive numbers [env] float32, which count until Prioritise gives others. An absent
// priority stands for the largest that any row was given, as with Insert.
//
//weft:op insert writes fills whole
func (t *Table[E]) InsertRanked(e E, done, priority rl.Tensor) {
	if t.priority == nil && priority.Ok() {
		rl.Failf("a table that draws uniformly is given priorities: make it with Options.Priority")
	}
	t.insert(e, done, priority)
}

// ranks keeps the priorities of the next rows until all their steps are there. Before the
// first there is no memory for them, and 0 stands for none.
func (t *Table[E]) ranks(priority rl.Tensor) {
	if !priority.Ok() && t.rank == nil {
		return
	}
	p := make([]float32, t.envs)
	if priority.Ok() {
		p = rl.Read[float32](priority)
	}
	if len(p) != t.envs {
		rl.Failf("%d priorities for the rows of %d environments", len(p), t.envs)
	}
	for i, x := range p {
		if priority.Ok() && (!(x > 0) || x-x != 0) {
			rl.Failf("priority %v in row %d: priorities are positive numbers", x, i)
		}
		t.top = max(t.top, x)
	}
	rows := rl.FromFlat(t.scope, p, t.envs)
	if t.rank == nil {
		t.rank = t.scope.Ring(t.capacity, rows)
	}
	t.rank.Put(t.slot(t.count.Int64()), rows)
}

// ranked returns the priority that the row in a slot enters with.
func (t *Table[E]) ranked(slot int) float32 {
	if t.rank != nil {
		if p := t.rank.Floats()[slot]; p > 0 {
			return p
		}
	}
	return t.top
}

// ranks does what Table.ranks does.
func (t tracedTable[E]) ranks(priority rl.Tensor) {
	if !priority.Ok() && !t.on.Rank.Ok() {
		return
	}
	zero := graph.Zeros(t.g, shapes.Make(dtypes.Float32, t.envs))
	p := zero
	if priority.Ok() {
		p = t.l.Lift([]rl.Tensor{priority})[0].Node()
		good := graph.LogicalAnd(graph.GreaterThan(p, zero), graph.IsFinite(p))
		t.l.Check(rl.Wrap(graph.LogicalAll(good)), "a priority is not a positive number")
		t.on.Top = rl.Wrap(graph.Max(t.on.Top.Node(), graph.ReduceAllMax(p)))
	}
	if t.rank == nil {
		t.rank = t.scope.Ring(t.capacity, rl.Wrap(p))
	}
	if !t.on.Rank.Ok() {
		t.on.Rank = t.ring(rl.Wrap(p), t.capacity)
	}
	t.on.Rank = rl.Wrap(t.write(t.on.Rank.Node(), t.slotOf(t.rows()), p))
}

// ranked does what Table.ranked does.
func (t tracedTable[E]) ranked(slot *graph.Node) *graph.Node {
	top := t.topOf(t.envs)
	if !t.on.Rank.Ok() {
		return top
	}
	p := graph.ConvertDType(take(t.on.Rank.Node(), slot), dtypes.Float64)
	return graph.Where(graph.GreaterThan(p, graph.ZerosLike(p)), p, top)
}
