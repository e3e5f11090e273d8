package record

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapeinference"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
)

// one records a node with a single operand, whose shape and attribute are computed by infer.
func (f *Function) one(op compute.OpType, x compute.Value, infer func(s shapes.Shape) (any, shapes.Shape, error)) (
	compute.Value, error) {
	vs, err := f.values(op, x)
	if err != nil {
		return nil, err
	}
	attr, shape, err := infer(vs[0].Shape)
	switch {
	case compute.IsNotImplemented(err):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return result(f.add(ir.NewNode(op, attr, vs, plain(shape))))
}

// Identity implements compute.Function.
func (f *Function) Identity(x compute.Value) (compute.Value, error) {
	return f.one(compute.OpTypeIdentity, x, func(s shapes.Shape) (any, shapes.Shape, error) { return nil, s, nil })
}

// Reshape implements compute.Function.
func (f *Function) Reshape(x compute.Value, dims ...int) (compute.Value, error) {
	return f.one(compute.OpTypeReshape, x, func(s shapes.Shape) (any, shapes.Shape, error) {
		out, err := shapeinference.Reshape(s, dims)
		return nil, out.Clone(), err
	})
}

// Bitcast implements compute.Function.
func (f *Function) Bitcast(x compute.Value, dtype dtypes.DType) (compute.Value, error) {
	return f.one(compute.OpTypeBitcast, x, func(s shapes.Shape) (any, shapes.Shape, error) {
		if err := CheckDType(compute.OpTypeBitcast, dtype); err != nil {
			return nil, s, err
		}
		out, err := shapeinference.Bitcast(s, dtype)
		return nil, out, err
	})
}

// Transpose implements compute.Function.
func (f *Function) Transpose(x compute.Value, permutation ...int) (compute.Value, error) {
	return f.one(compute.OpTypeTranspose, x, func(s shapes.Shape) (any, shapes.Shape, error) {
		out, err := shapeinference.Transpose(s, permutation)
		return ir.Axes{Axes: slices.Clone(permutation)}, out, err
	})
}

// BroadcastInDim implements compute.Function.
func (f *Function) BroadcastInDim(x compute.Value, shape shapes.Shape, axes []int) (compute.Value, error) {
	return f.one(compute.OpTypeBroadcastInDim, x, func(s shapes.Shape) (any, shapes.Shape, error) {
		out := shapes.Make(s.DType, shape.Dimensions...)
		return ir.Axes{Axes: slices.Clone(axes)}, out, shapeinference.BroadcastInDim(s, out, axes, nil)
	})
}

// Reverse implements compute.Function.
func (f *Function) Reverse(x compute.Value, axes ...int) (compute.Value, error) {
	return f.one(compute.OpTypeReverse, x, func(s shapes.Shape) (any, shapes.Shape, error) {
		for _, a := range axes {
			if a < 0 || a >= s.Rank() {
				return nil, s, fmt.Errorf("axis %d of %s", a, s)
			}
		}
		return ir.Axes{Axes: slices.Clone(axes)}, s, nil
	})
}

// Slice implements compute.Function.
func (f *Function) Slice(x compute.Value, starts, limits, strides []int) (compute.Value, error) {
	return f.one(compute.OpTypeSlice, x, func(s shapes.Shape) (any, shapes.Shape, error) {
		strides = orOnes(strides, s.Rank())
		out, err := shapeinference.Slice(s, starts, limits, strides)
		return ir.Slice{Starts: slices.Clone(starts), Limits: slices.Clone(limits), Strides: slices.Clone(strides)}, out, err
	})
}

func orOnes(xs []int, n int) []int {
	if len(xs) > 0 {
		return slices.Clone(xs)
	}
	return slices.Repeat([]int{1}, n)
}

func orZeros(ps [][2]int, n int) [][2]int {
	if len(ps) > 0 {
		return slices.Clone(ps)
	}
	return make([][2]int, n)
}

// Pad implements compute.Function.
func (f *Function) Pad(x, fill compute.Value, axes ...compute.PadAxis) (compute.Value, error) {
	vs, err := f.values(compute.OpTypePad, x, fill)
	if err != nil {
		return nil, err
	}
	if !vs[1].Shape.IsScalar() || vs[1].DType() != vs[0].DType() {
		return nil, fmt.Errorf("Pad: the fill value of %s is %s", vs[0].Shape, vs[1].Shape)
	}
	shape, err := shapeinference.Pad(vs[0].Shape, axes...)
	if err != nil {
		return nil, err
	}
	all := make([]compute.PadAxis, vs[0].Shape.Rank())
	copy(all, axes)
	return result(f.add(ir.NewNode(compute.OpTypePad, ir.Pad{Axes: all}, vs, plain(shape))))
}

// Concatenate implements compute.Function.
func (f *Function) Concatenate(axis int, operands ...compute.Value) (compute.Value, error) {
	vs, err := f.values(compute.OpTypeConcatenate, operands...)
	if err != nil {
		return nil, err
	}
	if len(vs) == 1 {
		return operands[0], nil
	}
	var ins []shapes.Shape
	for _, v := range vs {
		ins = append(ins, v.Shape)
	}
	shape, err := shapeinference.Concatenate(ins, axis)
	if err != nil {
		return nil, err
	}
	return result(f.add(ir.NewNode(compute.OpTypeConcatenate, ir.Axis{Axis: axis}, vs, plain(shape))))
}

// Iota implements compute.Function.
func (f *Function) Iota(shape shapes.Shape, axis int) (compute.Value, error) {
	if axis < 0 || axis >= shape.Rank() || !shape.DType.IsInt() && !shape.DType.IsFloat() || shape.IsDynamic() {
		return nil, fmt.Errorf("Iota: axis %d of %s", axis, shape)
	}
	return result(f.add(ir.NewNode(compute.OpTypeIota, ir.Axis{Axis: axis}, nil, plain(shape))))
}

// starts brings the scalar start indices of a dynamic slice into scope; GoMLX also gives them as
// one vector.
func (f *Function) starts(op compute.OpType, rank int, indices []compute.Value) ([]*ir.Value, error) {
	vs, err := f.values(op, indices...)
	if err != nil {
		return nil, err
	}
	if len(vs) == 1 && vs[0].Shape.Rank() == 1 {
		vs = f.elements(vs[0])
	}
	if len(vs) != rank {
		return nil, fmt.Errorf("%s: %d start indices for rank %d", op, len(vs), rank)
	}
	for _, v := range vs {
		if !v.Shape.IsScalar() || !v.DType().IsInt() {
			return nil, fmt.Errorf("%s: start index %s, want an integer scalar", op, v.Shape)
		}
	}
	return vs, nil
}

// elements takes a vector apart into scalars.
func (f *Function) elements(v *ir.Value) (vs []*ir.Value) {
	for i := range v.Size() {
		attr := ir.Slice{Starts: []int{i}, Limits: []int{i + 1}, Strides: []int{1}}
		one := f.fn.Add(ir.NewNode(compute.OpTypeSlice, attr, []*ir.Value{v}, shapes.Make(v.DType(), 1)))
		vs = append(vs, f.fn.Add(ir.NewNode(compute.OpTypeReshape, nil, []*ir.Value{one}, shapes.Make(v.DType()))))
	}
	return vs
}

// DynamicSlice implements compute.Function.
func (f *Function) DynamicSlice(operand compute.Value, indices []compute.Value, sizes []int) (compute.Value, error) {
	op := compute.OpTypeDynamicSlice
	vs, err := f.values(op, operand)
	if err != nil {
		return nil, err
	}
	starts, err := f.starts(op, vs[0].Shape.Rank(), indices)
	if err != nil {
		return nil, err
	}
	shape, err := shapeinference.DynamicSlice(vs[0].Shape, sizes)
	if err != nil {
		return nil, err
	}
	return result(f.add(ir.NewNode(op, nil, append(vs, starts...), plain(shape))))
}

// DynamicUpdateSlice implements compute.Function.
func (f *Function) DynamicUpdateSlice(operand, update compute.Value, indices []compute.Value) (compute.Value, error) {
	op := compute.OpTypeDynamicUpdateSlice
	vs, err := f.values(op, operand, update)
	if err != nil {
		return nil, err
	}
	shape, err := shapeinference.DynamicUpdateSlice(vs[0].Shape, vs[1].Shape)
	if err != nil {
		return nil, err
	}
	for i, d := range vs[1].Shape.Dimensions {
		if d > shape.Dimensions[i] {
			return nil, fmt.Errorf("%s: update %s is larger than %s", op, vs[1].Shape, shape)
		}
	}
	starts, err := f.starts(op, shape.Rank(), indices)
	if err != nil {
		return nil, err
	}
	return result(f.add(ir.NewNode(op, nil, append(vs, starts...), plain(shape))))
}
