package dqn

import (
	"math"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// TestLoss compares errors with those worked out from the networks' values in
// plain Go: over actions that are legal, rows that terminate, discounts of rows of
// several steps, and both ways to choose the best action.
func TestLoss(t *testing.T) {
	const rows, actions = 64, 3
	d, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	k := rl.NewKey(5)
	for _, double := range []bool{false, true} {
		s := rl.NewScope(d, 1)
		c := Config{Double: double, Dueling: true, Layers: nn.Layers{Hidden: []int{8}, Activation: "tanh"}, Prioritised: true, Alpha: .5, PriorityEps: .25}
		spec := env.Spec{Obs: rl.Box{Dims: []int{2}}, Action: rl.Discrete{N: actions, Start: 5}}
		net, err := newNet(s, "q", c, spec)
		if err != nil {
			t.Fatal(err)
		}
		target, err := newNet(s, "target", c, spec) // other weights: it is no copy
		if err != nil {
			t.Fatal(err)
		}
		l := newLearner(s, net, target)

		floats := func(use string, dims ...int) ([]float32, rl.Tensor) {
			x := make([]float32, rows*max(1, len(dims)*2))
			for i := range x {
				x[i] = float32(4*k.Use(use).Uniform(i, 0) - 2)
			}
			return x, rl.FromFlat(s, x, append([]int{rows}, dims...)...)
		}
		_, obs := floats("obs", 2)
		_, next := floats("next", 2)
		reward, r := floats("reward")
		discount, g := floats("discount")
		action, term, legal := make([]int32, rows), make([]bool, rows), make([]bool, rows*actions)
		prob := make([]float32, rows)
		for i := range rows {
			action[i], term[i], prob[i] = int32(5+i%actions), i%5 == 0, .1
			for a := range actions {
				legal[i*actions+a] = (i+a)%4 != 0
			}
		}
		after := rl.Obs{X: rl.One(next), Legal: rl.One(rl.FromFlat(s, legal, rows, actions))}
		_, m := l.loss.Grad(rl.Key{}, Batch{Beta: rl.Scalar(.5), Sample: replay.Sample[Transition]{
			Data: Transition{
				Obs: rl.Obs{X: rl.One(obs)}, Action: rl.One(rl.FromFlat(s, action, rows)), Reward: r,
				Next: after, Terminated: rl.FromFlat(s, term, rows),
			},
			Prob: rl.FromFlat(s, prob, rows), Discount: g,
		}})

		q := rl.Floats(l.Values(rl.Obs{X: rl.One(obs)}))
		goal := rl.Floats(rl.NewFunc(s, "goal", target.valuesGraph).Call(rl.Key{}, after))
		chooser := goal
		if double {
			chooser = rl.Floats(l.Values(after))
		}
		for i := range rows {
			best := -1
			for a := range actions {
				if legal[i*actions+a] && (best < 0 || chooser[i*actions+a] > chooser[i*actions+best]) {
					best = a
				}
			}
			want := float64(reward[i])
			if !term[i] {
				want += float64(discount[i]) * goal[i*actions+best]
			}
			td := q[i*actions+int(action[i]-5)] - want
			if got := rl.Floats(m.Loss)[i]; math.Abs(got-td*td) > 1e-4*(1+td*td) {
				t.Errorf("double %v, row %d: loss %v, want %v", double, i, got, td*td)
			}
			if got, want := rl.Floats(m.Priority)[i], math.Sqrt(math.Abs(td)+.25); math.Abs(got-want) > 1e-4 {
				t.Errorf("double %v, row %d: priority %v, want %v", double, i, got, want)
			}
		}
	}
}
