package dqn

import (
	"fmt"
	"math"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

const rows, actions = 64, 3

// sampled is a batch, and what it is made of.
type sampled struct {
	Batch
	reward, discount []float32
	term, legal      []bool
	action           []int32
}

// sample returns a batch with rows that terminate, discounts of rows of several steps, and actions
// that are not legal.
func sample(s *rl.Scope) (b sampled) {
	k := rl.NewKey(5)
	floats := func(use string, dims ...int) ([]float32, rl.Tensor) {
		x := make([]float32, rows*max(1, len(dims)*2))
		for i := range x {
			x[i] = float32(4*k.Use(use).Uniform(i, 0) - 2)
		}
		return x, rl.FromFlat(s, x, append([]int{rows}, dims...)...)
	}
	_, obs := floats("obs", 2)
	_, next := floats("next", 2)
	d, c := &b.Sample.Data, &b.Sample.Discount
	b.reward, d.Reward = floats("reward")
	b.discount, *c = floats("discount")
	b.action, b.term, b.legal = make([]int32, rows), make([]bool, rows), make([]bool, rows*actions)
	prob := make([]float32, rows)
	for i := range rows {
		b.action[i], b.term[i], prob[i] = int32(5+i%actions), i%5 == 0, .1
		for a := range actions {
			b.legal[i*actions+a] = (i+a)%4 != 0
		}
	}
	b.Beta, b.Sample.Prob = rl.Scalar(.5), rl.FromFlat(s, prob, rows)
	d.Obs, d.Action = rl.Obs{X: rl.One(obs)}, rl.One(rl.FromFlat(s, b.action, rows))
	d.Next = rl.Obs{X: rl.One(next), Legal: rl.One(rl.FromFlat(s, b.legal, rows, actions))}
	d.Terminated = rl.FromFlat(s, b.term, rows)
	return b
}

// TestLoss compares losses with those worked out from the networks' predictions in plain Go: over
// actions that are legal, both ways to choose the best one, and all that can be learnt of returns.
func TestLoss(t *testing.T) {
	for _, distribution := range []string{"none", "categorical", "quantile"} {
		for _, double := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, double %v", distribution, double), func(t *testing.T) {
				testLoss(t, Config{
					Double: double, Dueling: true, Layers: nn.Layers{Hidden: []int{8}, Activation: "tanh"},
					Prioritising:   nn.Prioritising{Prioritised: true, Alpha: .5, PriorityEps: .25},
					Distributional: nn.Distributional{Distribution: distribution, Atoms: 5, VMin: -2, VMax: 2, Quantiles: 4},
				})
			})
		}
	}
}

func testLoss(t *testing.T, c Config) {
	d, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	s := rl.NewScope(d, 1)
	spec := env.Spec{Obs: rl.Box{Dims: []int{2}}, Action: rl.Discrete{N: actions, Start: 5}}
	q, err := newNet(s, "q", c, spec)
	if err != nil {
		t.Fatal(err)
	}
	target, err := newNet(s, "target", c, spec) // other weights: it is no copy
	if err != nil {
		t.Fatal(err)
	}
	l := newLearner(s, c, q, target)
	b := sample(s)
	_, m := l.loss.Grad(rl.Key{}, b.Batch)

	predicted := func(n *net, obs rl.Obs) []float64 {
		return rl.Floats(rl.NewFunc(s, "predicted", n.predict).Call(rl.Key{}, obs))
	}
	z, next := predicted(q, b.Sample.Data.Obs), predicted(target, b.Sample.Data.Next)
	chooser := rl.Floats(rl.NewFunc(s, "goal", target.values).Call(rl.Key{}, b.Sample.Data.Next))
	if c.Double {
		chooser = rl.Floats(l.Values(b.Sample.Data.Next))
	}
	k := c.Numbers()
	for i := range rows {
		best := -1
		for a := range actions {
			if b.legal[i*actions+a] && (best < 0 || chooser[i*actions+a] > chooser[i*actions+best]) {
				best = a
			}
		}
		discount := float64(b.discount[i])
		if b.term[i] {
			discount = 0
		}
		of := func(z []float64, a int) []float64 { return z[(i*actions+a)*k:][:k] }
		want, size := c.lossOf(of(z, int(b.action[i]-5)), float64(b.reward[i]), discount, of(next, best))
		if got := rl.Floats(m.Loss)[i]; math.Abs(got-want) > 1e-4*(1+want) {
			t.Errorf("row %d: loss %v, want %v", i, got, want)
		}
		if got, want := rl.Floats(m.Priority)[i], math.Sqrt(size+.25); math.Abs(got-want) > 1e-4 {
			t.Errorf("row %d: priority %v, want %v", i, got, want)
		}
	}
}

func (n *net) predict(c *rl.Ctx, obs rl.Obs) rl.Tensor { return rl.Wrap(n.returns(c, obs, "")) }

// lossOf returns the loss of one row, and the size of its error, by the papers' formulas.
func (c Config) lossOf(z []float64, reward, discount float64, next []float64) (loss, size float64) {
	switch c.Distribution {
	case "categorical":
		step := (c.VMax - c.VMin) / float64(c.Atoms-1)
		m := make([]float64, c.Atoms)
		for j, p := range softmax(next) {
			at := (min(max(reward+discount*(c.VMin+float64(j)*step), c.VMin), c.VMax) - c.VMin) / step
			lo, hi := int(math.Floor(at)), int(math.Ceil(at))
			if lo == hi {
				m[lo] += p
				continue
			}
			m[lo] += p * (float64(hi) - at)
			m[hi] += p * (at - float64(lo))
		}
		for i, q := range softmax(z) {
			if m[i] > 0 {
				loss += m[i] * math.Log(m[i]/q)
			}
		}
		return loss, loss
	case "quantile":
		for i := range z {
			for _, x := range next {
				u := reward + discount*x - z[i]
				weight := (float64(i) + .5) / float64(len(z))
				if u < 0 {
					weight = 1 - weight
				}
				loss += weight * math.Abs(u) / float64(len(next))
			}
		}
		return loss, loss
	}
	td := z[0] - reward - discount*next[0]
	return td * td, math.Abs(td)
}

func softmax(z []float64) []float64 {
	out, total := make([]float64, len(z)), 0.0
	for _, x := range z {
		total += math.Exp(x)
	}
	for i, x := range z {
		out[i] = math.Exp(x) / total
	}
	return out
}
