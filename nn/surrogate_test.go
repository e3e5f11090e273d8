package nn_test

import (
	"math"
	"testing"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestSurrogate holds the clipped surrogate against values computed by hand: a ratio of
// 1.5 is clipped to 1.2 where that makes the loss worse, and left alone where it does
// not.
func TestSurrogate(t *testing.T) {
	s := scope(t)
	more, less := math.Log(1.5), math.Log(.5)
	out := eval(s, func(_ *rl.Ctx, x []*node) []*node {
		p := nn.Surrogate(x[0], x[1], x[2], .2)
		return []*node{p.Loss, p.Outside(), p.KL()}
	},
		rl.FromFlat(s, []float32{float32(more), float32(more), float32(less), 0}, 4),
		rl.FromFlat(s, make([]float32, 4), 4), rl.FromFlat(s, []float32{2, -2, 2, 3}, 4))
	near(t, "loss", out[0], []float64{-2.4, 3, -1, -3}, 1e-6)
	near(t, "outside", out[1], []float64{1, 1, 1, 0}, 0)
	near(t, "divergence", out[2], []float64{.5 - more, .5 - more, -.5 - less, 0}, 1e-6)
}
