package record

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapeinference"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// reduce records a reduction; no axes means all of them.
func (f *Function) reduce(t compute.OpType, x compute.Value, axes []int) (compute.Value, error) {
	return f.one(t, x, func(s shapes.Shape) (any, shapes.Shape, error) {
		if !op.Of(t).Takes.Has(s.DType) {
			return nil, s, fmt.Errorf("%s of %s: %w", t, s.DType, compute.ErrNotImplemented)
		}
		if len(axes) == 0 {
			axes = make([]int, s.Rank())
			for i := range axes {
				axes[i] = i
			}
		}
		axes = slices.Clone(axes)
		slices.Sort(axes)
		for i, a := range axes {
			if a < 0 || a >= s.Rank() || i > 0 && a == axes[i-1] {
				return nil, s, fmt.Errorf("axes %v of %s", axes, s)
			}
		}
		out, err := shapeinference.Reduce(s, axes)
		return ir.Axes{Axes: axes}, out, err
	})
}

// ArgMinMax implements compute.Function.
func (f *Function) ArgMinMax(x compute.Value, axis int, dtype dtypes.DType, isMin bool) (compute.Value, error) {
	return f.one(compute.OpTypeArgMinMax, x, func(s shapes.Shape) (any, shapes.Shape, error) {
		out, err := shapeinference.ArgMinMax(s, axis, dtype)
		return ir.ArgMinMax{Axis: axis, IsMin: isMin}, out, err
	})
}

// ReduceWindow implements compute.Function.
func (f *Function) ReduceWindow(x compute.Value, kind compute.ReduceOpType, dims, strides, inputDilations, dilations []int,
	paddings [][2]int) (compute.Value, error) {
	return f.one(compute.OpTypeReduceWindow, x, func(s shapes.Shape) (any, shapes.Shape, error) {
		ordered := kind == compute.ReduceOpMax || kind == compute.ReduceOpMin
		if !s.DType.IsInt() && !s.DType.IsFloat() && !ordered {
			return nil, s, fmt.Errorf("%s of %s: %w", compute.OpTypeReduceWindow, s.DType, compute.ErrNotImplemented)
		}
		out, err := shapeinference.ReduceWindow(s, dims, strides, inputDilations, dilations, paddings)
		w := window(s.Rank(), dims, strides, paddings)
		w.Kind, w.InputDilations, w.Dilations = kind, orOnes(inputDilations, s.Rank()), orOnes(dilations, s.Rank())
		return w, out, err
	})
}

func window(rank int, dims, strides []int, paddings [][2]int) ir.Window {
	dims = orOnes(dims, rank)
	if len(strides) == 0 {
		strides = dims
	}
	return ir.Window{Dims: dims, Strides: slices.Clone(strides), Paddings: orZeros(paddings, rank),
		InputDilations: orOnes(nil, rank), Dilations: orOnes(nil, rank)}
}

// SelectAndScatterMax implements compute.Function.
func (f *Function) SelectAndScatterMax(operand, source compute.Value, dims, strides []int, paddings [][2]int) (compute.Value, error) {
	return f.selectScatter(compute.OpTypeSelectAndScatterMax, operand, source, dims, strides, paddings)
}

// SelectAndScatterMin implements compute.Function.
func (f *Function) SelectAndScatterMin(operand, source compute.Value, dims, strides []int, paddings [][2]int) (compute.Value, error) {
	return f.selectScatter(compute.OpTypeSelectAndScatterMin, operand, source, dims, strides, paddings)
}

func (f *Function) selectScatter(op compute.OpType, operand, source compute.Value, dims, strides []int,
	paddings [][2]int) (compute.Value, error) {
	vs, err := f.values(op, operand, source)
	if err != nil {
		return nil, err
	}
	shape := plain(vs[0].Shape)
	want, err := shapeinference.ReduceWindow(shape, dims, strides, nil, nil, paddings)
	if err != nil {
		return nil, err
	}
	if !vs[1].Shape.Equal(plain(want)) {
		return nil, fmt.Errorf("%s: the source is %s, want %s", op, vs[1].Shape, want)
	}
	return result(f.add(ir.NewNode(op, window(shape.Rank(), dims, strides, paddings), vs, shape)))
}

// DotGeneral implements compute.Function. Accumulator and output types other than the operands' are
// recorded as conversions around the product.
func (f *Function) DotGeneral(lhs compute.Value, lhsContract, lhsBatch []int, rhs compute.Value, rhsContract,
	rhsBatch []int, config compute.DotGeneralConfig) (compute.Value, error) {
	op := compute.OpTypeDotGeneral
	ins, err := f.shapesOf([]compute.Value{lhs, rhs})
	if err != nil {
		return nil, err
	}
	acc, out := config.AccumulatorDType, config.OutputDType
	if acc == dtypes.InvalidDType {
		acc = ins[0].DType
	}
	if out == dtypes.InvalidDType {
		out = ins[0].DType
	}
	operands := []compute.Value{lhs, rhs}
	for i, o := range operands {
		if ins[i].DType != acc {
			if operands[i], err = f.ConvertDType(o, acc); err != nil {
				return nil, err
			}
			ins[i].DType = acc
		}
	}
	shape, err := shapeinference.DotGeneral(ins[0], lhsContract, lhsBatch, ins[1], rhsContract, rhsBatch,
		compute.DotGeneralConfig{})
	if err != nil {
		return nil, err
	}
	if acc == dtypes.Bool {
		return nil, fmt.Errorf("%s of %s: %w", op, acc, compute.ErrNotImplemented)
	}
	vs, err := f.values(op, operands...)
	if err != nil {
		return nil, err
	}
	attr := ir.Dot{LhsContract: slices.Clone(lhsContract), LhsBatch: slices.Clone(lhsBatch),
		RhsContract: slices.Clone(rhsContract), RhsBatch: slices.Clone(rhsBatch)}
	shape = plain(shape)
	shape.DType = acc
	product, err := result(f.add(ir.NewNode(op, attr, vs, shape)))
	if err != nil || out == acc {
		return product, err
	}
	return f.ConvertDType(product, out)
}

