package replay

import (
	"math/bits"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// sample does what Sample does.
func (t tracedTable[E]) sample(k rl.Key, n int) (s Sample[E]) {
	if !t.on.Done.Ok() {
		rl.Failf("the table is sampled before anything is inserted: insert first")
	}
	_, held := t.held()
	t.l.Check(rl.Wrap(graph.GreaterThan(held, graph.ZerosLike(held))), "the table is sampled before it has a row: call Ready first, or begin to learn later")
	draw := t.uniform
	if t.priority != nil {
		draw = t.proportional
	}
	row, prob := draw(k, n)
	s.Index, s.Prob = rl.Wrap(row), rl.Wrap(prob)
	first := t.slotOf64(row)
	last, steps := t.follow(first, t.table.span())
	if span := t.table.Sequence; span > 0 {
		s.Valid = rl.Wrap(t.within(steps, span))
	} else {
		s.Discount = rl.Wrap(take(graph.Const(t.g, t.table.powers), steps))
	}
	s.Data = rl.Rebuild(t.like, t.gather(first, last, steps))
	return s
}

// uniform draws rows that are all as likely.
func (t tracedTable[E]) uniform(k rl.Key, n int) (row, prob *graph.Node) {
	lo, held := t.held()
	at, prob := t.below(k, n, held)
	return graph.Add(graph.BroadcastToDims(lo, n), graph.ConvertDType(at, dtypes.Int64)), prob
}

// below draws n numbers below an int64 scalar, which are all as likely, as uint64.
func (t traced[E]) below(k rl.Key, n int, held *graph.Node) (at, prob *graph.Node) {
	wide := graph.ConvertDType(rl.GraphBits(k, n), dtypes.Uint64)
	many := graph.BroadcastToDims(graph.ConvertDType(held, dtypes.Uint64), n)
	at = graph.BitwiseShiftRightLogicalScalar(graph.Mul(wide, many), 32)
	one := graph.Const(t.g, float64(1))
	each := graph.ConvertDType(graph.Div(one, graph.ConvertDType(held, dtypes.Float64)), dtypes.Float32)
	return at, graph.BroadcastToDims(each, n)
}

// proportional draws one row from each of n equal parts of the total.
func (t traced[E]) proportional(k rl.Key, n int) (row, prob *graph.Node) {
	nodes := t.on.Nodes.Node()
	total := graph.BroadcastToDims(graph.Reshape(graph.Slice(nodes, graph.AxisRange(1, 2))), n)
	wide := graph.ConvertDType(graph.ConvertDType(rl.GraphBits(k, n), dtypes.Int64), dtypes.Float64)
	u := graph.DivScalar(graph.AddScalar(wide, .5), float64(1<<32))
	part := graph.Add(graph.Iota(t.g, shapes.Make(dtypes.Float64, n), 0), u)
	x := graph.Mul(graph.DivScalar(part, float64(n)), total)
	at := t.find(x)
	prob = graph.ConvertDType(graph.Div(take(nodes, at), total), dtypes.Float32)
	return t.rowAt(at), prob
}

// find does what sums.find does: the nodes of slots, as int32.
func (t traced[E]) find(x *graph.Node) *graph.Node {
	nodes := t.on.Nodes.Node()
	at := graph.OnesLike(graph.Iota(t.g, shapes.Make(dtypes.Int32, x.Shape().Size()), 0))
	for range bits.Len(uint(t.priority.size)) - 1 {
		at = graph.Add(at, at)
		left, right := take(nodes, at), take(nodes, graph.AddScalar(at, 1))
		on := graph.LogicalAnd(graph.GreaterOrEqual(x, left), graph.GreaterThan(right, graph.ZerosLike(right)))
		x = graph.Where(on, graph.Sub(x, left), x)
		at = graph.Where(on, graph.AddScalar(at, 1), at)
	}
	return at
}

// rowAt returns rowIn, of the slots of nodes.
func (t traced[E]) rowAt(node *graph.Node) *graph.Node {
	n := node.Shape().Size()
	slot := graph.ConvertDType(graph.AddScalar(node, -t.priority.size), dtypes.Int64)
	last := graph.BroadcastToDims(graph.AddScalar(t.rows(), -1), n)
	size := t.full(last, t.capacity)
	return graph.Sub(last, graph.Mod(graph.Add(graph.Sub(graph.Mod(last, size), slot), size), size))
}

// follow does what store.follow does: where rows end, and after how many steps.
func (t traced[E]) follow(first *graph.Node, span int) (last, steps *graph.Node) {
	last, steps = first, graph.OnesLike(first)
	on := graph.Equal(first, first)
	for range span - 1 {
		on = graph.LogicalAnd(on, graph.LogicalNot(take(t.on.Done.Node(), last)))
		last = graph.Where(on, t.after(last), last)
		steps = graph.Where(on, graph.AddScalar(steps, 1), steps)
	}
	return last, steps
}

// after returns the slot one step later.
func (t traced[E]) after(slot *graph.Node) *graph.Node {
	return graph.Mod(graph.AddScalar(slot, t.envs), t.full(slot, t.capacity))
}

// gather does what Table.gather does.
func (t tracedTable[E]) gather(first, last, steps *graph.Node) []rl.Tensor {
	window := t.windows(first, t.table.span())
	out := make([]rl.Tensor, len(t.on.Rings))
	for i, r := range t.on.Rings {
		switch {
		case !r.Ok():
		case t.table.Sequence > 0:
			out[i] = rl.Wrap(graph.Gather(r.Node(), window))
		case t.table.roles[i] == ofLast:
			out[i] = rl.Wrap(take(r.Node(), last))
		case t.table.roles[i] == ofAll && t.table.span() > 1:
			out[i] = t.total(rl.Wrap(graph.Gather(r.Node(), window)), steps)
		default:
			out[i] = rl.Wrap(take(r.Node(), first))
		}
	}
	return out
}

// windows returns store.windows: [rows, span, 1].
func (t traced[E]) windows(first *graph.Node, span int) *graph.Node {
	slots := []*graph.Node{first}
	for range span - 1 {
		slots = append(slots, t.after(slots[len(slots)-1]))
	}
	return graph.ExpandAxes(graph.Stack(slots, 1), -1)
}

// times returns the number of every one of span steps of n rows.
func (t traced[E]) times(n, span int) *graph.Node {
	return graph.Iota(t.g, shapes.Make(dtypes.Int32, n, span), 1)
}

// across returns a number of each row at all its steps.
func (t traced[E]) across(x *graph.Node, span int) *graph.Node {
	return graph.BroadcastToDims(graph.ExpandAxes(x, 1), x.Shape().Size(), span)
}

// within does what store.within does.
func (t traced[E]) within(steps *graph.Node, span int) *graph.Node {
	return graph.LessThan(t.times(steps.Shape().Size(), span), t.across(steps, span))
}

// total does what Table.sum does.
func (t tracedTable[E]) total(reward rl.Tensor, steps *graph.Node) rl.Tensor {
	n, span := steps.Shape().Size(), t.table.span()
	end := graph.Equal(t.times(n, span), t.across(graph.AddScalar(steps, -1), span))
	dims := reward.Shape().Dimensions
	for end.Rank() < len(dims) { // for every agent
		end = graph.ExpandAxes(end, -1)
	}
	end = graph.BroadcastToDims(end, dims...)
	no := rl.Wrap(graph.Zeros(t.g, shapes.Make(dtypes.Bool, dims...)))
	ret := rl.NStep(t.table.Discount, span, reward, rl.Zero(reward), no, rl.Wrap(end))
	return rl.Wrap(graph.Squeeze(graph.Slice(ret.Node(), graph.AxisRange(), graph.AxisRange(0, 1)), 1))
}
