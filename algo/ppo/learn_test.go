package ppo_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/debug"
)

// train trains on one seed and gives the greedy return.
func train(t *testing.T, j app.Job) float64 {
	t.Helper()
	j.Algorithm, j.Seed, j.EvalEpisodes = ppo.Algorithm, 1, 1000
	r, err := app.Train(context.Background(), j)
	if err != nil {
		t.Fatal(err)
	}
	return r.EvalReturn
}

// TestSmallTasks: what any correct learner solves, for every kind of action,
// network and environment.
func TestSmallTasks(t *testing.T) {
	fast := func(more ...string) []string {
		return append([]string{"envs=16", "horizon=32", "learning_rate=3e-3"}, more...)
	}
	for _, c := range []struct {
		name string
		env  env.Entry
		set  []string
		want float64 // of 16
	}{
		{"discrete", debug.Identity, fast(), 15.9},
		{"shared network", debug.Identity, fast("shared=true", "activation=relu"), 15.9},
		{"normalised", debug.Identity, fast("normalize_obs=true", "normalize_reward=true"), 15.9},
		{"recurrent", debug.Identity, []string{"memory=16", "hidden=32", "horizon=8", "envs=64", "epochs=8", "learning_rate=3e-3"}, 15.9},
		{"masked", debug.Masked, fast(), 15},
		{"host", debug.Host, fast(), 15.9},
		{"target KL", debug.Identity, []string{"envs=16", "horizon=32", "target_kl=0.02", "learning_rate=1e-2"}, 15.9},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := train(t, app.Job{Env: c.env, Set: c.set, Steps: 16_384}); got < c.want {
				t.Errorf("return %.2f of 16, want %.2f", got, c.want)
			}
		})
	}
}

// TestContinuous: a Gaussian policy finds the right number.
func TestContinuous(t *testing.T) {
	t.Parallel()
	set := []string{"envs=16", "horizon=64", "learning_rate=3e-3", "entropy_coef=0"}
	before := train(t, app.Job{Env: debug.IdentityContinuous, Set: set, Steps: 1})
	after := train(t, app.Job{Env: debug.IdentityContinuous, Set: set, Steps: 40_000})
	// A return of 0 is perfect; the policy that has learnt nothing is far below.
	if after < before/20 {
		t.Errorf("return %.3f after training, %.3f before", after, before)
	}
}

// TestDemo: the README's recurrent example learns with any seed, not only with the
// default one.
func TestDemo(t *testing.T) {
	for seed := uint64(1); seed <= 4; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			j := app.Job{Algorithm: ppo.Algorithm, Env: debug.Memory, Options: []string{"delay=8"}, Seed: seed, EvalEpisodes: 200}
			r, err := app.Train(context.Background(), j)
			if err != nil {
				t.Fatal(err)
			}
			if r.EvalReturn < .98 {
				t.Errorf("%.2f of the answers are right; .5 is chance", r.EvalReturn)
			}
		})
	}
}

// TestMemory: a cue must be remembered, within one rollout's length and beyond
// it; without memory it is a toss.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		horizon, delay, memory int
		lo, hi                 float64
	}{
		{16, 4, 32, .95, 1}, // within
		{4, 4, 32, .95, 1},  // beyond: the memory must cross iterations
		{16, 4, 0, 0, .55},  // without: a toss
	} {
		t.Run(fmt.Sprintf("horizon=%d memory=%d", c.horizon, c.memory), func(t *testing.T) {
			t.Parallel()
			got := train(t, app.Job{
				Env: debug.Memory, Options: []string{fmt.Sprintf("delay=%d", c.delay)}, Steps: 60_000,
				Set: []string{
					"envs=64", fmt.Sprintf("horizon=%d", c.horizon), fmt.Sprintf("memory=%d", c.memory),
					"learning_rate=3e-3", "hidden=16", "minibatches=2",
				},
			})
			if got < c.lo || got > c.hi {
				t.Errorf("%.3f right, want %.2f to %.2f", got, c.lo, c.hi)
			}
		})
	}
}

// TestCartPole runs the README's command.
func TestCartPole(t *testing.T) {
	t.Parallel()
	if got := train(t, app.Job{Env: classic.CartPole, Preset: "quick"}); got < 475 {
		t.Errorf("greedy return %.1f, want 475", got)
	}
}
