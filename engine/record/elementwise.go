package record

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapeinference"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// spread broadcasts v to the dimensions of shape, as the rules of implicit broadcasting allow.
func (f *Function) spread(v *ir.Value, shape shapes.Shape) *ir.Value {
	if v.Shape.EqualDimensions(shape) {
		return v
	}
	axes := make([]int, v.Shape.Rank())
	for i := range axes {
		axes[i] = i
	}
	out := shapes.Make(v.DType(), shape.Dimensions...)
	return f.fn.Add(ir.NewNode(compute.OpTypeBroadcastInDim, ir.Axes{Axes: axes}, []*ir.Value{v}, out))
}

// plain drops axis names, which play no part in static shapes.
func plain(s shapes.Shape) shapes.Shape {
	return shapes.Shape{DType: s.DType, Dimensions: s.Dimensions}
}

func (f *Function) unary(t compute.OpType, x compute.Value) (compute.Value, error) {
	vs, err := f.values(t, x)
	if err != nil {
		return nil, err
	}
	shape, row := vs[0].Shape, op.Of(t)
	if row.Bool {
		shape = shapes.Make(dtypes.Bool, shape.Dimensions...)
	} else if shape, err = shapeinference.UnaryOp(t, shape); err != nil {
		return nil, err
	}
	if err := takes(row, vs[0]); err != nil {
		return nil, err
	}
	return result(f.add(ir.NewNode(t, nil, vs, plain(shape))))
}

// takes returns the not-implemented error for element types that an operation does not take.
func takes(row *op.Row, v *ir.Value) error {
	if row.Takes.Has(v.DType()) {
		return nil
	}
	return fmt.Errorf("%s of %s: %w", row.Op, v.DType(), compute.ErrNotImplemented)
}

func (f *Function) binary(t compute.OpType, lhs, rhs compute.Value) (compute.Value, error) {
	vs, err := f.values(t, lhs, rhs)
	if err != nil {
		return nil, err
	}
	infer, row := shapeinference.BinaryOp, op.Of(t)
	if row.Bool {
		infer = shapeinference.ComparisonOp
	}
	inferred := t
	if t == compute.OpTypeNotEqualTotalOrder { // upstream's table of comparisons leaves this one out
		inferred = compute.OpTypeEqualTotalOrder
	}
	shape, err := infer(inferred, vs[0].Shape, vs[1].Shape)
	if err != nil {
		return nil, err
	}
	if err := takes(row, vs[0]); err != nil {
		return nil, err
	}
	shape = emptied(plain(shape), vs)
	vs[0], vs[1] = f.spread(vs[0], shape), f.spread(vs[1], shape)
	return result(f.add(ir.NewNode(t, nil, vs, shape)))
}

// emptied sets axes to zero where an operand is empty: upstream's inference broadcasts 0 with 1 to
// 1.
func emptied(shape shapes.Shape, vs []*ir.Value) shapes.Shape {
	shape = shape.Clone()
	for _, v := range vs {
		if v.Shape.Rank() != shape.Rank() {
			continue
		}
		for i, d := range v.Shape.Dimensions {
			if d == 0 {
				shape.Dimensions[i] = 0
			}
		}
	}
	return shape
}

// Where implements compute.Function.
func (f *Function) Where(condition, onTrue, onFalse compute.Value) (compute.Value, error) {
	vs, err := f.values(compute.OpTypeWhere, condition, onTrue, onFalse)
	if err != nil {
		return nil, err
	}
	shape, err := shapeinference.Where(vs[0].Shape, vs[1].Shape, vs[2].Shape)
	if err != nil {
		return nil, err
	}
	return f.spreadAll(compute.OpTypeWhere, plain(shape), vs)
}

// Clamp implements compute.Function.
func (f *Function) Clamp(low, x, high compute.Value) (compute.Value, error) {
	vs, err := f.values(compute.OpTypeClamp, low, x, high)
	if err != nil {
		return nil, err
	}
	shape := plain(vs[1].Shape)
	for _, v := range vs {
		if v.DType() != shape.DType || !v.Shape.IsScalar() && !v.Shape.EqualDimensions(shape) {
			return nil, fmt.Errorf("Clamp: bound %s for %s: want a scalar or the same shape", v.Shape, shape)
		}
	}
	if err := takes(op.Of(compute.OpTypeClamp), vs[1]); err != nil {
		return nil, err
	}
	return f.spreadAll(compute.OpTypeClamp, shape, vs)
}

func (f *Function) spreadAll(op compute.OpType, shape shapes.Shape, vs []*ir.Value) (compute.Value, error) {
	for i := range vs {
		vs[i] = f.spread(vs[i], shape)
	}
	return result(f.add(ir.NewNode(op, nil, vs, shape)))
}

// ConvertDType implements compute.Function.
func (f *Function) ConvertDType(x compute.Value, dtype dtypes.DType) (compute.Value, error) {
	vs, err := f.values(compute.OpTypeConvertDType, x)
	if err != nil {
		return nil, err
	}
	shape := shapes.Shape{DType: dtype, Dimensions: vs[0].Shape.Dimensions}
	return result(f.add(ir.NewNode(compute.OpTypeConvertDType, nil, vs, shape)))
}
