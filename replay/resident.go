package replay

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// A table inside a device program is the same arrays as tensors, and the same
// arithmetic on them as graph code, bit for bit. Where its program has run, the
// tensors hold the rows, until the host wants to see or change them.

// stored holds a table's rows, on a device.
type stored struct {
	Rings []rl.Tensor // [capacity, ...], absent where the tensor is
	Done  rl.Tensor
	Nodes rl.Tensor // nodes of the tree of sums, float64; absent if sampling is uniform
	Top   rl.Tensor
	Rank  rl.Tensor // priorities that a Table's rows enter with; absent without any
}

// Resident returns the rings, the priorities and the count.
func (t *Table[E]) Resident() []rl.Carried {
	t.board()
	return []rl.Carried{rl.Carry(&t.on), t.count.Carried()}
}

// board makes tensors of what the host has.
func (t *store[E]) board() {
	if t.rank != nil && !t.on.Rank.Ok() {
		t.on.Rank = t.rank.Tensor(t.scope)
	}
	if t.rings == nil || t.on.Done.Ok() {
		return
	}
	t.on.Rings = make([]rl.Tensor, len(t.rings))
	for i, r := range t.rings {
		if r != nil {
			t.on.Rings[i] = r.Tensor(t.scope)
		}
	}
	t.on.Done = t.done.Tensor(t.scope)
	if t.priority != nil {
		t.on.Nodes = rl.FromFlat(t.scope, t.priority.node, len(t.priority.node))
		t.on.Top = rl.FromFlat(t.scope, []float32{t.top})
	}
}

// Stays implements rl.Stays: a store is large.
func (t *store[E]) Stays() {}

// land gives the host what a device program left.
func (t *store[E]) land() {
	if !t.on.Done.Ok() {
		return
	}
	for i, x := range t.on.Rings {
		if x.Ok() {
			t.rings[i].Take(x)
		}
	}
	t.done.Take(t.on.Done)
	if t.priority != nil {
		copy(t.priority.node, rl.Read[float64](t.on.Nodes))
		t.top = rl.Read[float32](t.on.Top)[0]
	}
	if t.on.Rank.Ok() {
		if t.rank == nil {
			t.rank = t.scope.Ring(t.capacity, t.on.Rank)
		}
		t.rank.Take(t.on.Rank)
	}
}

// leave lands for a host that is about to change something.
func (t *store[E]) leave() {
	t.land()
	t.on = stored{}
}

// traced is a store in a device program that is being built.
type traced[E any] struct {
	*store[E]
	l *rl.Lowering
	g *graph.Graph
}

func (t *store[E]) traced(l *rl.Lowering) traced[E] { return traced[E]{t, l, l.Graph()} }

// tracedTable is a table in a device program that is being built.
type tracedTable[E any] struct {
	traced[E]
	table *Table[E]
}

func (t *Table[E]) traced(l *rl.Lowering) tracedTable[E] { return tracedTable[E]{t.store.traced(l), t} }

// ReadyAt does what Ready does inside a device program: a bool scalar.
func (t *Table[E]) ReadyAt(n int) rl.Tensor {
	_, held := t.traced(t.scope.Lowering()).held()
	return rl.Wrap(graph.GreaterOrEqual(held, graph.ConstAs(held, n)))
}

// rows returns the number of rows inserted, ever, as an int64 scalar.
func (t traced[E]) rows() *graph.Node { return t.count.Node(t.g) }

// slotOf returns slot of int64 rows, as int32.
func (t traced[E]) slotOf(row *graph.Node) *graph.Node {
	return graph.ConvertDType(graph.Mod(row, graph.ConstAs(row, t.capacity)), dtypes.Int32)
}

// oldest does what store.oldest does: an int64 scalar.
func (t traced[E]) oldest() *graph.Node {
	count := t.rows()
	return graph.Max(graph.ZerosLike(count), graph.AddScalar(count, -t.capacity))
}

// held does what Table.held does: int64 scalars.
func (t tracedTable[E]) held() (lo, n *graph.Node) {
	count := t.rows()
	lo = t.oldest()
	return lo, graph.Max(graph.ZerosLike(count), graph.Sub(graph.AddScalar(count, -(t.table.span()-1)*t.envs), lo))
}

// insert does what Insert does.
func (t tracedTable[E]) insert(e E, leaves []rl.Tensor, done, priority rl.Tensor) {
	leaves, done = t.l.Lift(leaves), t.l.Lift([]rl.Tensor{done})[0]
	if t.rings == nil {
		t.table.begin(e, leaves, done)
	}
	t.put(leaves, done)
	if t.priority != nil {
		t.ranks(priority)
		t.enter()
	}
	t.count.Add(int64(t.envs))
}

