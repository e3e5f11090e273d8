package rows

import (
	"math"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// row returns what a row has of v, whose rows are along axis, or, with -1, what all rows share.
// Elements are in the order of the other axes.
func (f *finder) row(v *ir.Value, axis int) *Node {
	v = f.source(v)
	key := asked{v, axis, f.stage}
	if n := f.done[key]; n != nil {
		return n
	}
	if axis >= 0 && (axis >= v.Shape.Rank() || v.Shape.Dimensions[axis] != f.rows) {
		refuse("%s by rows along axis %d", v.Shape, axis)
	}
	n := f.attempt(v, axis)
	f.done[key] = n
	return n
}

// attempt writes v. In a region, what all rows share and what cannot be done by row is computed
// before it, and read.
func (f *finder) attempt(v *ir.Value, axis int) (n *Node) {
	if !f.region {
		return f.written(v, axis)
	}
	if x := f.memory(v); axis < 0 && x.value.Node.Op != compute.OpTypeConstant {
		return f.load(x, axis)
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			n = f.load(f.whole(v), axis)
		default:
			panic(r)
		}
	}()
	return f.written(v, axis)
}

func (f *finder) written(v *ir.Value, axis int) *Node {
	if i, ok := f.state[v]; ok {
		return f.carried(i, axis)
	}
	if !f.region {
		if x := f.view(v); x != nil {
			return f.load(x, axis)
		}
	}
	n := v.Node
	elems := v.Size()
	if axis >= 0 {
		elems /= f.rows
	}
	if elems > most || elems < 1 {
		refuse("a row of %d elements", elems)
	}
	switch row := op.Of(n.Op); {
	case row.Elementwise():
		return f.elementwise(v, axis, elems)
	case row.Class == op.Reduce:
		x, groups := f.grouped(n.Inputs[0], n.Attr.(ir.Axes).Axes, axis)
		return f.reduce(n.Op, x, groups)
	}
	switch n.Op {
	case compute.OpTypeConstant:
		return f.literal(v, axis)
	case compute.OpTypeIota:
		return f.iota(v, axis)
	case compute.OpTypeReshape:
		return f.row(n.Inputs[0], f.unshaped(v, axis))
	case compute.OpTypeTranspose, compute.OpTypeBroadcastInDim, compute.OpTypeSlice, compute.OpTypeConcatenate:
		return f.moved(v, axis)
	case compute.OpTypePad:
		return f.padded(v, axis)
	case compute.OpTypeArgMinMax:
		a := n.Attr.(ir.ArgMinMax)
		x, groups := f.grouped(n.Inputs[0], []int{a.Axis}, axis)
		return f.node(Node{Op: Best, Type: v.DType(), N: len(groups), Args: []*Node{x}, Groups: groups, Least: a.IsMin})
	case compute.OpTypeDotGeneral:
		return f.dot(n, axis)
	case compute.OpTypeGather:
		return f.gathered(v, axis)
	case compute.OpTypeIdentity:
		return f.row(n.Inputs[0], axis)
	case compute.OpTypeIf:
		return f.branch(v, axis)
	}
	refuse("%s is not done by row", n.Op)
	return nil
}

// carried returns a state at the beginning of the round.
func (f *finder) carried(i, axis int) *Node {
	switch r := f.out.Results[i]; {
	case r.Kind == Counter && axis < 0:
		return f.node(Node{Op: Round, Type: dtypes.Int32, N: 1})
	case r.Kind == State && axis == 0:
		return f.node(Node{Op: Carried, Type: r.Value.DType(), N: r.Value.Size() / f.rows, State: i})
	case r.Kind == Common && axis < 0:
		return f.node(Node{Op: Carried, Type: r.Value.DType(), N: 1, State: i})
	}
	refuse("state %d is read across rows or rounds", i)
	return nil
}

func (f *finder) elementwise(v *ir.Value, axis, elems int) *Node {
	args := make([]*Node, len(v.Node.Inputs))
	for i, x := range v.Node.Inputs {
		if x.Shape.Rank() == 0 && v.Shape.Rank() > 0 { // bounds of a Clamp
			args[i] = f.spread(f.row(x, -1), elems)
		} else {
			args[i] = f.row(x, axis)
		}
	}
	return f.apply(v.Node.Op, v.DType(), elems, args...)
}

// literal returns a constant's row, which must be every row's.
func (f *finder) literal(v *ir.Value, axis int) *Node {
	bits := elements(v.DType(), v.Node.Attr.(ir.Literal).Data)
	dims := v.Shape.Dimensions
	p := place(dense(dims), 0, dims, axis)
	out := make([]uint64, len(p.Elems))
	for i, e := range p.Elems {
		out[i] = bits[e]
		for r := 1; axis >= 0 && r < f.rows; r++ {
			if bits[e+r*p.Row] != out[i] {
				refuse("a constant that differs by row")
			}
		}
	}
	return f.constant(v.DType(), out...)
}

// elements returns the bits of a literal's elements.
func elements(t dtypes.DType, data []byte) []uint64 {
	size := t.Size()
	out := make([]uint64, len(data)/size)
	for i := range out {
		for j := size - 1; j >= 0; j-- {
			out[i] = out[i]<<8 | uint64(data[i*size+j])
		}
	}
	return out
}

