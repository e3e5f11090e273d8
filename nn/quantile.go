package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// QuantileHuber returns the loss of predicted quantiles [..., n] against samples of a distribution,
// [..., m] (Dabney et al., 2018): prediction i is to be the middle of the i-th of n equal parts of
// the distribution, so errors below it weigh (2i+1)/2n and those above it the rest. It is the mean
// over samples and the sum over predictions. Errors count quadratically up to delta and linearly
// beyond; with delta 0 always linearly.
func QuantileHuber(pred, sample *Node, delta float64) *Node {
	n := lastDim(pred)
	u := Sub(ExpandAxes(sample, -2), ExpandAxes(pred, -1)) // [..., predictions, samples]
	middle := MulScalar(AddScalar(Iota(pred.Graph(), shapes.Make(dtypes.Float32, n, 1), 0), .5), 1/float64(n))
	below := ConvertDType(LessThan(u, ZerosLike(u)), dtypes.Float32)
	weight := Abs(Sub(ExpandLeftToRank(middle, u.Rank()), below))
	size := Abs(u)
	if delta > 0 {
		size = DivScalar(Huber(u, delta), delta)
	}
	return ReduceSum(ReduceMean(Mul(weight, size), -1), -1)
}
