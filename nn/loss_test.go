package nn_test

import (
	"testing"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

func TestHuber(t *testing.T) {
	s := scope(t)
	out := eval(s, func(c *rl.Ctx, x []*node) []*node { return []*node{nn.Huber(x[0], 2)} },
		rl.FromFlat(s, []float32{-5, -2, -1, 0, .5, 3}, 6))
	near(t, "loss", out[0], []float64{8, 2, .5, 0, .125, 4}, 1e-6)
	checkGrad(t, "huber", func(c *rl.Ctx, x []*node) *node { return nn.Huber(x[0], 2) }, []float32{-5, -1.5, 0, .5, 3})
}

// TestAdvantageWeights: exp(3 adv) up to the bound, also where the exponential is not finite.
func TestAdvantageWeights(t *testing.T) {
	s := scope(t)
	out := eval(s, func(c *rl.Ctx, x []*node) []*node { return []*node{nn.AdvantageWeights(x[0], 3, 100)} },
		rl.FromFlat(s, []float32{-50, -1, 0, 1, 1.5, 2, 500}, 7))
	near(t, "weight", out[0], []float64{0, .0497870684, 1, 20.0855369, 90.0171313, 100, 100}, 1e-4)
}

func TestExplainedVariance(t *testing.T) {
	s := scope(t)
	target := []float32{1, 2, 3, 6}
	for _, c := range []struct {
		name         string
		pred, target []float32
		want         float64
	}{
		{"perfect", target, target, 1},
		{"offset", []float32{11, 12, 13, 16}, target, 1},
		{"constant", []float32{5, 5, 5, 5}, target, 0},
		{"half", []float32{.5, 1, 1.5, 3}, target, .75},
		{"opposite", []float32{-1, -2, -3, -6}, target, -3},
		{"flat", target, []float32{2, 2, 2, 2}, 0},
	} {
		got := eval(s, func(_ *rl.Ctx, x []*node) []*node { return []*node{nn.ExplainedVariance(x[0], x[1])} },
			rl.FromFlat(s, c.pred, 2, 2), rl.FromFlat(s, c.target, 2, 2))
		near(t, c.name, got[0], []float64{c.want}, 1e-6)
	}
}
