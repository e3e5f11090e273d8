package rows

import (
	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/ir"
)

// moved returns the row of an operation that only moves elements: for every element of the row,
// where it comes from.
func (f *finder) moved(v *ir.Value, axis int) *Node {
	n := v.Node
	if n.Op == compute.OpTypeConcatenate {
		return f.joined(v, axis)
	}
	in := n.Inputs[0].Shape.Dimensions
	from := -1 // the operand's axis of rows
	// The operand's element is base plus, for each axis of the result, a stride.
	strides, base := make([]int, v.Shape.Rank()), 0
	assign := func(out, operand, scale, start int) {
		if out == axis && in[operand] == f.rows && scale != 0 {
			from = operand
			if start != 0 || scale != 1 {
				refuse("%s moves rows", n.Op)
			}
		}
		strides[out] = scale
	}
	switch a := n.Attr.(type) {
	case ir.Slice:
		for i := range in {
			assign(i, i, a.Strides[i], a.Starts[i])
		}
	case ir.Axes:
		for i, other := range a.Axes {
			switch n.Op {
			case compute.OpTypeTranspose:
				assign(i, other, 1, 0)
			case compute.OpTypeBroadcastInDim:
				if in[i] != 1 {
					assign(other, i, 1, 0)
				}
			}
		}
	}
	if axis >= 0 && from < 0 && n.Op != compute.OpTypeBroadcastInDim {
		refuse("%s moves rows", n.Op)
	}
	x := f.row(n.Inputs[0], from)
	step := rowSteps(in, from)
	for i, s := range strides {
		strides[i] = s * f.operandStep(n, i, step)
	}
	if a, ok := n.Attr.(ir.Slice); ok {
		for i := range in {
			base += a.Starts[i] * step[i]
		}
	}
	dims := v.Shape.Dimensions
	var at []At
	for _, e := range place(strides, 0, dims, axis).Elems {
		at = append(at, At{0, base + e})
	}
	return f.pick(v.DType(), at, x)
}

// operandStep returns how far the operand's elements of a row are apart along what becomes axis i.
func (f *finder) operandStep(n *ir.Node, i int, step []int) int {
	a, ok := n.Attr.(ir.Axes)
	if !ok {
		return step[i]
	}
	if n.Op == compute.OpTypeTranspose {
		return step[a.Axes[i]]
	}
	for j, other := range a.Axes {
		if other == i {
			return step[j]
		}
	}
	return 0
}

// rowSteps returns how far the elements of a row are apart along each axis; along that of rows they
// do not move.
func rowSteps(dims []int, axis int) []int {
	out := make([]int, len(dims))
	step := 1
	for i := len(dims) - 1; i >= 0; i-- {
		if i != axis {
			out[i] = step
			step *= dims[i]
		}
	}
	return out
}

// joined returns a row of a concatenation.
func (f *finder) joined(v *ir.Value, axis int) *Node {
	along := v.Node.Attr.(ir.Axis).Axis
	if along == axis {
		refuse("rows are concatenated")
	}
	var args []*Node
	at := make([]At, v.Size()/max(1, f.span(axis)))
	steps := rowSteps(v.Shape.Dimensions, axis)
	start := 0
	for i, x := range v.Node.Inputs {
		args = append(args, f.row(x, axis))
		for e, to := range place(steps, 0, x.Shape.Dimensions, axis).Elems {
			at[to+start*steps[along]] = At{i, e}
		}
		start += x.Shape.Dimensions[along]
	}
	return f.pick(v.DType(), at, args...)
}

// span returns how many rows an axis has.
func (f *finder) span(axis int) int {
	if axis < 0 {
		return 1
	}
	return f.rows
}

// padded returns a row of a Pad, in which rows have no padding.
func (f *finder) padded(v *ir.Value, axis int) *Node {
	pads, in := v.Node.Attr.(ir.Pad).Axes, v.Node.Inputs[0].Shape.Dimensions
	if axis >= 0 && pads[axis] != (compute.PadAxis{}) {
		refuse("rows are padded")
	}
	x, fill := f.row(v.Node.Inputs[0], axis), f.row(v.Node.Inputs[1], -1)
	dims := v.Shape.Dimensions
	steps := rowSteps(in, axis)
	at := make([]At, 0, v.Size()/f.span(axis))
	index := make([]int, len(dims))
	for range cap(at) {
		from := At{0, 0}
		for a, i := range index {
			p := pads[a]
			if a == axis {
				continue
			}
			if i -= p.Start; i < 0 || i%(p.Interior+1) != 0 || i/(p.Interior+1) >= in[a] {
				from = At{1, 0}
				break
			}
			from.Elem += i / (p.Interior + 1) * steps[a]
		}
		at = append(at, from)
		for a := len(index) - 1; a >= 0; a-- {
			if a == axis {
				continue
			}
			if index[a]++; index[a] < dims[a] {
				break
			}
			index[a] = 0
		}
	}
	return f.pick(v.DType(), at, x, fill)
}
