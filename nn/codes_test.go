package nn_test

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestMixed: of two options with odds 3 to 1, a fifth is taken evenly.
func TestMixed(t *testing.T) {
	s := scope(t)
	z := rl.FromFlat(s, []float32{float32(math.Log(3)), 0}, 1, 2)
	out := eval(s, func(_ *rl.Ctx, in []*node) []*node {
		return []*node{graph.Exp(nn.Mixed(in[0], .2)), graph.Exp(nn.Mixed(in[0], 0))}
	}, z)
	near(t, "mixed", out[0], []float64{.7, .3}, 1e-6) // .8 * .75 + .1, .8 * .25 + .1
	near(t, "as they are", out[1], []float64{.75, .25}, 1e-6)
}

// TestCodesSample: a sample is exactly the class that the noise favours, and its gradient by the
// outputs is that of the mixed probabilities.
func TestCodesSample(t *testing.T) {
	s := scope(t)
	k := nn.Codes{Groups: 2, Classes: 2, Mix: .2}
	z := rl.FromFlat(s, []float32{float32(math.Log(3)), 0, 0, 0}, 1, 4)
	noise := rl.FromFlat(s, []float32{0, 5, .1, 0}, 1, 2, 2)
	weight := rl.FromFlat(s, []float32{1, 0, 0, 2}, 1, 4)
	out := eval(s, func(_ *rl.Ctx, in []*node) []*node {
		x := k.Sample(k.Dist(in[0]), in[1])
		d := graph.Gradient(graph.ReduceAllSum(graph.Mul(x, in[2])), in[0])[0]
		return []*node{x, d, k.Mode(k.Dist(in[0]))}
	}, z, noise, weight)
	near(t, "sample", out[0], []float64{0, 1, 1, 0}, 0)
	// .8 of the softmax's slope p (1-p): .8 * .75 * .25 = .15 and .8 * .25 * 2 = .4.
	near(t, "gradient", out[1], []float64{.15, -.15, -.4, .4}, 1e-6)
	near(t, "mode", out[2], []float64{1, 0, 1, 0}, 0)
}

// TestBalanced: a posterior of 3 to 1 and an even prior diverge by .13 nats, each half moves its
// own side, and neither does below the free nats.
func TestBalanced(t *testing.T) {
	s := scope(t)
	k := nn.Codes{Groups: 1, Classes: 2}
	kl := .75*math.Log(1.5) + .25*math.Log(.5) // .13
	for _, c := range []struct{ free, want, slope float64 }{{.1, kl, 1}, {1, 1, 0}} {
		post := rl.FromFlat(s, []float32{float32(math.Log(3)), 0}, 1, 2)
		prior := rl.FromFlat(s, []float32{0, 0}, 1, 2)
		out := eval(s, func(_ *rl.Ctx, in []*node) []*node {
			dyn, rep := k.Balanced(k.Dist(in[0]), k.Dist(in[1]), c.free)
			d := graph.Gradient(graph.ReduceAllSum(dyn), in[0], in[1])
			r := graph.Gradient(graph.ReduceAllSum(rep), in[0], in[1])
			return []*node{dyn, rep, d[0], d[1], r[0], r[1]}
		}, post, prior)
		near(t, "divergences", append(out[0], out[1]...), []float64{c.want, c.want}, 1e-6)
		near(t, "prediction by posterior", out[2], []float64{0, 0}, 0)
		near(t, "prediction by prior", out[3], []float64{-.25 * c.slope, .25 * c.slope}, 1e-6) // q - p
		p := c.slope * .75 * (math.Log(1.5) - kl)                                              // p (log p/q - KL)
		near(t, "posterior by posterior", out[4], []float64{p, -p}, 1e-6)
		near(t, "posterior by prior", out[5], []float64{0, 0}, 0)
	}
}
