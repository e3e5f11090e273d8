package ac

import (
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestLoss compares losses with those worked out from values in plain Go, of a step that goes on,
// one that a limit cuts off, which is the same to the critic, and one that terminates.
func TestLoss(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	c := &Config{Envs: 2, Gamma: .5, Terms: nn.Terms{ValueCoef: 2, EntropyCoef: .25}, Layers: nn.Layers{Hidden: []int{4}, Activation: "tanh"}}
	x, err := build(s, algo.On(s, debug.Endless, nil, nil), c)
	if err != nil {
		t.Fatal(err)
	}
	l := x.(*Trainer).Learner
	obs := func(x ...float32) rl.Obs { return rl.Obs{X: rl.One(rl.FromFlat(s, x, len(x), 1))} }
	step := Step{
		Obs: obs(.1, .6), Next: obs(.9, .3), Action: rl.One(rl.FromFlat(s, []int32{0, 1}, 2)),
		Reward: rl.FromFlat(s, []float32{1, -2}, 2), Terminated: rl.FromFlat(s, []bool{false, true}, 2),
	}
	_, m := l.loss.Grad(rl.Key{}, step)
	v, next := rl.Floats(l.Value(step.Obs)), rl.Floats(l.Value(step.Next))
	td := []float64{1 + .5*next[0] - v[0], -2 - v[1]}
	for i := range td {
		algotest.Near(t, "value loss", rl.Floats(m.Value)[i], td[i]*td[i], 1e-5)
	}
	// An untrained policy is nearly even: -log(1/2) times the error, and log(2) of entropy.
	for i := range td {
		algotest.Near(t, "policy loss", rl.Floats(m.Policy)[i], .693*td[i], .03)
		algotest.Near(t, "entropy", rl.Floats(m.Entropy)[i], .693, .01)
	}
}
