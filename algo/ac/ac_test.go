package ac_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo/ac"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/rl"
)

func TestSmallTasks(t *testing.T) {
	fast := func(more ...string) []string { return append([]string{"learning_rate=3e-3"}, more...) }
	algotest.Solve(t, ac.Algorithm, []algotest.Task{
		{Name: "discrete", Env: debug.Identity, Set: fast(), Steps: 40_000, Want: 15.9},
		{Name: "shared network", Env: debug.Identity, Set: fast("shared=true", "gamma=0.5"), Steps: 40_000, Want: 15.9},
		{Name: "masked", Env: debug.Masked, Set: fast(), Steps: 40_000, Want: 15},
		{Name: "host", Env: debug.Host, Set: fast(), Steps: 40_000, Want: 15.9},
		{Name: "continuous", Env: debug.IdentityContinuous, Set: fast(), Steps: 80_000, Want: 15},
	})
}

// TestCartPole runs the recipe on part of its steps.
func TestCartPole(t *testing.T) {
	t.Parallel()
	if got := algotest.Greedy(t, app.Job{Algorithm: ac.Algorithm, Env: classic.CartPole, Steps: 300_000}); got < 400 {
		t.Errorf("greedy return %.1f, want 400", got)
	}
}

// TestBootstrap: a reward of 1 for ever is worth 1/(1-gamma) under a time limit; where episodes
// terminate a critic that cannot tell when settles at 1/(1-7/8 gamma). Here all episodes end with
// the same step, so that clipping would make that one gradient in eight smaller than it is.
func TestBootstrap(t *testing.T) {
	for _, c := range []struct {
		name       string
		terminates bool
		want       float64
	}{{"limit", false, 10}, {"end", true, 1 / (1 - .9*7/8)}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := algotest.Trained(t, ac.Algorithm, debug.Endless, &debug.EndlessOptions{Terminates: c.terminates}, 60_000,
				"gamma=0.9", "learning_rate=1e-2", "hidden=8", "max_grad_norm=0").(*ac.Trainer)
			algotest.Near(t, "value", rl.Floats(x.Learner.Value(x.Env.Obs()))[0], c.want, .3)
		})
	}
}

// TestRefused: one algorithm trains one agent.
func TestRefused(t *testing.T) {
	_, err := app.Train(t.Context(), app.Job{Algorithm: ac.Algorithm, Env: debug.Agents, Steps: 64})
	if err == nil || !strings.Contains(err.Error(), "agents") {
		t.Errorf("several agents: got %v", err)
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	algotest.Resumes(t, ac.Algorithm, debug.Identity, 2000)
}
