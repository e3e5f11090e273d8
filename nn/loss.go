package nn

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// Huber returns the loss of errors x, element by element: quadratic up to delta,
// linear beyond. GoMLX's is a mean over the batch, which a loss by rows must not
// be.
func Huber(x *Node, delta float64) *Node {
	size := Abs(x)
	inner := MinScalar(size, delta)
	return Add(MulScalar(Square(inner), .5), MulScalar(Sub(size, inner), delta))
}

// ExplainedVariance returns the part of the targets' variance that predictions
// explain: 1 for perfect ones, 0 for a constant, less for worse. Where targets do
// not vary it is 0. It is a scalar over all rows, and so belongs outside losses.
func ExplainedVariance(pred, target *Node) *Node {
	total := ReduceVariance(target)
	left := ReduceVariance(Sub(target, pred))
	flat := LessOrEqual(total, ZerosLike(total))
	part := OneMinus(Div(left, Where(flat, OnesLike(total), total)))
	return Where(flat, ZerosLike(total), part)
}

// AdvantageWeights returns the weights by which actions are imitated that are better or worse than
// a policy's own: exp(beta adv), and never more than bound. Gradients stop at them.
func AdvantageWeights(adv *Node, beta, bound float64) *Node {
	return StopGradient(Exp(MinScalar(MulScalar(adv, beta), math.Log(bound))))
}
