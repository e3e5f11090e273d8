package ppo_test

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

// endless is a task without anything to decide: a reward of 1 at every step, and
// an episode that ends after a few, by termination or by a limit.
type endless struct{ terminates bool }

const episode = 8

func (e endless) Spec() env.Spec {
	s := env.Spec{
		ID: "Endless", Obs: rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{1}}, Action: rl.Discrete{N: 2},
	}
	if !e.terminates {
		s.Limit = episode
	}
	return s
}

func (e endless) Reset(c *rl.Ctx, n int) rl.Tree {
	return rl.One(rl.Wrap(graph.Sub(c.Uniform("zero", n, 1), c.Uniform("same", n, 1))))
}

func (e endless) Step(_ *rl.Ctx, state, _ rl.Tree) env.Move {
	// The state counts steps from anything below 1 in size; agents do not see it.
	x := graph.AddScalar(state.Leaf("").Node(), 1)
	flat := graph.Reshape(x, x.Shape().Dimensions[0])
	end := graph.GreaterThan(flat, graph.ConstAs(flat, float64(episode)-1))
	if !e.terminates {
		end = graph.LessThan(flat, graph.ConstAs(flat, -100.0))
	}
	return env.Move{State: rl.One(rl.Wrap(x)), Reward: rl.Wrap(graph.OnesLike(flat)), Terminated: rl.Wrap(end)}
}

func (e endless) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	return rl.Obs{X: rl.One(rl.Wrap(graph.OnesLike(state.Leaf("").Node())))}
}

// settled is the value of the only observation after training.
func settled(t *testing.T, e endless) float64 {
	t.Helper()
	d, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	s := rl.NewScope(d, 1)
	entry := env.Entry{ID: "Endless", New: func(s *rl.Scope, n int, _ any) (env.Batch, error) { return env.Graph(s, n, e) }}
	c := &ppo.Config{}
	if err := config.Defaults(c); err != nil {
		t.Fatal(err)
	}
	c.Envs, c.Horizon, c.Gamma, c.LearningRate, c.ClipValue, c.Hidden = 8, 32, .9, 3e-2, false, []int{8}
	x, err := ppo.Algorithm.New(s, algo.On(s, entry, nil, nil), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := rl.Train(x, rl.NewRun(s, 40_000, nil)); err != nil {
		t.Fatal(err)
	}
	trainer := x.(*ppo.Trainer)
	values := rl.Read[float32](trainer.Actor.Last(ppo.ActIn{Obs: trainer.Env.Obs()}))
	return float64(values[0])
}

// TestBootstrap: where an episode is cut off the value goes on, where it
// terminates it does not. A reward of 1 for ever is worth 1/(1-gamma) = 10.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	if v := settled(t, endless{}); math.Abs(v-10) > .5 {
		t.Errorf("value %.2f under a time limit, want 10", v)
	}
	// With n steps left the value is (1-gamma^n)/(1-gamma); the observation does
	// not tell n, so the best prediction is the mean over n, about 4.3 here.
	if v := settled(t, endless{terminates: true}); v < 3 || v > 6 {
		t.Errorf("value %.2f where episodes terminate, want about 4.5", v)
	}
}

// TestConfig: settings are well-formed, and what does not go together is named.
func TestConfig(t *testing.T) {
	c := &ppo.Config{}
	if err := config.Check(c); err != nil {
		t.Fatal(err)
	}
	if err := config.Defaults(c); err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	c.Memory, c.Envs, c.Minibatches = 8, 2, 4
	if c.Validate() == nil {
		t.Error("more minibatches than sequences were accepted")
	}
	c.Memory, c.Horizon = 0, 1
	if c.Validate() == nil {
		t.Error("more minibatches than steps were accepted")
	}
}
