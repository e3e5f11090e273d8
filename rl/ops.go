package rl

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/internal/rowcopy"
)

// The operations of this file move data and compute nothing that rounds. On
// values they are plain Go, which at the size of a rollout is far cheaper than
// running a graph; on nodes they are graph code. Both give the same bits.

// Select returns onTrue where mask, a tensor of bool over leading axes, is true, and
// onFalse elsewhere.
//
//weft:op batch turns rows
func Select(mask, onTrue, onFalse Tensor) Tensor {
	in := []Tensor{mask, onTrue, onFalse}
	if c := ctxOf(in); c != nil {
		return selected(c, c.lift(in))[0]
	}
	if !onTrue.Shape().Equal(onFalse.Shape()) || !leads(mask, onTrue) {
		failf("select: mask %s does not lead %s and %s", mask.Shape(), onTrue.Shape(), onFalse.Shape())
	}
	if bounds := boundsOf(in); bounds != nil {
		return inPartsOf(in[1:2], bounds, func(i int) []Tensor {
			p := partOf(in, bounds, i)
			return []Tensor{Select(p[0], p[1], p[2])}
		})[0]
	}
	for _, t := range in[1:] {
		if t.val.away() { // it stays there
			return t.val.dev.compiled("select", in, selected).run(Key{}, in)[0]
		}
	}
	rows, a, b := Read[bool](mask), bytesOf(onTrue), bytesOf(onFalse)
	return device(in).fresh(onTrue.Shape(), func(flat any) {
		rowcopy.Select(dtypes.UnsafeByteSliceFromAny(flat), rows, a, b)
	})
}

// selected does what Select does as graph code.
func selected(_ *Ctx, in []Tensor) []Tensor {
	m := in[0].Node()
	for m.Rank() < in[1].Shape().Rank() {
		m = graph.ExpandAxes(m, -1)
	}
	m = graph.BroadcastToDims(m, in[1].Shape().Dimensions...)
	return []Tensor{Wrap(graph.Where(m, in[1].Node(), in[2].Node()))}
}

// leads reports whether mask's axes are the first of x's.
func leads(mask, x Tensor) bool {
	m, d := mask.Shape().Dimensions, x.Shape().Dimensions
	return len(m) <= len(d) && slices.Equal(m, d[:len(m)])
}

// Keep returns x with the rows zeroed where done: memory that must not outlive its
// episode. An absent x stays absent.
//
//weft:op batch turns rows
func Keep(x, done Tensor) Tensor {
	if !x.Ok() {
		return x
	}
	return Select(done, Zero(x), x)
}

// Zero returns a tensor like x, all zero.
//
//weft:op batch rows
func Zero(x Tensor) Tensor {
	if x.node != nil {
		return Wrap(graph.ZerosLike(x.node))
	}
	return x.val.device().from(makeFlat(x.Shape()), x.Shape())
}

func (v *value) device() *Device {
	if v.dev == nil {
		failf("a constant has no device")
	}
	return v.dev
}

// Or returns the elementwise disjunction of two bool tensors.
//
//weft:op batch rows
func Or(a, b Tensor) Tensor {
	in := []Tensor{a, b}
	if c := ctxOf(in); c != nil {
		in = c.lift(in)
		return Wrap(graph.LogicalOr(in[0].Node(), in[1].Node()))
	}
	if !a.Shape().Equal(b.Shape()) {
		failf("or: shapes %s and %s differ", a.Shape(), b.Shape())
	}
	x, y := Read[bool](a), Read[bool](b)
	return device(in).fresh(a.Shape(), func(flat any) {
		out := flat.([]bool)
		for i := range out {
			out[i] = x[i] || y[i]
		}
	})
}

// Shift returns x over time [env, time, ...] moved one step to the left, with last
// [env, ...] at the end: of values, the values of the next states.
//
//weft:op batch rows
func Shift(x, last Tensor) Tensor {
	in := []Tensor{x, last}
	if !ends(last, x) {
		failf("shift: %s does not end %s", last.Shape(), x.Shape())
	}
	if c := ctxOf(in); c != nil {
		in = c.lift(in)
		n, l := in[0].Node(), graph.ExpandAxes(in[1].Node(), 1)
		if n.Shape().Dimensions[1] == 1 {
			return Wrap(l)
		}
		tail := graph.SliceAxis(n, 1, graph.AxisRange(1))
		return Wrap(graph.Concatenate([]*graph.Node{tail, l}, 1))
	}
	rows, src, end := x.Shape().Dimensions[0], bytesOf(x), bytesOf(last)
	return device(in).fresh(x.Shape(), func(flat any) {
		rowcopy.Shift(dtypes.UnsafeByteSliceFromAny(flat), src, end, rows)
	})
}

// ends reports whether last is one time step of x.
func ends(last, x Tensor) bool {
	d := x.Shape().Dimensions
	return len(d) >= 2 && last.Shape().Equal(shapes.Make(x.Shape().DType, slices.Delete(slices.Clone(d), 1, 2)...))
}