// put does what store.put does.
func (t traced[E]) put(leaves []rl.Tensor, done rl.Tensor) {
	t.check(leaves, done)
	if !t.on.Done.Ok() { // before the program's own tensors are there
		t.blank(leaves, done)
	}
	at := t.slotOf(t.aligned(t.rows()))
	for i, x := range leaves {
		if x.Ok() && !t.apart(i) {
			t.on.Rings[i] = rl.Wrap(t.write(t.on.Rings[i].Node(), at, x.Node()))
		}
	}
	t.on.Done = rl.Wrap(t.write(t.on.Done.Node(), at, done.Node()))
}

// aligned returns the number of rows inserted. Where rings are full after so many insertions, its
// form shows that it is a multiple of the rows of one.
func (t traced[E]) aligned(rows *graph.Node) *graph.Node {
	if t.capacity%t.envs != 0 {
		return rows
	}
	return graph.MulScalar(graph.Div(rows, graph.ConstAs(rows, t.envs)), t.envs)
}

// blank makes empty tensors.
func (t traced[E]) blank(leaves []rl.Tensor, done rl.Tensor) {
	t.on.Rings = make([]rl.Tensor, len(leaves))
	for i, x := range leaves {
		if x.Ok() {
			t.on.Rings[i] = t.ring(x, t.slotsOf(i))
		}
	}
	t.on.Done = t.ring(done, t.capacity)
	if t.priority != nil {
		t.on.Nodes = rl.Wrap(graph.Zeros(t.g, shapes.Make(dtypes.Float64, len(t.priority.node))))
		t.on.Top = rl.Wrap(graph.Const(t.g, float32(1)))
	}
}

// ring returns an empty ring of rows like those of x.
func (t traced[E]) ring(x rl.Tensor, slots int) rl.Tensor {
	dims := append([]int{slots}, x.Shape().Dimensions[1:]...)
	return rl.Wrap(graph.Zeros(t.g, shapes.Make(x.Shape().DType, dims...)))
}

// write puts rows into a ring from slot at on.
func (t traced[E]) write(ring, at, x *graph.Node) *graph.Node {
	if t.capacity%t.envs == 0 {
		return graph.DynamicUpdateSlice(ring, x, t.start(ring, at))
	}
	// The rows may go on at slot 0: two windows of the ring, in each of which those
	// slots are new that the rows fall on.
	last := graph.ConstAs(at, t.capacity-t.envs)
	first := graph.Min(at, last)
	ring = t.window(ring, first, x, graph.Sub(first, at))
	zero := graph.ZerosLike(at)
	return t.window(ring, zero, x, graph.Sub(graph.ConstAs(at, t.capacity), at))
}

// window puts row j+shift of x into slot j of a window of the ring, where there is
// one.
func (t traced[E]) window(ring, from, x, shift *graph.Node) *graph.Node {
	n := t.envs
	row := graph.Add(graph.Iota(t.g, shapes.Make(dtypes.Int32, n), 0), graph.BroadcastToDims(shift, n))
	fits := graph.LogicalAnd(graph.GreaterOrEqual(row, graph.ZerosLike(row)), graph.LessThan(row, t.full(row, n)))
	old := graph.DynamicSlice(ring, t.start(ring, from), x.Shape().Dimensions)
	now := graph.Gather(x, graph.ExpandAxes(graph.Where(fits, row, graph.ZerosLike(row)), -1))
	for fits.Rank() < x.Rank() {
		fits = graph.ExpandAxes(fits, -1)
	}
	fits = graph.BroadcastToDims(fits, x.Shape().Dimensions...)
	return graph.DynamicUpdateSlice(ring, graph.Where(fits, now, old), t.start(ring, from))
}

// start returns the position of a slot in a ring.
func (t traced[E]) start(ring, slot *graph.Node) []*graph.Node {
	out := []*graph.Node{slot}
	for range ring.Rank() - 1 {
		out = append(out, graph.Const(t.g, int32(0)))
	}
	return out
}

// full returns a constant in the shape of x.
func (t traced[E]) full(x *graph.Node, n int) *graph.Node {
	return graph.BroadcastToDims(graph.ConstAs(x, n), x.Shape().Dimensions...)
}

// enter does what Table.enter does.
func (t tracedTable[E]) enter() {
	over, _ := t.overwrite()
	ready := graph.AddScalar(over, -(t.table.span()-1)*t.envs)
	there := graph.GreaterOrEqual(ready, graph.ZerosLike(ready))
	slot := t.slotOf64(graph.Max(ready, graph.ZerosLike(ready)))
	at := t.leaf(slot)
	t.set(graph.Where(there, at, graph.ZerosLike(at)), t.ranked(slot))
}

