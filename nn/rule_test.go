package nn_test

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// The gradients of three steps, of two tensors: a, [2], and b, [1].
var (
	start = []float64{1, -2, .5}
	grads = [][]float64{{.3, -4, 2}, {-.1, .02, 3}, {5, 0, -.25}}
	rates = []float64{.1, .05, .2}
)

// train takes the three steps and is the parameters after each.
func train(t *testing.T, rule rl.Rule) [][]float64 {
	t.Helper()
	s := scope(t)
	a := func(c *rl.Ctx, sc *model.Scope) *node {
		return nn.Param(c, sc, "a", func(rl.Key, []int) []float64 { return start[:2] }, 2)
	}
	b := func(c *rl.Ctx, sc *model.Scope) *node { return nn.Param(c, sc, "b", nn.Fill(start[2]), 1) }
	p := rl.NewParams(s, "p", func(c *rl.Ctx, sc *model.Scope) { a(c, sc); b(c, sc) })
	// The derivative of a product with what is given is what is given.
	l := rl.NewLoss(s, "l", func(c *rl.Ctx, g rl.Tensor) (loss, weight, aux rl.Tensor) {
		all := graph.Concatenate([]*node{a(c, c.Scope(p)), b(c, c.Scope(p))}, 0)
		x := graph.ReduceSum(graph.Mul(g.Node(), graph.ExpandLeftToRank(all, 2)), -1)
		return rl.Wrap(x), rl.Tensor{}, rl.Wrap(x)
	}, p)
	o := rl.NewOpt(s, "o", rule, p)
	var out [][]float64
	for i, g := range grads {
		g, _ := l.Grad(rl.Key{}, rl.FromFlat(s, []float32{float32(g[0]), float32(g[1]), float32(g[2])}, 1, 3))
		o.Apply(g, rates[i])
		w := weights(p)
		out = append(out, append(w["a"], w["b"]...))
	}
	return out
}

// byHand returns the same with step, a rule for a single number that keeps its state
// in m; n counts from 1.
func byHand(grads [][]float64, step func(p, g, lr float64, n int, m *[3]float64) float64) [][]float64 {
	p := append([]float64(nil), start...)
	m := make([][3]float64, len(p))
	var out [][]float64
	for i, g := range grads {
		for j := range p {
			p[j] = step(p[j], g[j], rates[i], i+1, &m[j])
		}
		out = append(out, append([]float64(nil), p...))
	}
	return out
}

func adam(b1, b2, eps, decay float64) func(p, g, lr float64, n int, m *[3]float64) float64 {
	return func(p, g, lr float64, n int, m *[3]float64) float64 {
		p -= lr * decay * p
		m[0] = b1*m[0] + (1-b1)*g
		m[1] = b2*m[1] + (1-b2)*g*g
		mean, square := m[0]/(1-math.Pow(b1, float64(n))), m[1]/(1-math.Pow(b2, float64(n)))
		return p - lr*mean/(math.Sqrt(square)+eps)
	}
}