func (f *finder) iota(v *ir.Value, axis int) *Node {
	along := v.Node.Attr.(ir.Axis).Axis
	dims := v.Shape.Dimensions
	if along == axis {
		n := f.node(Node{Op: Row, Type: dtypes.Int32, N: 1})
		if v.DType() != dtypes.Int32 {
			n = f.apply(compute.OpTypeConvertDType, v.DType(), 1, n)
		}
		return f.spread(n, v.Size()/f.rows)
	}
	strides := make([]int, len(dims))
	strides[along] = 1
	var bits []uint64
	for _, i := range place(strides, 0, dims, axis).Elems {
		bits = append(bits, bitsOf(v.DType(), i))
	}
	return f.constant(v.DType(), bits...)
}

// bitsOf returns a small number in a type.
func bitsOf(t dtypes.DType, i int) uint64 {
	switch {
	case t == dtypes.Float32:
		return uint64(math.Float32bits(float32(i)))
	case t == dtypes.Float64:
		return math.Float64bits(float64(i))
	case t.IsFloat():
		refuse("%s", t)
	}
	return uint64(i)
}

// unshaped returns the axis of rows before a reshape: as many elements must lie before it and after
// it.
func (f *finder) unshaped(v *ir.Value, axis int) int {
	if axis < 0 {
		return -1
	}
	before := product(v.Shape.Dimensions[:axis])
	in := v.Node.Inputs[0].Shape.Dimensions
	for i, d := range in {
		if d == f.rows && product(in[:i]) == before {
			return i
		}
	}
	refuse("%s mixes rows: %s from %s", v.Node.Op, v.Shape, v.Node.Inputs[0].Shape)
	return 0
}

func product(dims []int) int {
	p := 1
	for _, d := range dims {
		p *= d
	}
	return p
}

// grouped returns the operand of a reduction over axes, and which of its elements make one.
func (f *finder) grouped(x *ir.Value, axes []int, axis int) (*Node, [][]int) {
	dims := x.Shape.Dimensions
	if len(axes) == 0 {
		axes = count(len(dims))
	}
	from, kept := -1, 0
	for i := range dims {
		if slices.Contains(axes, i) {
			continue
		}
		if kept == axis {
			from = i
		}
		kept++
	}
	if axis >= 0 && from < 0 {
		refuse("rows are reduced")
	}
	return f.groupedFrom(x, axes, from)
}

// groupedFrom returns grouped, given the operand's axis of rows.
func (f *finder) groupedFrom(x *ir.Value, axes []int, from int) (*Node, [][]int) {
	dims := x.Shape.Dimensions
	// Elements of the row in order, and for each the element of the result that it is part of.
	outer := make([]int, len(dims))
	step := 1
	for i := len(dims) - 1; i >= 0; i-- {
		if !slices.Contains(axes, i) && i != from {
			outer[i] = step
			step *= dims[i]
		}
	}
	row := f.row(x, from)
	groups := make([][]int, step)
	for e, g := range place(outer, 0, dims, from).Elems {
		groups[g] = append(groups[g], e)
	}
	return row, groups
}

// dot returns a product of the row with a matrix of the inputs.
func (f *finder) dot(n *ir.Node, axis int) *Node {
	a := n.Attr.(ir.Dot)
	x, w := n.Inputs[0], f.memory(n.Inputs[1])
	if w == nil || len(w.dyn) > 0 || len(a.LhsBatch) > 0 || len(a.LhsContract) != 1 || len(w.dims) != 2 || x.Shape.Rank() != 2 || axis != 0 || x.DType() != dtypes.Float32 {
		refuse("a product that is not of rows by a matrix of floats")
	}
	k := a.RhsContract[0]
	columns := w.dims[1-k]
	if columns > most {
		refuse("a row of %d elements", columns)
	}
	row := f.row(x, 1-a.LhsContract[0])
	return f.node(Node{Op: Dot, Type: x.DType(), N: columns, Args: []*Node{row}, Input: f.input(w.value),
		Weight: Weight{Offset: w.offset, K: w.strides[k], N: w.strides[1-k]}})
}

// gathered returns a row of a Gather that takes whole slices along the first axis, each row its
// own.
func (f *finder) gathered(v *ir.Value, axis int) *Node {
	a, table, index := v.Node.Attr.(ir.Gather), v.Node.Inputs[0], v.Node.Inputs[1]
	dims := table.Shape.Dimensions
	whole := len(a.Map) == 1 && a.Map[0] == 0 && slices.Equal(a.Collapsed, []int{0}) && len(a.Sizes) == len(dims) && a.Sizes[0] == 1 &&
		slices.Equal(a.Sizes[1:], dims[1:]) && axis == 0 && index.Shape.Size() == f.rows && v.Shape.Rank() == len(dims)
	for i, o := range a.OffsetAxes {
		whole = whole && o == i+1
	}
	if !whole {
		refuse("a Gather that does not take a slice for each row")
	}
	at := f.row(index, f.rowAxis(index))
	strides := dense(dims)
	p := place(strides[1:], 0, dims[1:], -1)
	return f.node(Node{Op: Load, Type: v.DType(), N: len(p.Elems), Args: []*Node{at}, Input: f.input(table), Place: p,
		Dyn: []Dyn{{strides[0], dims[0] - 1}}})
}
