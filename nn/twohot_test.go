package nn_test

import (
	"math"
	"testing"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestTwoHot: numbers over the atoms -2, -1, 0, 1, 2, and what an even guess misses them by.
func TestTwoHot(t *testing.T) {
	s := scope(t)
	a := nn.Atoms{N: 5, Min: -2, Max: 2}
	x := rl.FromFlat(s, []float32{-3, -2, .25, 1.5, 7}, 5)
	even := rl.FromFlat(s, make([]float32, 25), 5, 5)
	out := eval(s, func(_ *rl.Ctx, in []*node) []*node { return []*node{a.TwoHot(in[0]), a.Miss(in[0], in[1])} }, x, even)
	near(t, "two hot", out[0], []float64{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, .75, .25, 0, 0, 0, 0, .5, .5, 0, 0, 0, 0, 1}, 1e-6)
	l := math.Log(5)
	near(t, "miss", out[1], []float64{l, l, l, l, l}, 1e-6)
}
