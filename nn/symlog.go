package nn

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// Symlog returns sign(x) log(1+|x|), element by element: numbers of any size are brought close
// together, and small ones stay as they are (Hafner et al., 2023).
func Symlog(x *Node) *Node { return Mul(Sign(x), Log1p(Abs(x))) }

// Symexp returns the inverse of Symlog.
func Symexp(x *Node) *Node { return Mul(Sign(x), Expm1(Abs(x))) }

// Bins are the values that a categorical distribution of numbers of any size is over (Hafner et
// al., 2023): N of them, an odd number, at equal distances from -Max to Max on the scale of Symlog.
// They are in the order 0, those above from the least to the greatest, those below likewise in
// size. Means and neighbours are taken on the plain scale, so that a mean is an expectation.
type Bins struct {
	N   int
	Max float64
}

// above returns the bins above 0.
func (b Bins) above() []float32 {
	out := make([]float32, b.N/2)
	for i := range out {
		out[i] = float32(math.Expm1(b.Max * float64(i+1) / float64(len(out))))
	}
	return out
}

// row returns values as a constant, with axes of length 1 before them up to a rank.
func row(g *Graph, values []float32, rank int) *Node {
	return ExpandLeftToRank(Const(g, values), rank)
}

// Mean returns the means of distributions by logits [..., N]. Bins of opposite signs are taken
// together, so that even guesses have mean 0 however large the bins are.
func (b Bins) Mean(logits *Node) *Node {
	p, half := Softmax(logits, -1), b.N/2
	above, below := SliceAxis(p, -1, AxisRange(1, half+1)), SliceAxis(p, -1, AxisRange(half+1, b.N))
	return ReduceSum(Mul(Sub(above, below), row(p.Graph(), b.above(), p.Rank())), -1)
}

// TwoHot returns distributions over the bins, [..., N], with means x: no more than two neighbours
// have a part of each. A number beyond the ends is the last bin's there.
func (b Bins) TwoHot(x *Node) *Node {
	v := append([]float32{0}, b.above()...)
	most := len(v) - 1
	inner, outer := make([]float32, b.N/2), make([]float32, b.N/2) // one over the distances to the neighbours
	for i := range inner {
		if inner[i] = 1 / (v[i+1] - v[i]); i+1 < most {
			outer[i] = 1 / (v[i+2] - v[i+1])
		}
	}
	numbers := func(values []float32) *Node { return row(x.Graph(), values, x.Rank()) }
	x = ExpandAxes(ClipScalar(number(x), -float64(v[most]), float64(v[most])), -1)
	share := func(x *Node) *Node { // of the bins above 0
		away := Sub(x, numbers(v[1:]))
		return MaxScalar(OneMinus(Max(Mul(away, numbers(outer)), Neg(Mul(away, numbers(inner))))), 0)
	}
	zero := MaxScalar(OneMinus(MulScalar(Abs(x), float64(inner[0]))), 0)
	return Concatenate([]*Node{zero, share(x), share(Neg(x))}, -1)
}

// Miss returns the cross entropies of distributions, by logits [..., N], with those that TwoHot
// makes of numbers x, [...]. No gradient flows into x.
func (b Bins) Miss(x, logits *Node) *Node {
	return Neg(ReduceSum(Mul(StopGradient(b.TwoHot(x)), LogSoftmax(logits, -1)), -1))
}
