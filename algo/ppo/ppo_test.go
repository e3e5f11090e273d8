package ppo_test

import (
	"math"
	"testing"

	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/rl"
)

// settled returns the value of a state after training.
func settled(t *testing.T, terminates bool) float64 {
	t.Helper()
	x := algotest.Trained(t, ppo.Algorithm, debug.Endless, &debug.EndlessOptions{Terminates: terminates}, 40_000,
		"envs=8", "horizon=32", "gamma=0.9", "learning_rate=3e-2", "clip_value=false", "hidden=8").(*ppo.Trainer)
	return float64(rl.Read[float32](x.Actor.Values(ppo.ActIn{Obs: x.Env.Obs()}))[0])
}

// TestBootstrap: where an episode is cut off the value goes on, where it
// terminates it does not. A reward of 1 for ever is worth 1/(1-gamma) = 10.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	if v := settled(t, false); math.Abs(v-10) > .5 {
		t.Errorf("value %.2f under a time limit, want 10", v)
	}
	// With n steps left the value is (1-gamma^n)/(1-gamma); the observation does
	// not tell n, so the best prediction is the mean over n, 3.6 here.
	if v := settled(t, true); math.Abs(v-3.6) > .5 {
		t.Errorf("value %.2f where episodes terminate, want 3.6", v)
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
