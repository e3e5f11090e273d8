package nn_test

import (
	"math"
	"testing"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestRescale: sqrt(3+1)-1 + .003 = 1.003, and so on; Unscale goes back.
func TestRescale(t *testing.T) {
	s := scope(t)
	x := []float32{0, 3, -8, 99, -2500, .5}
	want := []float64{0, 1.003, -2.008, 9.099, -(math.Sqrt(2501) - 1) - 2.5, math.Sqrt(1.5) - 1 + .0005}
	out := eval(s, func(_ *rl.Ctx, in []*node) []*node {
		y := nn.Rescale(in[0])
		return []*node{y, nn.Unscale(y)}
	}, rl.FromFlat(s, x, len(x)))
	for i, w := range want {
		if got := float64(out[0][i]); math.Abs(got-w) > 1e-5*(1+math.Abs(w)) {
			t.Errorf("h(%v) = %v, want %v", x[i], got, w)
		}
		if got, w := float64(out[1][i]), float64(x[i]); math.Abs(got-w) > 1e-3*(1+math.Abs(w)) {
			t.Errorf("of h(%v) there comes back %v", w, got)
		}
	}
}