// ConvGeneral implements compute.Function.
func (f *Function) ConvGeneral(input, kernel compute.Value, axes compute.ConvolveAxesConfig, strides []int,
	paddings [][2]int, inputDilations, kernelDilations []int, channelGroups, batchGroups int) (compute.Value, error) {
	op := compute.OpTypeConvGeneral
	vs, err := f.values(op, input, kernel)
	if err != nil {
		return nil, err
	}
	if vs[0].DType() != vs[1].DType() || vs[0].DType() == dtypes.Bool {
		return nil, fmt.Errorf("%s of %s and %s: %w", op, vs[0].DType(), vs[1].DType(), compute.ErrNotImplemented)
	}
	channelGroups, batchGroups = max(channelGroups, 1), max(batchGroups, 1)
	shape, err := shapeinference.ConvGeneral(vs[0].Shape, vs[1].Shape, axes, strides, paddings, inputDilations,
		kernelDilations, channelGroups, batchGroups)
	if err != nil {
		return nil, err
	}
	n := len(axes.InputSpatial)
	attr := ir.Conv{Axes: axes.Clone(), Strides: orOnes(strides, n), Paddings: orZeros(paddings, n),
		InputDilations: orOnes(inputDilations, n), KernelDilations: orOnes(kernelDilations, n),
		ChannelGroups: channelGroups, BatchGroups: batchGroups}
	return result(f.add(ir.NewNode(op, attr, vs, plain(shape))))
}

// Gather implements compute.Function.
func (f *Function) Gather(operand, indices compute.Value, indexAxis int, offsetAxes, collapsed, indexMap, sizes []int,
	sorted bool) (compute.Value, error) {
	op := compute.OpTypeGather
	vs, err := f.values(op, operand, indices)
	if err != nil {
		return nil, err
	}
	if !vs[1].DType().IsInt() {
		return nil, fmt.Errorf("%s: indices of %s", op, vs[1].DType())
	}
	shape, err := shapeinference.Gather(vs[0].Shape, vs[1].Shape, indexAxis, offsetAxes, collapsed, indexMap, sizes, sorted)
	if err != nil {
		return nil, err
	}
	attr := ir.Gather{IndexAxis: indexAxis, OffsetAxes: slices.Clone(offsetAxes), Collapsed: slices.Clone(collapsed),
		Map: slices.Clone(indexMap), Sizes: slices.Clone(sizes)}
	return result(f.add(ir.NewNode(op, attr, vs, plain(shape))))
}

func (f *Function) scatter(op compute.OpType, operand, indices, updates compute.Value, indexAxis int, updateWindow,
	inserted, scatterAxes []int, unique bool) (compute.Value, error) {
	vs, err := f.values(op, operand, indices, updates)
	if err != nil {
		return nil, err
	}
	if !vs[1].DType().IsInt() || vs[0].DType() == dtypes.Bool {
		return nil, fmt.Errorf("%s of %s with indices of %s: %w", op, vs[0].DType(), vs[1].DType(),
			compute.ErrNotImplemented)
	}
	shape, err := shapeinference.Scatter(vs[0].Shape, vs[1].Shape, vs[2].Shape, indexAxis, updateWindow, inserted, scatterAxes)
	if err != nil {
		return nil, err
	}
	attr := ir.Scatter{IndexAxis: indexAxis, UpdateWindow: slices.Clone(updateWindow), Inserted: slices.Clone(inserted),
		Map: slices.Clone(scatterAxes), Unique: unique}
	return result(f.add(ir.NewNode(op, attr, vs, plain(shape))))
}

// RNGBitGenerator implements compute.Function.
func (f *Function) RNGBitGenerator(state compute.Value, shape shapes.Shape) (compute.Value, compute.Value, error) {
	op := compute.OpTypeRNGBitGenerator
	vs, err := f.values(op, state)
	if err != nil {
		return nil, nil, err
	}
	if !vs[0].Shape.Equal(compute.RNGStateShape) {
		return nil, nil, fmt.Errorf("%s: the state is %s, want %s", op, vs[0].Shape, compute.RNGStateShape)
	}
	if !shape.DType.IsUnsigned() {
		return nil, nil, fmt.Errorf("%s of %s: %w", op, shape.DType, compute.ErrNotImplemented)
	}
	outs, err := f.results(f.add(ir.NewNode(op, nil, vs, plain(vs[0].Shape), plain(shape))))
	if err != nil {
		return nil, nil, err
	}
	return outs[0], outs[1], nil
}
