package record

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
)

// batchNorm writes batch normalisation out; everything but the feature axis is reduced.
type batchNorm struct {
	*expr
	x       compute.Value
	shape   shapes.Shape
	axis    int
	rest    []int // the other axes
	epsilon float64
}

func (f *Function) batchNorm(op compute.OpType, x compute.Value, epsilon float32, axis int) (*batchNorm, error) {
	s, err := f.floats(op, x)
	if err != nil {
		return nil, err
	}
	if axis < 0 || axis >= s.Rank() {
		return nil, fmt.Errorf("%s: feature axis %d of %s", op, axis, s)
	}
	b := &batchNorm{expr: &expr{f: f}, x: x, shape: s, axis: axis, epsilon: float64(epsilon)}
	for i := range s.Rank() {
		if i != axis {
			b.rest = append(b.rest, i)
		}
	}
	return b, nil
}

// feature gives a vector of features the rank of the operand.
func (b *batchNorm) feature(v compute.Value) compute.Value { return b.along(v, b.shape, []int{b.axis}) }

// sum reduces to a vector of features.
func (b *batchNorm) sum(v compute.Value) compute.Value {
	if len(b.rest) == 0 {
		return v
	}
	return b.op1(func(v compute.Value) (compute.Value, error) { return b.f.ReduceSum(v, b.rest...) }, v)
}

func (b *batchNorm) count() float64 {
	return float64(b.shape.Size()) / float64(max(b.shape.Dimensions[b.axis], 1))
}

func (b *batchNorm) mean(v compute.Value) compute.Value {
	return b.op2(b.f.Div, b.sum(v), b.scalar(b.x, b.count()))
}

// normal returns the operand with the given mean and variance taken out, and the reciprocal of the
// deviation.
func (b *batchNorm) normal(mean, variance compute.Value) (normal, inverse compute.Value) {
	inverse = b.op1(b.f.Rsqrt, b.op2(b.f.Add, b.feature(variance), b.scalar(b.x, b.epsilon)))
	return b.op2(b.f.Mul, b.op2(b.f.Sub, b.x, b.feature(mean)), inverse), inverse
}

func (b *batchNorm) affine(normal, scale, offset compute.Value) compute.Value {
	return b.op2(b.f.Add, b.op2(b.f.Mul, normal, b.feature(scale)), b.feature(offset))
}

// BatchNormForInference implements compute.Function.
func (f *Function) BatchNormForInference(operand, scale, offset, mean, variance compute.Value, epsilon float32, axis int) (
	compute.Value, error) {
	b, err := f.batchNorm(compute.OpTypeBatchNormForInference, operand, epsilon, axis)
	if err != nil {
		return nil, err
	}
	normal, _ := b.normal(mean, variance)
	return b.affine(normal, scale, offset), b.err
}

// BatchNormForTraining implements compute.Function.
func (f *Function) BatchNormForTraining(operand, scale, offset compute.Value, epsilon float32, axis int) (
	normalized, mean, variance compute.Value, err error) {
	b, err := f.batchNorm(compute.OpTypeBatchNormForTraining, operand, epsilon, axis)
	if err != nil {
		return nil, nil, nil, err
	}
	mean = b.mean(operand)
	d := b.op2(f.Sub, operand, b.feature(mean))
	variance = b.mean(b.op2(f.Mul, d, d))
	normal, _ := b.normal(mean, variance)
	return b.affine(normal, scale, offset), mean, variance, b.err
}

// BatchNormGradient implements compute.Function.
func (f *Function) BatchNormGradient(operand, scale, mean, variance, gradOutput compute.Value, epsilon float32, axis int) (
	gradOperand, gradScale, gradOffset compute.Value, err error) {
	b, err := f.batchNorm(compute.OpTypeBatchNormGradient, operand, epsilon, axis)
	if err != nil {
		return nil, nil, nil, err
	}
	normal, inverse := b.normal(mean, variance)
	gradOffset = b.sum(gradOutput)
	gradScale = b.sum(b.op2(f.Mul, gradOutput, normal))
	n := b.scalar(operand, b.count())
	through := b.op2(f.Mul, normal, b.feature(b.op2(f.Div, gradScale, n)))
	centred := b.op2(f.Sub, b.op2(f.Sub, gradOutput, b.feature(b.op2(f.Div, gradOffset, n))), through)
	gradOperand = b.op2(f.Mul, centred, b.op2(f.Mul, inverse, b.feature(scale)))
	return gradOperand, gradScale, gradOffset, b.err
}
