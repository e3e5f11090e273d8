package impala_test

import (
	"math"
	"testing"

	"github.com/weft-rl/weft/algo/impala"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/rl"
)

func TestSmallTasks(t *testing.T) {
	fast := func(more ...string) []string {
		return append([]string{"envs=16", "horizon=8", "learning_rate=3e-3"}, more...)
	}
	algotest.Solve(t, impala.Algorithm, []algotest.Task{
		{Name: "discrete", Env: debug.Identity, Set: fast(), Steps: 40_000, Want: 15.9},
		{Name: "shared network", Env: debug.Identity, Set: []string{"envs=16", "horizon=8", "learning_rate=1e-3", "gamma=0.5", "shared=true"}, Steps: 40_000, Want: 15.9},
		{Name: "short traces", Env: debug.Identity, Set: fast("lambda=0.5"), Steps: 40_000, Want: 15.9},
		{Name: "masked", Env: debug.Masked, Set: fast(), Steps: 40_000, Want: 15},
		{Name: "host", Env: debug.Host, Set: fast(), Steps: 40_000, Want: 15.9},
		{Name: "continuous", Env: debug.IdentityContinuous, Set: fast("entropy_coef=0"), Steps: 60_000, Want: -.2},
	})
}

// TestCartPole: shorter rollouts make more updates of fewer steps.
func TestCartPole(t *testing.T) {
	t.Parallel()
	if got := algotest.Greedy(t, app.Job{Algorithm: impala.Algorithm, Env: classic.CartPole, Set: []string{"horizon=5"}, Steps: 200_000}); got < 475 {
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
			x := algotest.Trained(t, impala.Algorithm, debug.Endless, &debug.EndlessOptions{Terminates: c.terminates}, 60_000,
				"gamma=0.9", "learning_rate=1e-2", "hidden=8", "horizon=8").(*impala.Trainer)
			obs := x.Env.Obs() // the first of an episode: a rollout is as long as one
			algotest.Near(t, "value", float64(rl.Read[float32](x.Actor.Value(obs.First, obs))[0]), c.want, .3)
		})
	}
}

// TestRatio: in the plain loop the weights that act are those that learn, so that
// there is nothing to correct.
func TestRatio(t *testing.T) {
	t.Parallel()
	seen := 0
	_, err := app.Train(t.Context(), app.Job{
		Algorithm: impala.Algorithm, Env: debug.Identity, Steps: 4000,
		Watch: func(p app.Progress) {
			for _, m := range p.Metrics {
				if m.Name == "ratio" {
					seen++
					if math.Abs(m.X-1) > 1e-5 {
						t.Errorf("after %d steps actions are %v times as likely as when they were taken", p.Steps, m.X)
					}
				}
			}
		},
	})
	if err != nil || seen != 32 {
		t.Errorf("%d updates, error %v", seen, err)
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	algotest.Resumes(t, impala.Algorithm, debug.Identity, 2000)
}
