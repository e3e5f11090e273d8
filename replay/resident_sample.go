package replay

import (
	"math/bits"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// sample is Sample.
func (t traced[E]) sample(k rl.Key, n int) (s Sample[E]) {
	if !t.on.Done.Ok() {
		rl.Failf("a table is sampled that nothing was inserted into")
	}
	_, held := t.held()
	t.l.Check(rl.Wrap(graph.GreaterThan(held, graph.ZerosLike(held))), "a table is sampled that has no row yet: ask whether it is Ready, or begin to learn later")
	draw := t.uniform
	if t.priority != nil {
		draw = t.proportional
	}
	row, prob := draw(k, n)
	s.Index, s.Prob = rl.Wrap(row), rl.Wrap(prob)
	first := t.slotOf64(row)
	last, steps := t.follow(first)
	if t.Sequence > 0 {
		s.Valid = rl.Wrap(graph.LessThan(t.times(n), t.across(steps)))
	} else {
		s.Discount = rl.Wrap(take(graph.Const(t.g, t.powers), steps))
	}
	s.Data = rl.Rebuild(t.like, t.gather(first, last, steps))
	return s
}

// uniform draws rows that are all as likely.
func (t traced[E]) uniform(k rl.Key, n int) (row, prob *graph.Node) {
	lo, held := t.held()
	wide := graph.ConvertDType(rl.GraphBits(k, n), dtypes.Uint64)
	many := graph.BroadcastToDims(graph.ConvertDType(held, dtypes.Uint64), n)
	at := graph.BitwiseShiftRightLogicalScalar(graph.Mul(wide, many), 32)
	row = graph.Add(graph.BroadcastToDims(lo, n), graph.ConvertDType(at, dtypes.Int64))
	one := graph.Const(t.g, float64(1))
	each := graph.ConvertDType(graph.Div(one, graph.ConvertDType(held, dtypes.Float64)), dtypes.Float32)
	return row, graph.BroadcastToDims(each, n)
}

// proportional draws one row from each of n equal parts of the total.
func (t traced[E]) proportional(k rl.Key, n int) (row, prob *graph.Node) {
	nodes := t.on.Nodes.Node()
	total := graph.BroadcastToDims(graph.Reshape(graph.Slice(nodes, graph.AxisRange(1, 2))), n)
	wide := graph.ConvertDType(graph.ConvertDType(rl.GraphBits(k, n), dtypes.Int64), dtypes.Float64)
	u := graph.DivScalar(graph.AddScalar(wide, .5), float64(1<<32))
	part := graph.Add(graph.Iota(t.g, shapes.Make(dtypes.Float64, n), 0), u)
	x := graph.Mul(graph.DivScalar(part, float64(n)), total)
	at := graph.OnesLike(graph.Iota(t.g, shapes.Make(dtypes.Int32, n), 0))
	for range bits.Len(uint(t.priority.size)) - 1 { // sums.find
		at = graph.Add(at, at)
		left, right := take(nodes, at), take(nodes, graph.AddScalar(at, 1))
		on := graph.LogicalAnd(graph.GreaterOrEqual(x, left), graph.GreaterThan(right, graph.ZerosLike(right)))
		x = graph.Where(on, graph.Sub(x, left), x)
		at = graph.Where(on, graph.AddScalar(at, 1), at)
	}
	prob = graph.ConvertDType(graph.Div(take(nodes, at), total), dtypes.Float32)
	return t.rowAt(graph.ConvertDType(graph.AddScalar(at, -t.priority.size), dtypes.Int64), n), prob
}

// rowAt is rowIn.
func (t traced[E]) rowAt(slot *graph.Node, n int) *graph.Node {
	last := graph.BroadcastToDims(graph.AddScalar(t.rows(), -1), n)
	size := t.full(last, t.capacity)
	return graph.Sub(last, graph.Mod(graph.Add(graph.Sub(graph.Mod(last, size), slot), size), size))
}

// follow is Table.follow: where rows end, and after how many steps.
func (t traced[E]) follow(first *graph.Node) (last, steps *graph.Node) {
	last, steps = first, graph.OnesLike(first)
	on := graph.Equal(first, first)
	for range t.span() - 1 {
		on = graph.LogicalAnd(on, graph.LogicalNot(take(t.on.Done.Node(), last)))
		last = graph.Where(on, t.after(last), last)
		steps = graph.Where(on, graph.AddScalar(steps, 1), steps)
	}
	return last, steps
}

// after is the slot one step later.
func (t traced[E]) after(slot *graph.Node) *graph.Node {
	return graph.Mod(graph.AddScalar(slot, t.envs), t.full(slot, t.capacity))
}

// gather is Table.gather.
func (t traced[E]) gather(first, last, steps *graph.Node) []rl.Tensor {
	slots := []*graph.Node{first}
	for range t.span() - 1 {
		slots = append(slots, t.after(slots[len(slots)-1]))
	}
	window := graph.ExpandAxes(graph.Stack(slots, 1), -1)
	out := make([]rl.Tensor, len(t.on.Rings))
	for i, r := range t.on.Rings {
		switch {
		case !r.Ok():
		case t.Sequence > 0:
			out[i] = rl.Wrap(graph.Gather(r.Node(), window))
		case t.roles[i] == ofLast:
			out[i] = rl.Wrap(take(r.Node(), last))
		case t.roles[i] == ofAll && t.span() > 1:
			out[i] = t.total(rl.Wrap(graph.Gather(r.Node(), window)), steps)
		default:
			out[i] = rl.Wrap(take(r.Node(), first))
		}
	}
	return out
}

// times is the number of every step of n rows.
func (t traced[E]) times(n int) *graph.Node {
	return graph.Iota(t.g, shapes.Make(dtypes.Int32, n, t.span()), 1)
}

// across is a number of each row at all its steps.
func (t traced[E]) across(x *graph.Node) *graph.Node {
	return graph.BroadcastToDims(graph.ExpandAxes(x, 1), x.Shape().Size(), t.span())
}

// total is Table.sum.
func (t traced[E]) total(reward rl.Tensor, steps *graph.Node) rl.Tensor {
	n, span := steps.Shape().Size(), t.span()
	end := rl.Wrap(graph.Equal(t.times(n), t.across(graph.AddScalar(steps, -1))))
	no := rl.Wrap(graph.Zeros(t.g, shapes.Make(dtypes.Bool, n, span)))
	ret := rl.NStep(t.Discount, span, reward, rl.Zero(reward), no, end)
	return rl.Wrap(graph.Squeeze(graph.Slice(ret.Node(), graph.AxisRange(), graph.AxisRange(0, 1)), 1))
}
