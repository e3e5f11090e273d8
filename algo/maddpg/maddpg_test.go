package maddpg_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo/maddpg"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/env/mpe"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/rl"
)

// fast returns settings by which tiny tasks are learnt in a second or two, and more.
func fast(more ...string) []string {
	return append([]string{"envs=8", "train_every=2", "batch=64", "learning_starts=512", "buffer=10000", "learning_rate=3e-3", "gamma=0.5", "hidden=32,32"}, more...)
}

// TestSmallTasks: what any correct learner solves. Three agents earn 16 each.
func TestSmallTasks(t *testing.T) {
	algotest.Solve(t, maddpg.Algorithm, []algotest.Task{
		{Name: "separate", Env: debug.Agents, Set: fast(), Steps: 16_000, Want: 47},
		{Name: "shared", Env: debug.Agents, Set: fast("separate=false"), Steps: 16_000, Want: 47},
		{Name: "numbers", Env: debug.IdentityContinuous, Set: fast(), Steps: 16_000, Want: 15.8},
		{Name: "legal choices", Env: debug.Masked, Set: fast(), Steps: 16_000, Want: 15},
		{Name: "host", Env: debug.Host, Set: fast(), Steps: 16_000, Want: 15.5},
		{Name: "kinds", Env: debug.Kinds, Set: fast("separate=false"), Steps: 48_000, Want: 44},
	})
	algotest.Solve(t, maddpg.MATD3, []algotest.Task{
		{Name: "twins", Env: debug.Agents, Set: fast("separate=false"), Steps: 16_000, Want: 47},
		{Name: "twins with numbers", Env: debug.IdentityContinuous, Set: fast(), Steps: 16_000, Want: 15.8},
	})
}

// TestSpread: agents cover landmarks better than they did, with the preset on part of its steps.
func TestSpread(t *testing.T) {
	t.Parallel()
	greedy := func(steps int64) float64 {
		return algotest.Greedy(t, app.Job{Algorithm: maddpg.Algorithm, Env: mpe.SimpleSpread, Steps: steps})
	}
	if before, after := greedy(1), greedy(60_000); after < before+15 || after < -75 {
		t.Errorf("return %.1f after training, %.1f before", after, before)
	}
}

// TestRoles: kinds share a role or have their own, and the members of a team are as many.
func TestRoles(t *testing.T) {
	t.Parallel()
	algotest.Roles(t, maddpg.Algorithm, func(x rl.Trainer) int { return len(x.(*maddpg.Trainer).Roles) })
}

func TestConfig(t *testing.T) {
	_, err := algotest.Configure(maddpg.Algorithm, []string{"n_step=3", "envs=4", "buffer=11"})
	if err == nil || !strings.Contains(err.Error(), "at least 12") {
		t.Errorf("got %v", err)
	}
}

// TestResume: a run that is cut and goes on is the run that was not cut.
func TestResume(t *testing.T) {
	for _, set := range []string{"separate=false", "separate=true"} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			algotest.Resumes(t, maddpg.MATD3, debug.Kinds, 1000, set, "envs=4", "train_every=5", "updates=3", "batch=8", "buffer=200", "learning_starts=100", "hidden=8")
		})
	}
}
