package record

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// The fused operations are recorded as the operations they are made of; fusing is the compiler's
// business.

// expr builds an expression, keeping the first error until the end.
type expr struct {
	f   *Function
	err error
}

func (e *expr) do(v compute.Value, err error) compute.Value {
	if e.err == nil {
		e.err = err
	}
	return v
}

// op1 and op2 call a method of the recorder unless something has failed.
func (e *expr) op1(fn func(compute.Value) (compute.Value, error), x compute.Value) compute.Value {
	if e.err != nil {
		return nil
	}
	return e.do(fn(x))
}

func (e *expr) op2(fn func(a, b compute.Value) (compute.Value, error), a, b compute.Value) compute.Value {
	if e.err != nil {
		return nil
	}
	return e.do(fn(a, b))
}

func (e *expr) shape(x compute.Value) shapes.Shape {
	if e.err != nil {
		return shapes.Make(dtypes.Float32)
	}
	s, err := e.f.Shape(x)
	e.do(nil, err)
	return s
}

// scalar returns a constant of the dtype of x.
func (e *expr) scalar(x compute.Value, v float64) compute.Value {
	c := e.do(e.f.Constant([]float64{v}))
	return e.convert(c, e.shape(x).DType)
}

func (e *expr) convert(x compute.Value, d dtypes.DType) compute.Value {
	return e.op1(func(x compute.Value) (compute.Value, error) { return e.f.ConvertDType(x, d) }, x)
}

func (e *expr) reshape(x compute.Value, dims ...int) compute.Value {
	return e.op1(func(x compute.Value) (compute.Value, error) { return e.f.Reshape(x, dims...) }, x)
}

// keep reduces x over axes and keeps them with length one.
func (e *expr) keep(fn func(x compute.Value, axes ...int) (compute.Value, error), x compute.Value, axes ...int) compute.Value {
	if e.err != nil {
		return nil
	}
	dims := slices.Clone(e.shape(x).Dimensions)
	for _, a := range axes {
		dims[a] = 1
	}
	return e.reshape(e.op1(func(x compute.Value) (compute.Value, error) { return fn(x, axes...) }, x), dims...)
}

// along gives a vector over some axes of a tensor the tensor's rank.
func (e *expr) along(v compute.Value, shape shapes.Shape, axes []int) compute.Value {
	dims := slices.Repeat([]int{1}, shape.Rank())
	for _, a := range axes {
		dims[a] = shape.Dimensions[a]
	}
	return e.reshape(v, dims...)
}

func (f *Function) floats(op compute.OpType, x compute.Value) (shapes.Shape, error) {
	s, err := f.Shape(x)
	if err == nil && !s.DType.IsFloat() {
		err = fmt.Errorf("%s of %s: %w", op, s.DType, compute.ErrNotImplemented)
	}
	return s, err
}

// FusedSoftmax implements compute.Function.
func (f *Function) FusedSoftmax(x compute.Value, axis int) (compute.Value, error) {
	s, err := f.floats(compute.OpTypeFusedSoftmax, x)
	if err != nil {
		return nil, err
	}
	if axis < 0 || axis >= s.Rank() {
		return nil, fmt.Errorf("FusedSoftmax: axis %d of %s", axis, s)
	}
	e := &expr{f: f}
	return e.softmax(x, axis), e.err
}

func (e *expr) softmax(x compute.Value, axis int) compute.Value {
	f := e.f
	p := e.op1(f.Exp, e.op2(f.Sub, x, e.keep(f.ReduceMax, x, axis)))
	return e.op2(f.Div, p, e.keep(f.ReduceSum, p, axis))
}

// FusedGelu implements compute.Function.
func (f *Function) FusedGelu(x compute.Value, exact bool) (compute.Value, error) {
	if _, err := f.floats(compute.OpTypeFusedGelu, x); err != nil {
		return nil, err
	}
	e := &expr{f: f}
	return e.gelu(x, exact), e.err
}

func (e *expr) gelu(x compute.Value, exact bool) compute.Value {
	f := e.f
	var inner compute.Value
	if exact {
		inner = e.op1(f.Erf, e.op2(f.Mul, x, e.scalar(x, math.Sqrt2/2)))
	} else {
		cube := e.op2(f.Mul, e.op2(f.Mul, x, x), e.op2(f.Mul, x, e.scalar(x, 0.044715)))
		inner = e.op1(f.Tanh, e.op2(f.Mul, e.op2(f.Add, x, cube), e.scalar(x, math.Sqrt(2/math.Pi))))
	}
	return e.op2(f.Mul, e.op2(f.Mul, x, e.scalar(x, 0.5)), e.op2(f.Add, inner, e.scalar(x, 1)))
}

