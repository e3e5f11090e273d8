package rows

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
)

// view is a tensor in memory as the loop reads it: an input's elements, by strides, from a place
// that indices may move.
type view struct {
	value   *ir.Value // the input
	offset  int
	dims    []int
	strides []int
	dyn     []Dyn
	index   []*ir.Value
}

// dense returns the strides of a tensor whose elements lie in order.
func dense(dims []int) []int {
	out := make([]int, len(dims))
	step := 1
	for i := len(dims) - 1; i >= 0; i-- {
		out[i] = step
		step *= dims[i]
	}
	return out
}

// whole returns all of an input.
func (f *finder) whole(v *ir.Value) *view {
	return &view{value: v, dims: v.Shape.Dimensions, strides: dense(v.Shape.Dimensions)}
}

// memory returns v as it lies in memory: in a region everything does that is not computed by row.
func (f *finder) memory(v *ir.Value) *view {
	x := f.view(v)
	if x == nil && f.region {
		return f.whole(v)
	}
	return x
}

// view returns v as a view of an input, nil if it is computed.
func (f *finder) view(v *ir.Value) *view {
	v = f.source(v)
	if f.outside(v) {
		return f.whole(f.outer[v])
	}
	switch v.Node.Op {
	case compute.OpTypeReshape, compute.OpTypeTranspose, compute.OpTypeSlice, compute.OpTypeBroadcastInDim, compute.OpTypeDynamicSlice:
	default:
		if ir.Elementwise(v.Node.Op) && len(v.Node.Inputs) == 1 && !f.region {
			return f.function(v)
		}
		return nil
	}
	x := f.memory(v.Node.Inputs[0])
	if x == nil {
		return nil
	}
	dims := v.Shape.Dimensions
	out := &view{value: x.value, offset: x.offset, dims: dims, strides: make([]int, len(dims)), dyn: x.dyn, index: x.index}
	switch a := v.Node.Attr.(type) {
	case ir.Slice:
		for i := range dims {
			out.offset += a.Starts[i] * x.strides[i]
			out.strides[i] = a.Strides[i] * x.strides[i]
		}
	case ir.Axes:
		for i, axis := range a.Axes {
			if v.Node.Op == compute.OpTypeTranspose {
				out.strides[i] = x.strides[axis]
			} else if x.dims[i] != 1 || dims[axis] == 1 {
				out.strides[axis] = x.strides[i]
			}
		}
	default:
		if v.Node.Op == compute.OpTypeDynamicSlice {
			return x.moved(v)
		}
		return out.reshaped(x)
	}
	return out
}

// moved returns the part of a view that a DynamicSlice takes.
func (x *view) moved(v *ir.Value) *view {
	out := &view{value: x.value, offset: x.offset, dims: v.Shape.Dimensions, strides: x.strides,
		dyn: slices.Clone(x.dyn), index: slices.Clone(x.index)}
	for i, start := range v.Node.Inputs[1:] {
		if room := x.dims[i] - out.dims[i]; room > 0 {
			out.dyn = append(out.dyn, Dyn{x.strides[i], room})
			out.index = append(out.index, start)
		}
	}
	return out
}

// reshaped gives a view other dimensions, if its strides allow it: those of axes with more than one
// element must be found again, or be in order.
func (out *view) reshaped(x *view) *view {
	var dims, strides []int
	for i, d := range x.dims {
		if d != 1 {
			dims, strides = append(dims, d), append(strides, x.strides[i])
		}
	}
	var want []int
	for _, d := range out.dims {
		if d != 1 {
			want = append(want, d)
		}
	}
	switch {
	case slices.Equal(dims, want):
	case slices.Equal(strides, dense(dims)):
		strides = dense(want)
	default:
		return nil
	}
	for i, d := range out.dims {
		if d != 1 {
			out.strides[i], strides = strides[0], strides[1:]
		}
	}
	return out
}

// place returns where the elements of a row are, axis being that of rows, -1 if there is none.
func place(strides []int, offset int, dims []int, axis int) Place {
	p := Place{Offset: offset, Elems: []int{0}}
	for i, d := range dims {
		if i == axis {
			p.Row = strides[i]
			continue
		}
		var next []int
		for _, e := range p.Elems {
			for j := range d {
				next = append(next, e+j*strides[i])
			}
		}
		if len(next) > most {
			refuse("a row of %d elements", len(next))
		}
		p.Elems = next
	}
	return p
}

// load reads a row of a view.
func (f *finder) load(x *view, axis int) *Node {
	if axis >= 0 && x.dims[axis] != f.rows {
		refuse("an axis of %d instead of %d rows", x.dims[axis], f.rows)
	}
	p := place(x.strides, x.offset, x.dims, axis)
	var args []*Node
	for _, v := range x.index {
		args = append(args, f.row(v, -1))
	}
	return f.node(Node{Op: Load, Type: x.value.DType(), N: len(p.Elems), Args: args, Input: f.input(x.value), Place: p, Dyn: x.dyn})
}

// input returns the position of a value among what the loop reads.
func (f *finder) input(v *ir.Value) int {
	i, ok := f.inputs[v]
	if !ok {
		i = len(f.out.Inputs)
		f.inputs[v] = i
		f.out.Inputs = append(f.out.Inputs, v)
	}
	return i
}

// function returns a function of what a round takes from a table: it is taken from the function of
// the table, which is computed before the loop, for all rounds and rows at once.
func (f *finder) function(v *ir.Value) *view {
	x := f.view(v.Node.Inputs[0])
	if x == nil || len(x.dyn) == 0 {
		return nil
	}
	key := made{v.Node.Op, v.DType(), x.value}
	if f.tables[key] == nil {
		n := ir.NewNode(v.Node.Op, v.Node.Attr, []*ir.Value{x.value}, shapes.Make(v.DType(), x.value.Shape.Dimensions...))
		f.out.Before = append(f.out.Before, n)
		f.tables[key] = n.Outputs[0]
	}
	out := *x
	out.value = f.tables[key]
	return &out
}

// made is a table that is made of another.
type made struct {
	op compute.OpType
	to dtypes.DType
	of *ir.Value
}
