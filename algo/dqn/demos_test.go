package dqn_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo/dqn"
	"github.com/weft-rl/weft/app"
	_ "github.com/weft-rl/weft/data/debug"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
)

// TestDemos: a part of every update is demonstrations.
func TestDemos(t *testing.T) { algotest.Demos(t, dqn.Algorithm, debug.Identity, "debug:identity") }

// TestDemosTeach: what a learner never tries by itself it learns from demonstrations.
func TestDemosTeach(t *testing.T) {
	greedy := func(fraction string) float64 {
		return algotest.Greedy(t, app.Job{Algorithm: dqn.Algorithm, Env: debug.Identity, Steps: 1600, Set: []string{
			"demos=debug:identity", "demo_fraction=" + fraction, "epsilon_start=0", "epsilon_end=0", "envs=8", "train_every=2", "updates=4",
			"batch=64", "learning_starts=64", "learning_rate=1e-3", "gamma=0", "hidden=32", "target_every=64",
		}})
	}
	if with, without := greedy("0.25"), greedy("0"); with < 15.9 || without > 12 {
		t.Errorf("greedy return %.2f with demonstrations, %.2f without", with, without)
	}
}

// TestDemosRefused: demonstrations that do not fit are refused before anything starts.
func TestDemosRefused(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"demos=debug:continuous", "dqn on Identity-v0: observations of the data set are Box(-1..1, [1]), those of the environment are Box(0..1, [4])"},
		{"demos=debug:identity prioritised=true", "demos: demonstrations are drawn evenly and have no priorities: set prioritised=false"},
	} {
		_, err := app.Train(t.Context(), app.Job{Algorithm: dqn.Algorithm, Env: debug.Identity, Steps: 10, Set: strings.Fields(c.set)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.set, err, c.want)
		}
	}
}