// FusedLayerNorm implements compute.Function.
func (f *Function) FusedLayerNorm(x compute.Value, axes []int, epsilon float64, gamma, beta compute.Value) (compute.Value, error) {
	s, err := f.floats(compute.OpTypeFusedLayerNorm, x)
	if err != nil {
		return nil, err
	}
	e := &expr{f: f}
	count := 1
	for _, a := range axes {
		if a < 0 || a >= s.Rank() {
			return nil, fmt.Errorf("FusedLayerNorm: axes %v of %s", axes, s)
		}
		count *= s.Dimensions[a]
	}
	mean := func(v compute.Value) compute.Value {
		return e.op2(f.Div, e.keep(f.ReduceSum, v, axes...), e.scalar(x, float64(count)))
	}
	d := e.op2(f.Sub, x, mean(x))
	variance := mean(e.op2(f.Mul, d, d))
	y := e.op2(f.Mul, d, e.op1(f.Rsqrt, e.op2(f.Add, variance, e.scalar(x, epsilon))))
	if gamma != nil {
		y = e.op2(f.Mul, y, e.along(gamma, s, axes))
	}
	if beta != nil {
		y = e.op2(f.Add, y, e.along(beta, s, axes))
	}
	return y, e.err
}

// FusedDense implements compute.Function.
func (f *Function) FusedDense(x, weight, bias compute.Value, options compute.DenseConfig) (compute.Value, error) {
	s, err := f.floats(compute.OpTypeFusedDense, x)
	if err != nil {
		return nil, err
	}
	e := &expr{f: f}
	w := e.shape(weight)
	axis := 0
	if options.WeightLayout == compute.DenseLayoutOutputsInput {
		axis = w.Rank() - 1
	}
	if e.err != nil || s.Rank() == 0 || w.Rank() == 0 {
		return nil, fmt.Errorf("FusedDense: %s with weights %s: %w", s, w, cmpErr(e.err))
	}
	y := e.dot(x, weight, []int{s.Rank() - 1}, []int{axis}, nil, nil)
	if bias != nil {
		out, b := e.shape(y), e.shape(bias)
		axes := make([]int, b.Rank())
		for i := range axes {
			axes[i] = out.Rank() - b.Rank() + i
		}
		y = e.op2(f.Add, y, e.along(bias, out, axes))
	}
	return e.activate(y, options.Activation), e.err
}

func cmpErr(err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("scalars have no features")
}

func (e *expr) dot(a, b compute.Value, ac, bc, ab, bb []int) compute.Value {
	return e.op2(func(a, b compute.Value) (compute.Value, error) {
		return e.f.DotGeneral(a, ac, ab, b, bc, bb, compute.DotGeneralConfig{})
	}, a, b)
}

func (e *expr) activate(y compute.Value, kind compute.ActivationType) compute.Value {
	f := e.f
	switch kind {
	case compute.ActivationNone:
		return y
	case compute.ActivationGelu:
		return e.gelu(y, true)
	case compute.ActivationRelu:
		return e.op2(f.Max, y, e.scalar(y, 0))
	case compute.ActivationSilu:
		return e.op2(f.Mul, y, e.op1(f.Logistic, y))
	case compute.ActivationTanh:
		return e.op1(f.Tanh, y)
	case compute.ActivationHardSwish:
		gate := e.op2(f.Add, e.op2(f.Mul, y, e.scalar(y, 1.0/6)), e.scalar(y, 0.5))
		gate = e.op2(f.Min, e.op2(f.Max, gate, e.scalar(y, 0)), e.scalar(y, 1))
		return e.op2(f.Mul, y, gate)
	}
	e.do(nil, fmt.Errorf("activation %s: %w", kind, compute.ErrNotImplemented))
	return nil
}

// FusedAttentionQKVProjection implements compute.Function.
func (f *Function) FusedAttentionQKVProjection(x, wQKV, biasQ, biasK, biasV compute.Value, queryDim, keyValueDim int) (
	query, key, value compute.Value, err error) {
	s, err := f.floats(compute.OpTypeFusedAttentionQKVProjection, x)
	if err != nil {
		return nil, nil, nil, err
	}
	e := &expr{f: f}
	all := e.dot(x, wQKV, []int{s.Rank() - 1}, []int{0}, nil, nil)
	if e.err != nil {
		return nil, nil, nil, e.err
	}
	rows := e.shape(all).Dimensions[0]
	part := func(from, n int, bias compute.Value) compute.Value {
		y := e.op1(func(v compute.Value) (compute.Value, error) {
			return f.Slice(v, []int{0, from}, []int{rows, from + n}, nil)
		}, all)
		if bias == nil {
			return y
		}
		return e.op2(f.Add, y, e.reshape(bias, 1, n))
	}
	query = part(0, queryDim, biasQ)
	key = part(queryDim, keyValueDim, biasK)
	value = part(queryDim+keyValueDim, keyValueDim, biasV)
	return query, key, value, e.err
}
