package a2c_test

import (
	"testing"

	"github.com/weft-rl/weft/algo/a2c"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/rl"
)

func TestSmallTasks(t *testing.T) {
	fast := func(more ...string) []string {
		return append([]string{"envs=16", "learning_rate=3e-3"}, more...)
	}
	algotest.Solve(t, a2c.Algorithm, []algotest.Task{
		{Name: "discrete", Env: debug.Identity, Set: fast(), Steps: 20_000, Want: 15.9},
		{Name: "shared network", Env: debug.Identity, Set: []string{"envs=16", "learning_rate=1e-3", "gamma=0.5", "shared=true"}, Steps: 40_000, Want: 15.9},
		{Name: "standardised", Env: debug.Identity, Set: fast("normalize_advantage=true"), Steps: 20_000, Want: 15.9},
		{Name: "short traces", Env: debug.Identity, Set: fast("lambda=0.5"), Steps: 20_000, Want: 15.9},
		{Name: "masked", Env: debug.Masked, Set: fast(), Steps: 20_000, Want: 15},
		{Name: "host", Env: debug.Host, Set: fast(), Steps: 20_000, Want: 15.9},
		{Name: "continuous", Env: debug.IdentityContinuous, Set: fast("entropy_coef=0"), Steps: 40_000, Want: -.2},
	})
}

// TestCartPole runs the published recipe on part of its steps.
func TestCartPole(t *testing.T) {
	t.Parallel()
	if got := algotest.Greedy(t, app.Job{Algorithm: a2c.Algorithm, Env: classic.CartPole, Steps: 200_000}); got < 475 {
		t.Errorf("greedy return %.1f, want 475", got)
	}
}

// TestBootstrap: a reward of 1 for ever is worth 1/(1-gamma) under a time limit.
// Where episodes terminate, n steps before the end it is worth (1-gamma^n)/
// (1-gamma); nothing tells n, and the mean over 8 steps is 3.6.
func TestBootstrap(t *testing.T) {
	for _, c := range []struct {
		name       string
		terminates bool
		want       float64
	}{{"limit", false, 10}, {"end", true, 3.6}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := algotest.Trained(t, a2c.Algorithm, debug.Endless, &debug.EndlessOptions{Terminates: c.terminates}, 60_000,
				"gamma=0.9", "learning_rate=1e-2", "hidden=8", "horizon=8").(*a2c.Trainer)
			algotest.Near(t, "value", float64(rl.Read[float32](x.Actor.Last(x.Env.Obs()))[0]), c.want, .3)
		})
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	algotest.Resumes(t, a2c.Algorithm, debug.Identity, 2000)
}