func TestRules(t *testing.T) {
	momentum := func(mu float64, nesterov bool) func(p, g, lr float64, n int, m *[3]float64) float64 {
		return func(p, g, lr float64, n int, m *[3]float64) float64 {
			m[0] = mu*m[0] + g
			if nesterov {
				return p - lr*(g+mu*m[0])
			}
			return p - lr*m[0]
		}
	}
	rms := func(alpha, eps, mu float64, centred bool) func(p, g, lr float64, n int, m *[3]float64) float64 {
		return func(p, g, lr float64, n int, m *[3]float64) float64 {
			m[0] = alpha*m[0] + (1-alpha)*g*g
			m[1] = alpha*m[1] + (1-alpha)*g
			v := m[0]
			if centred {
				v -= m[1] * m[1]
			}
			m[2] = mu*m[2] + g/(math.Sqrt(v)+eps)
			return p - lr*m[2]
		}
	}
	clipped := func(limit float64) [][]float64 {
		var out [][]float64
		for _, g := range grads {
			norm := math.Sqrt(g[0]*g[0] + g[1]*g[1] + g[2]*g[2])
			f := min(1, limit/(norm+1e-6))
			out = append(out, []float64{g[0] * f, g[1] * f, g[2] * f})
		}
		return out
	}
	for _, c := range []struct {
		name string
		rule rl.Rule
		want [][]float64
	}{
		{"adam", nn.Adam{}, byHand(grads, adam(.9, .999, 1e-8, 0))},
		{"adam set", nn.Adam{Beta1: .5, Beta2: .9, Eps: .1}, byHand(grads, adam(.5, .9, .1, 0))},
		{"adamw", nn.Adam{Decay: .3}, byHand(grads, adam(.9, .999, 1e-8, .3))},
		{"sgd", nn.SGD{}, byHand(grads, momentum(0, false))},
		{"momentum", nn.SGD{Momentum: .8}, byHand(grads, momentum(.8, false))},
		{"nesterov", nn.SGD{Momentum: .8, Nesterov: true}, byHand(grads, momentum(.8, true))},
		{"rmsprop", nn.RMSProp{}, byHand(grads, rms(.99, 1e-8, 0, false))},
		{"rmsprop set", nn.RMSProp{Alpha: .5, Eps: .1, Momentum: .7}, byHand(grads, rms(.5, .1, .7, false))},
		{"rmsprop centred", nn.RMSProp{Alpha: .7, Eps: .01, Centered: true, Momentum: .4}, byHand(grads, rms(.7, .01, .4, true))},
		{"clip", nn.ClipNorm{Max: 3.1, Rule: nn.SGD{}}, byHand(clipped(3.1), momentum(0, false))},
		{"clip nothing", nn.ClipNorm{Max: 100, Rule: nn.SGD{}}, byHand(grads, momentum(0, false))},
		{"clip off", nn.ClipNorm{}, byHand(grads, adam(.9, .999, 1e-8, 0))},
	} {
		for i, got := range train(t, c.rule) {
			near(t, c.name, got, c.want[i], 2e-5)
		}
	}
}

// A steady gradient has no variance, and rounding must not make it negative.
func TestCentredSteady(t *testing.T) {
	s := scope(t)
	p := rl.NewParams(s, "p", func(c *rl.Ctx, sc *model.Scope) { nn.Param(c, sc, "w", nn.Fill(0), 1) })
	l := rl.NewLoss(s, "l", func(c *rl.Ctx, g rl.Tensor) (loss, weight, aux rl.Tensor) {
		x := graph.Mul(g.Node(), nn.Param(c, c.Scope(p), "w", nn.Fill(0), 1))
		return rl.Wrap(x), rl.Tensor{}, rl.Wrap(x)
	}, p)
	o := rl.NewOpt(s, "o", nn.RMSProp{Alpha: .3, Eps: 1, Centered: true}, p)
	for range 60 {
		g, _ := l.Grad(rl.Key{}, rl.FromFlat(s, []float32{.1}, 1))
		o.Apply(g, .01)
	}
	if w := weights(p)["w"][0]; !(w < -.05 && w > -.07) {
		t.Errorf("60 steps of about .001 end at %g", w)
	}
}

// The correction of Adam's mean square is exact where float32's would not be.
func TestAdamLate(t *testing.T) {
	s := scope(t)
	out := eval(s, func(c *rl.Ctx, x []*node) []*node {
		zero := graph.ZerosLike(x[0])
		p, _ := nn.Adam{Beta2: .9999999}.Update(zero, x[0], []*node{zero, zero}, c.Const(1), x[1])
		return []*node{p}
	}, rl.FromFlat(s, []float32{2}, 1), rl.FromFlat(s, []float64{1}))
	near(t, "first step", out[0], []float64{-1}, 1e-5)
}
