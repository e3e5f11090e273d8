package search

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// noise returns the noise of Gumbel search at the root, [rows, actions]. Of PUCT it is zeros, and
// the root's prior is mixed with noise instead.
func (s Settings) noise(c *rl.Ctx, root *Leaf) *Node {
	none := ZerosLike(root.Logits)
	if s.Search == "gumbel" {
		if s.GumbelScale > 0 {
			return MulScalar(c.Gumbel("actions", root.Logits.Shape().Dimensions...), s.GumbelScale)
		}
		return none
	}
	if s.NoiseWeight > 0 {
		prior := masked(root.Logits, root.Legal)
		noise := Exp(masked(gamma(c, s.NoiseAlpha, prior.Shape().Dimensions...), root.Legal))
		root.Logits = Log(Add(MulScalar(Exp(prior), 1-s.NoiseWeight), MulScalar(noise, s.NoiseWeight)))
	}
	return none
}

// proposals is how many proposals a gamma variate is the first accepted one of. Each is accepted
// with a probability above .95; the last is taken in any case.
const proposals = 4

// gamma draws logarithms of gamma variates, of which the softmax is a draw of the Dirichlet
// distribution, by the method of Marsaglia and Tsang (2000) for alpha+1 and a power of a uniform
// one.
func gamma(c *rl.Ctx, alpha float64, dims ...int) *Node {
	d := alpha + 2./3
	many := append(append([]int(nil), dims...), proposals)
	x, u := c.Normal("proposal", many...), c.Uniform("accept", many...)
	v := AddScalar(MulScalar(x, 1/math.Sqrt(9*d)), 1)
	v = Max(Mul(v, Mul(v, v)), ConstAs(v, 1e-30))
	bound := Add(MulScalar(Square(x), .5), MulScalar(Add(OneMinus(v), Log(v)), d))
	accepted := LogicalAnd(LessThan(Log(u), bound), GreaterThan(v, ConstAs(v, 1e-30)))
	last := len(dims)
	values, ok := Split(v, last, proposals), Split(accepted, last, proposals)
	out := values[proposals-1]
	for i := proposals - 2; i >= 0; i-- {
		out = Where(ok[i], values[i], out)
	}
	power := MulScalar(Log(c.Uniform("power", dims...)), 1/alpha)
	return Add(Log(MulScalar(Squeeze(out, last), d)), power)
}

// Draw returns actions to play, [rows] int32: drawn in proportion to the visits to the power of
// 1/temperature, which is a scalar or [rows]. Where the temperature is 0 it is the best action.
//
//weft:draws
func (f Found) Draw(c *rl.Ctx, use string, temperature *Node) *Node {
	if temperature.Rank() == 1 {
		temperature = ExpandAxes(temperature, 1)
	}
	cold := LessOrEqual(temperature, ZerosLike(temperature))
	heat := BroadcastToShape(Where(cold, OnesLike(temperature), temperature), f.Visits.Shape())
	noisy := Add(Div(Log(f.Visits), heat), c.Gumbel(use, f.Visits.Shape().Dimensions...))
	drawn := best(noisy, GreaterThan(f.Visits, ZerosLike(f.Visits)))
	if cold.Rank() == 2 {
		cold = Squeeze(cold, 1)
	}
	return Where(BroadcastToShape(cold, drawn.Shape()), f.Best, drawn)
}
