package rowwise

import (
	"slices"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// operation returns the state of the outputs of an operation of which at least one operand has rows
// and none mixes them.
func (c *checker) operation(n *ir.Node, in []state) state {
	switch row := op.Of(n.Op); {
	case row.Elementwise(), row.Class == op.Same:
		return joinAll(n, in)
	case row.Class == op.Reduce:
		return reduce(n, in[0], n.Attr.(ir.Axes).Axes)
	}
	switch n.Op {
	case compute.OpTypeBitcast:
		return bitcast(n, in[0])
	case compute.OpTypeReshape:
		return c.reshape(n, in[0])
	case compute.OpTypeTranspose, compute.OpTypeBroadcastInDim, compute.OpTypeReverse:
		return c.axes(n, in[0])
	case compute.OpTypeSlice:
		return c.slice(n, in[0])
	case compute.OpTypeConcatenate:
		return c.concatenate(n, in)
	case compute.OpTypePad:
		return c.pad(n, in)
	case compute.OpTypeArgMinMax:
		return reduce(n, in[0], []int{n.Attr.(ir.ArgMinMax).Axis})
	case compute.OpTypeSort:
		return sorted(n, in)
	case compute.OpTypeReduceWindow:
		return window(n, in[0])
	case compute.OpTypeDotGeneral:
		return dot(n, in[0], in[1])
	case compute.OpTypeConvGeneral:
		return conv(n, in[0], in[1])
	case compute.OpTypeGather:
		return c.gather(n, in[0], in[1])
	case compute.OpTypeDynamicSlice, compute.OpTypeDynamicUpdateSlice:
		return dynamic(n, in)
	}
	return cross(n, "cannot be shown to leave rows apart")
}

// bitcast leaves axes where they are, but for a last one that the bits of an element become, or
// come from.
func bitcast(n *ir.Node, s state) state {
	in, out := n.Inputs[0].Shape.Dimensions, n.Outputs[0].Shape.Dimensions
	if s.axis >= len(out) || in[s.axis] != out[s.axis] {
		return cross(n, "takes rows apart")
	}
	return s
}

// reshape finds the axis that has the rows after a reshape: a row is a stretch of elements, before
// and after.
func (c *checker) reshape(n *ir.Node, s state) state {
	stretch := s.inner
	for _, d := range n.Inputs[0].Shape.Dimensions[s.axis+1:] {
		stretch *= d
	}
	below := 1
	dims := n.Outputs[0].Shape.Dimensions
	for a := len(dims) - 1; a >= 0; a-- {
		if stretch%below == 0 && dims[a]%(stretch/below*c.rows) == 0 && stretch/below > 0 {
			return state{kind: byRow, axis: a, inner: stretch / below}
		}
		below *= dims[a]
	}
	return cross(n, "takes rows apart")
}

// axes follows operations that give axes another place.
func (c *checker) axes(n *ir.Node, s state) state {
	list := n.Attr.(ir.Axes).Axes
	switch n.Op {
	case compute.OpTypeTranspose:
		s.axis = slices.Index(list, s.axis)
	case compute.OpTypeBroadcastInDim:
		s.axis = list[s.axis]
	default:
		if slices.Contains(list, s.axis) {
			return cross(n, "turns the order of rows round")
		}
	}
	return s
}

// slice takes whole sets of rows.
func (c *checker) slice(n *ir.Node, s state) state {
	a, all := n.Attr.(ir.Slice), c.rows*s.inner
	if a.Strides[s.axis] != 1 || a.Starts[s.axis]%all != 0 || a.Limits[s.axis]%all != 0 {
		return cross(n, "takes some of the rows")
	}
	return s
}

// concatenate puts whole sets of rows one after another, or joins along another axis.
func (c *checker) concatenate(n *ir.Node, in []state) state {
	s := joinAll(n, in)
	if s.kind != byRow || n.Attr.(ir.Axis).Axis != s.axis {
		return s
	}
	for _, v := range n.Inputs { // what is the same for all rows may stand beside them if it is as many
		if v.Shape.Dimensions[s.axis]%(c.rows*s.inner) != 0 {
			return cross(n, "puts something else along the axis of rows")
		}
	}
	return s
}

func (c *checker) pad(n *ir.Node, in []state) state {
	s := in[0]
	if in[1].kind != common || s.kind != byRow || n.Attr.(ir.Pad).Axes[s.axis] != (compute.PadAxis{}) {
		return cross(n, "pads rows")
	}
	return s
}

// reduce drops axes; without any it drops all.
func reduce(n *ir.Node, s state, axes []int) state {
	if len(axes) == 0 || slices.Contains(axes, s.axis) {
		return cross(n, "is over rows")
	}
	axis := s.axis
	for _, a := range axes {
		if a < axis {
			s.axis--
		}
	}
	return s
}

func sorted(n *ir.Node, in []state) state {
	s := joinAll(n, in[:len(n.Operands())])
	if joinAll(n, in[len(n.Operands()):]).kind != common || s.kind != byRow || n.Attr.(ir.Sort).Axis == s.axis {
		return cross(n, "sorts rows")
	}
	return s
}

// window slides along the axis of rows by single elements, or not at all.
func window(n *ir.Node, s state) state {
	a := n.Attr.(ir.Window)
	one := func(list []int) bool { return len(list) == 0 || list[s.axis] == 1 }
	if !one(a.Dims) || !one(a.Strides) || !one(a.InputDilations) || len(a.Paddings) > 0 && a.Paddings[s.axis] != [2]int{} {
		return cross(n, "slides over rows")
	}
	return s
}

// dot follows rows through a product: as an axis that is no other operand's, or as one of the
// batch.
func dot(n *ir.Node, l, r state) state {
	a := n.Attr.(ir.Dot)
	left := productAxis(l, a.LhsBatch, a.LhsContract, 0)
	right := productAxis(r, a.RhsBatch, a.RhsContract, n.Inputs[0].Shape.Rank()-len(a.LhsBatch)-len(a.LhsContract))
	if left.kind == mixed || right.kind == mixed {
		return cross(n, "is summed over rows")
	}
	if left.kind == byRow && right.kind == byRow && left.axis != right.axis {
		return cross(n, "multiplies rows with each other")
	}
	return join(n, left, right)
}

// productAxis returns where the rows of an operand are in a product; mixed if they are summed. free
// is how many axes of the other operand come before its own.
func productAxis(s state, batch, contract []int, free int) state {
	if s.kind != byRow {
		return s
	}
	if i := slices.Index(batch, s.axis); i >= 0 {
		s.axis = i
		return s
	}
	if slices.Contains(contract, s.axis) {
		return state{kind: mixed}
	}
	at := s.axis
	for _, a := range append(slices.Clone(batch), contract...) {
		if a < s.axis {
			at--
		}
	}
	s.axis = len(batch) + free + at
	return s
}

// conv follows rows that are a convolution's batch.
func conv(n *ir.Node, image, kernel state) state {
	a := n.Attr.(ir.Conv)
	if kernel.kind != common || image.axis != a.Axes.InputBatch || a.BatchGroups > 1 {
		return cross(n, "has rows elsewhere than in its batch")
	}
	image.axis = a.Axes.OutputBatch
	return image
}

// dynamic takes or writes a part that lies in the same place for all rows, and has all of them.
func dynamic(n *ir.Node, in []state) state {
	values := 1
	if n.Op == compute.OpTypeDynamicUpdateSlice {
		values = 2
	}
	s := joinAll(n, in[:values])
	if joinAll(n, in[values:]).kind != common {
		return cross(n, "has another place in every row")
	}
	part := n.Outputs[0]
	if values == 2 {
		part = n.Inputs[1]
	}
	if s.kind == byRow && part.Shape.Dimensions[s.axis] != n.Inputs[0].Shape.Dimensions[s.axis] {
		return cross(n, "takes some of the rows")
	}
	return s
}
