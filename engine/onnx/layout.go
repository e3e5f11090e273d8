package onnx

import (
	"math"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
)

// same needs no operator: the output is another name for the operand.
func same(w *writer, n *ir.Node) {
	if small, ok := w.small[n.Inputs[0]]; ok {
		w.small[n.Outputs[0]] = small
		return
	}
	w.names[n.Outputs[0]] = w.name(n.Inputs[0])
}

// constant keeps one element of a constant that is the same everywhere.
func constant(w *writer, n *ir.Node) {
	v, l, dims := n.Outputs[0], n.Attr.(ir.Literal), w.dims(n.Outputs[0])
	if len(dims) > 0 && ir.Splat(v, l) {
		w.small[v] = w.constant(tensor{of: v.DType(), data: l.Data[:v.DType().Size()]})
		return
	}
	if !fixed(dims) {
		w.failf("a constant has other elements for another number of rows: it cannot be written for any number of rows")
	}
	w.names[v] = w.constant(tensor{dims: numbers(dims), of: v.DType(), data: l.Data})
}

func reshape(w *writer, n *ir.Node) {
	w.names[n.Outputs[0]] = w.reshaped(w.name(n.Inputs[0]), w.dims(n.Outputs[0]))
}

// broadcast gives the operand one element along axes that it does not have, unless these come
// before all others, where operators add them by themselves. It is repeated where it has to be.
func broadcast(w *writer, n *ir.Node) {
	in, out, axes := n.Inputs[0], n.Outputs[0], n.Attr.(ir.Axes).Axes
	from, to := w.dims(in), w.dims(out)
	name, small := w.small[in]
	if !slices.Equal(axes, upTo(len(to))[len(to)-len(from):]) {
		dims := ones(len(to))
		for i, axis := range axes {
			dims[axis] = from[i]
		}
		name, small = w.reshaped(w.name(in), dims), true
	} else if !small {
		name, small = w.name(in), !slices.Equal(from, to)
	}
	if small {
		w.small[out] = name
	} else {
		w.names[out] = name
	}
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// counting writes numbers along one axis, as a constant unless it is the axis of the rows.
func counting(w *writer, n *ir.Node) {
	out, axis := n.Outputs[0], n.Attr.(ir.Axis).Axis
	dims := w.dims(out)
	along := ones(len(dims))
	along[axis] = dims[axis]
	if dims[axis].rows == 0 {
		data := make([]int64, dims[axis].n)
		for i := range data {
			data[i] = int64(i)
		}
		name := w.reshaped(w.ints(data...), along)
		w.small[out] = w.let("Cast", []string{name}, attribute{"to", elementTypes[out.DType()]})
		return
	}
	limit := w.let("Squeeze", []string{w.count(dims[axis].rows)})
	zero, one := w.scalar(dtypes.Int64, 0), w.scalar(dtypes.Int64, 1)
	name := w.let("Range", []string{zero, limit, one})
	name = w.let("Cast", []string{name}, attribute{"to", elementTypes[out.DType()]})
	w.small[out] = w.reshaped(name, along)
}

func slice(w *writer, n *ir.Node) {
	a, other := n.Attr.(ir.Slice), w.attrs[n].(ir.Slice)
	dims := w.dims(n.Inputs[0])
	ends := wide(a.Limits)
	for i, d := range dims {
		switch {
		case a.Limits[i] == d.n && other.Limits[i] == w.twin[n.Inputs[0]].Shape.Dimensions[i]:
			ends[i] = math.MaxInt64
		case a.Limits[i] != other.Limits[i] || a.Starts[i] != other.Starts[i]:
			w.failf("%s: it takes other rows of another number of rows", n.Op)
		}
	}
	w.sliced(n, wide(a.Starts), ends, wide(a.Strides))
}

func reverse(w *writer, n *ir.Node) {
	rank := n.Outputs[0].Shape.Rank()
	starts, ends, steps := make([]int64, rank), slices.Repeat([]int64{math.MaxInt64}, rank), slices.Repeat([]int64{1}, rank)
	for _, axis := range n.Attr.(ir.Axes).Axes {
		starts[axis], ends[axis], steps[axis] = -1, math.MinInt64, -1
	}
	w.sliced(n, starts, ends, steps)
}

// sliced writes a Slice of the node's operand.
func (w *writer) sliced(n *ir.Node, starts, ends, steps []int64) {
	axes := wide(upTo(len(starts)))
	w.names[n.Outputs[0]] = w.let("Slice", []string{w.name(n.Inputs[0]), w.ints(starts...), w.ints(ends...), w.ints(axes...), w.ints(steps...)})
}

func pad(w *writer, n *ir.Node) {
	var before, after []int64
	for _, a := range n.Attr.(ir.Pad).Axes {
		if a.Interior != 0 {
			w.failf("%s between elements: %w in ONNX", n.Op, compute.ErrNotImplemented)
		}
		before, after = append(before, int64(a.Start)), append(after, int64(a.End))
	}
	w.names[n.Outputs[0]] = w.let("Pad", []string{w.name(n.Inputs[0]), w.ints(append(before, after...)...), w.name(n.Inputs[1])})
}

// argMinMax searches along an axis; the first of several equal elements wins.
func argMinMax(w *writer, n *ir.Node) {
	a, v := n.Attr.(ir.ArgMinMax), n.Inputs[0]
	operator, name := "ArgMax", w.name(v)
	if a.IsMin {
		operator = "ArgMin"
	}
	if v.DType() == dtypes.Bool {
		name = w.let("Cast", []string{name}, attribute{"to", elementTypes[dtypes.Int32]})
	}
	name = w.let(operator, []string{name}, attribute{"axis", int64(a.Axis)}, attribute{"keepdims", int64(0)})
	w.names[n.Outputs[0]] = w.let("Cast", []string{name}, attribute{"to", elementTypes[n.Outputs[0].DType()]})
}
