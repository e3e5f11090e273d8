package nn_test

import (
	"testing"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestQuantileHuber: two predictions, for a quarter and three quarters, against three samples.
func TestQuantileHuber(t *testing.T) {
	s := scope(t)
	pred, sample := []float32{0, 1}, []float32{-2, .5, 3}
	for _, c := range []struct {
		delta, want float64
	}{
		// Errors of 0 are -2, .5, 3 with weights .75, .25, .25; of 1 they are -3, -.5, 2 with .25,
		// .25, .75.
		{0, (1.5 + .125 + .75 + .75 + .125 + 1.5) / 3},
		// Huber's losses of them are 1.5, .125, 2.5 and 2.5, .125, 1.5.
		{1, (.75*1.5 + .25*.125 + .25*2.5 + .25*2.5 + .25*.125 + .75*1.5) / 3},
		// With delta 2, halved: 1, .0625, 2 and 2, .0625, 1.
		{2, (.75*1 + .25*.0625 + .25*2 + .25*2 + .25*.0625 + .75*1) / 3},
	} {
		out := eval(s, func(_ *rl.Ctx, x []*node) []*node { return []*node{nn.QuantileHuber(x[0], x[1], c.delta)} },
			rl.FromFlat(s, pred, 1, 2), rl.FromFlat(s, sample, 1, 3))
		near(t, "loss", out[0], []float64{c.want}, 1e-6)
	}
	checkGrad(t, "quantiles", func(_ *rl.Ctx, x []*node) *node { return nn.QuantileHuber(x[0], x[1], 1) },
		[]float32{-1.2, .3, 2.6}, []float32{-2, .5})
}

// TestQuantileRows: rows do not look at each other.
func TestQuantileRows(t *testing.T) {
	s := scope(t)
	loss := func(lo, hi int) []float64 {
		return eval(s, func(_ *rl.Ctx, x []*node) []*node { return []*node{nn.QuantileHuber(x[0], x[1], 1)} },
			rl.FromFlat(s, wave(12, 0)[3*lo:3*hi], hi-lo, 3), rl.FromFlat(s, wave(12, 5)[3*lo:3*hi], hi-lo, 3))[0]
	}
	near(t, "row 2", loss(2, 3), loss(0, 4)[2:3], 0)
}
