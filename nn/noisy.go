package nn

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// Noise makes dense layers noisy (Fortunato et al., 2018), so that a network explores by itself:
// the standard deviations of weights and biases are learnt beside their means. The noise is
// Gaussian and factorised, a number for each input and output of a layer. It is drawn once for a
// call: all rows have the same weights. The zero Noise leaves layers as they are.
type Noise struct {
	Sigma float64 // deviations at the start, times the square root of a layer's inputs; 0 for none
	Use   string  // name of the draws; "" to compute with the means
}

// Dense does what the function Dense does, with noise on weights and biases. Without noise the
// result is that of the function.
func (n Noise) Dense(c *rl.Ctx, sc *model.Scope, x *Node, units int, gain float64) *Node {
	if n.Sigma == 0 || n.Use == "" {
		return Dense(c, sc, x, units, gain)
	}
	in := lastDim(x)
	start := Fill(n.Sigma / math.Sqrt(float64(in)))
	e := rooted(c.SharedNormal(n.Use+sc.Scope(), in+units))
	left, right := SliceAxis(e, 0, AxisRange(0, in)), SliceAxis(e, 0, AxisRange(in, in+units))
	w, b := denseParams(c, sc, in, units, gain)
	w = Add(w, Mul(Param(c, sc, "weight_deviations", start, in, units), Mul(ExpandAxes(left, 1), ExpandAxes(right, 0))))
	b = Add(b, Mul(Param(c, sc, "bias_deviations", start, units), right))
	return affine(number(x), w, b)
}

// rooted returns the square root of numbers' sizes, with their signs: products of two such normal
// numbers have variance 2/pi.
func rooted(x *Node) *Node { return Mul(Sign(x), Sqrt(Abs(x))) }