// Stack joins tensors [env, ...], one for each time step, to [env, time, ...].
//
//weft:op batch rows
func Stack(steps []Tensor) Tensor {
	if len(steps) == 0 || steps[0].Shape().Rank() == 0 {
		failf("stack: there must be steps, and each needs an environment axis")
	}
	shape := steps[0].Shape()
	for t, x := range steps {
		if !x.Shape().Equal(shape) {
			failf("stack: shape %s at step %d, %s before", x.Shape(), t, shape)
		}
	}
	if c := ctxOf(steps); c != nil {
		return Wrap(graph.Stack(nodes(c.lift(steps)), 1))
	}
	if bounds := boundsOf(steps); bounds != nil {
		parts := make([]Tensor, len(bounds)-1)
		for i := range parts {
			parts[i] = Stack(partOf(steps, bounds, i))
		}
		return concat(parts)
	}
	if far(steps) {
		return op("stack", steps, func(_ *Ctx, in []Tensor) []Tensor { return []Tensor{Wrap(graph.Stack(nodes(in), 1))} })[0]
	}
	rows, time := shape.Dimensions[0], len(steps)
	dims := append([]int{rows, time}, shape.Dimensions[1:]...)
	size := int(shape.ByteSize()) / max(rows, 1)
	return device(steps).fresh(shapes.Make(shape.DType, dims...), func(flat any) {
		out := dtypes.UnsafeByteSliceFromAny(flat)
		for t, x := range steps {
			rowcopy.Scatter(out[t*size:], bytesOf(x), rows, time*size, size)
		}
	})
}

// Column returns element j of the second axis of x, [env, agent, ...]: what belongs to
// one agent.
//
//weft:op batch rows
func Column(x Tensor, j int) Tensor {
	dims := x.Shape().Dimensions
	if len(dims) < 2 || j < 0 || j >= dims[1] {
		failf("column %d: a tensor of shape %s has no such column", j, x.Shape())
	}
	if x.node != nil {
		return Wrap(graph.Squeeze(graph.SliceAxis(x.node, 1, graph.AxisElem(j)), 1))
	}
	index := make([]int, dims[0])
	for i := range index {
		index[i] = i*dims[1] + j
	}
	return Gather(x, 2, index)
}

// Gather picks rows of x by index, after the first axes axes have been folded
// into one row axis.
//
//weft:op batch whole shape=rows shards=even
func Gather(x Tensor, axes int, index []int) Tensor {
	dims := x.Shape().Dimensions
	if axes > len(dims) {
		failf("gather: %s has no %d axes to fold", x.Shape(), axes)
	}
	rows := 1
	for _, d := range dims[:axes] {
		rows *= d
	}
	shape := shapes.Make(x.Shape().DType, append([]int{len(index)}, dims[axes:]...)...)
	src := bytesOf(x)
	size := len(src) / max(rows, 1)
	for _, i := range index {
		if i < 0 || i >= rows {
			failf("gather: row %d of %d", i, rows)
		}
	}
	return device([]Tensor{x}).fresh(shape, func(flat any) {
		rowcopy.Gather(dtypes.UnsafeByteSliceFromAny(flat), src, index, size)
	})
}

// Standardise returns x with mean 0 and variance 1 over all rows, as far as weight
// (absent: all alike) lets them count. It crosses rows, so it stands outside a
// loss and is an operation of its own.
//
//weft:op batch whole
func Standardise(x, weight Tensor) Tensor {
	in := []Tensor{x}
	if weight.Ok() {
		if !weight.Shape().Equal(x.Shape()) {
			failf("standardise: the weight has shape %s, what it weighs %s", weight.Shape(), x.Shape())
		}
		in = append(in, weight)
	}
	if m := meeting(in); m != nil {
		lo, hi := 0, 0
		for i, t := range in {
			in[i], lo, hi = m.All(t)
		}
		return part(standardise(in), lo, hi)
	}
	return standardise(in)
}

func standardise(in []Tensor) Tensor {
	return op("standardise", in, func(_ *Ctx, in []Tensor) []Tensor {
		x := in[0].Node()
		w := graph.OnesLike(x)
		if len(in) == 2 {
			w = in[1].Node()
		}
		total := graph.ReduceAllSum(w)
		mean := graph.Div(graph.ReduceAllSum(graph.Mul(x, w)), positive(total))
		d := graph.Sub(x, mean)
		// The sample variance, as PPO's common implementations take it.
		variance := graph.Div(graph.ReduceAllSum(graph.Mul(graph.Square(d), w)), positive(graph.SubScalar(total, 1)))
		return []Tensor{Wrap(graph.Div(d, graph.AddScalar(graph.Sqrt(variance), 1e-8)))}
	})[0]
}

// positive returns x, or 1 where that is no divisor: a sum over no rows, or the
// variance of one row, is 0 and not 0/0.
func positive(x *graph.Node) *graph.Node {
	return graph.Where(graph.GreaterThan(x, graph.ZerosLike(x)), x, graph.OnesLike(x))
}

// blend returns (1-tau) a + tau b, tensor by tensor. tau is an input of the program,
// which is compiled once whatever a schedule makes of it.
func blend(a, b []Tensor, tau float64) []Tensor {
	n := len(a)
	in := append(append(slices.Clone(a), b...), Scalar(1-tau), Scalar(tau))
	return op("blend", in, func(_ *Ctx, in []Tensor) []Tensor {
		out := make([]Tensor, n)
		keep, take := in[2*n].Node(), in[2*n+1].Node()
		for i := range out {
			out[i] = Wrap(graph.Add(graph.Mul(in[i].Node(), keep), graph.Mul(in[n+i].Node(), take)))
		}
		return out
	})
}

// Mean returns the mean of all elements, a scalar. Like Standardise it crosses rows.
//
//weft:op batch whole shape=one
func Mean(x Tensor) Tensor {
	if m := meeting([]Tensor{x}); m != nil {
		x, _, _ = m.All(x)
	}
	return op("mean", []Tensor{x}, func(_ *Ctx, in []Tensor) []Tensor {
		return []Tensor{Wrap(graph.ReduceAllMean(in[0].Node()))}
	})[0]
}
