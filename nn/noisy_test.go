package nn_test

import (
	"math"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// noisy returns the parameters of a layer of two inputs and one output, and a function that calls
// it with draws of a name.
func noisy(s *rl.Scope, sigma float64) (p *rl.Params, call func(k rl.Key, use string, x ...float32) []float64) {
	layer := func(c *rl.Ctx, sc *model.Scope, x *node, use string) *node {
		return nn.Noise{Sigma: sigma, Use: use}.Dense(c, sc, x, 1, 1)
	}
	p = rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) {
		layer(c, sc, nn.Blank(c, rl.Box{Dims: []int{2}}).Leaf("").Node(), "init")
	})
	return p, func(k rl.Key, use string, x ...float32) []float64 {
		f := rl.NewFunc(s, "layer", func(c *rl.Ctx, x rl.Tensor) rl.Tensor {
			return rl.Wrap(layer(c, c.Scope(p), x.Node(), use))
		})
		return rl.Floats(f.Call(k, rl.FromFlat(s, x, len(x)/2, 2)))
	}
}

// TestNoisyOnce: the output is what the drawn numbers make of the parameters.
func TestNoisyOnce(t *testing.T) {
	s := scope(t)
	p, call := noisy(s, .5)
	w := weights(p)
	k := s.Key("act")
	e := make([]float64, 3) // of two inputs and an output
	for i := range e {
		u := k.Use("noise/net")
		z := math.Sqrt(-2*math.Log(u.Uniform(0, 2*i))) * math.Cos(2*math.Pi*u.Uniform(0, 2*i+1))
		e[i] = math.Copysign(math.Sqrt(math.Abs(z)), z)
	}
	near(t, "deviations", append(w["weight_deviations"], w["bias_deviations"]...), []float64{.5 / math.Sqrt2, .5 / math.Sqrt2, .5 / math.Sqrt2}, 1e-6)
	want := w["biases"][0] + .5/math.Sqrt2*e[2]
	for i, x := range []float64{3, -1} {
		want += x * (w["weights"][i] + .5/math.Sqrt2*e[i]*e[2])
	}
	near(t, "output", call(k, "noise", 3, -1), []float64{want}, 1e-5)
}

// TestNoisyDraws: the noise of a call has mean 0 and the right variance, all rows of the call have
// the same, other calls and other uses have others, and there is none without a use.
func TestNoisyDraws(t *testing.T) {
	s := scope(t)
	_, call := noisy(s, .5)
	k := s.Key("act")
	quiet := call(k, "", 1, 0)[0]
	const n = 4000
	var mean, square float64
	for i := range n {
		y := call(k.Fold(uint64(i)), "noise", 1, 0)[0] - quiet
		mean, square = mean+y/n, square+y*y/n
	}
	// A weight's noise has variance 2/pi, a bias's its root, both times a deviation squared.
	near(t, "moments", []float64{mean, square}, []float64{0, .125 * (2/math.Pi + math.Sqrt(2/math.Pi))}, .02)

	rows := call(k, "noise", 1, 0, 1, 0, 1, 0)
	near(t, "rows", rows, []float64{rows[0], rows[0], rows[0]}, 0)
	near(t, "a row alone", call(k, "noise", 1, 0), rows[:1], 0)
	near(t, "without noise", call(k.Fold(1), "", 1, 0), []float64{quiet}, 0)
	if call(k, "other", 1, 0)[0] == rows[0] {
		t.Error("two uses draw the same noise")
	}
}

// TestNoisyQuiet: without noise a layer has the bits of a plain one, and no deviations if it never
// has any.
func TestNoisyQuiet(t *testing.T) {
	_, call := noisy(scope(t), .5)
	p, plain := noisy(scope(t), 0)
	near(t, "output", call(rl.NewKey(1), "", .3, -.7), plain(rl.NewKey(1), "noise", .3, -.7), 0)
	if paths := strings.Join(p.Paths(), " "); paths != "biases weights" {
		t.Errorf("a layer without noise has %s", paths)
	}
}
