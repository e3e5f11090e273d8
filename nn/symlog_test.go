package nn_test

import (
	"math"
	"testing"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

func TestSymlog(t *testing.T) {
	s := scope(t)
	x := []float64{-math.E + 1, 0, math.E*math.E - 1, 1e-6, 1e6}
	in := make([]float32, len(x))
	for i := range x {
		in[i] = float32(x[i])
	}
	out := eval(s, func(_ *rl.Ctx, in []*node) []*node {
		y := nn.Symlog(in[0])
		return []*node{y, nn.Symexp(y)}
	}, rl.FromFlat(s, in, len(in)))
	near(t, "symlog", out[0], []float64{-1, 0, 2, 1e-6, math.Log1p(1e6)}, 1e-5)
	near(t, "back", out[1][:4], x[:4], 1e-5)
	near(t, "back in millions", []float64{out[1][4] / 1e6}, []float64{1}, 1e-5)
}

// TestBins: five bins 0, 1, 3, -1, -3 share numbers between neighbours by their distance on the
// plain scale.
func TestBins(t *testing.T) {
	s := scope(t)
	b := nn.Bins{N: 5, Max: math.Log(4)}
	x := rl.FromFlat(s, []float32{0, .25, 1.5, -1, -2.5, 9, -9}, 7)
	even := rl.FromFlat(s, make([]float32, 35), 7, 5)
	out := eval(s, func(_ *rl.Ctx, in []*node) []*node {
		return []*node{b.TwoHot(in[0]), b.Miss(in[0], in[1])}
	}, x, even)
	near(t, "two hot", out[0], []float64{
		1, 0, 0, 0, 0,
		.75, .25, 0, 0, 0,
		0, .75, .25, 0, 0,
		0, 0, 0, 1, 0,
		0, 0, 0, .25, .75,
		0, 0, 1, 0, 0,
		0, 0, 0, 0, 1,
	}, 1e-6)
	for _, miss := range out[1] {
		near(t, "miss", []float64{miss}, []float64{math.Log(5)}, 1e-6)
	}
}

// TestBinsMean: an even guess over bins up to 4.9e8 has mean 0, and a mean is that of the numbers.
func TestBinsMean(t *testing.T) {
	s := scope(t)
	wide := nn.Bins{N: 255, Max: 20}
	b := nn.Bins{N: 5, Max: math.Log(4)}
	low := float32(-100)
	z := rl.FromFlat(s, []float32{low, low, 0, 0, low, low, low, float32(math.Log(3)), low, 0}, 2, 5)
	out := eval(s, func(_ *rl.Ctx, in []*node) []*node {
		return []*node{wide.Mean(in[0]), b.Mean(in[1])}
	}, rl.FromFlat(s, make([]float32, 255), 1, 255), z)
	near(t, "even guess", out[0], []float64{0}, 0)
	near(t, "means", out[1], []float64{1, 1.5}, 1e-6) // (3 - 1)/2; (3*3 - 3)/4
}