// overwrite gives the rows that are being overwritten no priority. It returns the
// numbers of the rows that take their slots, and the priorities that were there.
func (t traced[E]) overwrite() (rows, old *graph.Node) {
	i := graph.Iota(t.g, shapes.Make(dtypes.Int64, t.envs), 0)
	rows = graph.Add(i, graph.BroadcastToDims(t.rows(), t.envs))
	at := t.leaf(t.slotOf64(rows))
	old = take(t.on.Nodes.Node(), at)
	t.set(at, graph.ZerosLike(old))
	return rows, old
}

// topOf returns the largest priority, n times.
func (t traced[E]) topOf(n int) *graph.Node {
	return graph.BroadcastToDims(graph.ConvertDType(t.on.Top.Node(), dtypes.Float64), n)
}

// slotOf64 returns slotOf of a vector.
func (t traced[E]) slotOf64(row *graph.Node) *graph.Node {
	return graph.ConvertDType(graph.Mod(row, t.full(row, t.capacity)), dtypes.Int32)
}

// leaf returns the node of a slot.
func (t traced[E]) leaf(slot *graph.Node) *graph.Node { return graph.AddScalar(slot, t.priority.size) }

// set gives nodes of the tree values, and then all above them. Node 0, which is no
// part of the tree, takes what is not to be set. Nothing is negative, so the least
// of a node and 0 and then the largest of that and a value is the value: that
// several rows have the same node above them does no harm.
func (t traced[E]) set(at, value *graph.Node) {
	nodes := t.on.Nodes.Node()
	write := func(at, value *graph.Node) {
		index := graph.ExpandAxes(at, -1)
		nodes = graph.ScatterMin(nodes, index, graph.ZerosLike(value), false, false)
		nodes = graph.ScatterMax(nodes, index, value, false, false)
	}
	write(at, value)
	two := t.full(at, 2)
	for size := t.priority.size; size > 1; size /= 2 {
		at = graph.Div(at, two)
		left := graph.Mul(at, two)
		write(at, graph.Add(take(nodes, left), take(nodes, graph.AddScalar(left, 1))))
	}
	t.on.Nodes = rl.Wrap(nodes)
}

// take returns elements of a vector.
func take(x, index *graph.Node) *graph.Node { return graph.Gather(x, graph.ExpandAxes(index, -1)) }

// prioritise does what Prioritise does.
func (t traced[E]) prioritise(index, priority rl.Tensor) {
	both := t.l.Lift([]rl.Tensor{index, priority})
	row, p := both[0].Node(), both[1].Node()
	n := row.Shape().Size()
	if p.Shape().Size() != n {
		rl.Failf("%d priorities for %d rows", p.Shape().Size(), n)
	}
	good := graph.LogicalAnd(graph.GreaterThan(p, graph.ZerosLike(p)), graph.IsFinite(p))
	t.l.Check(rl.Wrap(graph.LogicalAll(good)), "a priority is not a positive number")
	at := t.leaf(t.slotOf64(row))
	kept := graph.GreaterOrEqual(row, graph.BroadcastToDims(t.oldest(), n))
	drawn := take(t.on.Nodes.Node(), at)
	drawn = graph.LogicalAnd(graph.GreaterThan(drawn, graph.ZerosLike(drawn)), graph.LessThan(row, graph.BroadcastToDims(t.rows(), n)))
	t.l.Check(rl.Wrap(graph.LogicalAll(graph.LogicalOr(drawn, graph.LogicalNot(kept)))), "priorities are of rows that are none of a sample")
	t.set(graph.Where(graph.LogicalAnd(kept, latest(row)), at, graph.ZerosLike(at)), graph.ConvertDType(p, dtypes.Float64))
	t.on.Top = rl.Wrap(graph.Max(t.on.Top.Node(), graph.ReduceAllMax(p)))
}

// latest returns false for elements that come again later.
func latest(x *graph.Node) *graph.Node {
	n := x.Shape().Size()
	square := []int{n, n}
	same := graph.Equal(graph.BroadcastToDims(graph.ExpandAxes(x, 1), square...), graph.BroadcastToDims(graph.ExpandAxes(x, 0), square...))
	number := shapes.Make(dtypes.Int32, square...)
	later := graph.GreaterThan(graph.Iota(x.Graph(), number, 1), graph.Iota(x.Graph(), number, 0))
	return graph.LogicalNot(graph.ReduceLogicalOr(graph.LogicalAnd(same, later), 1))
}

// number returns how many of a vector's elements are true.
func number(x *graph.Node) *graph.Node {
	return graph.ReduceAllSum(graph.ConvertDType(x, dtypes.Int64))
}
