package qmix_test

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/qmix"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/env/mpe"
	"github.com/weft-rl/weft/internal/algotest"
)

// TestTwoStep: from random actions the sum of values finds 7, a monotonic mixer 8. Agents that
// learn apart find 7 as well.
func TestTwoStep(t *testing.T) {
	for _, c := range []struct {
		algorithm algo.Algorithm
		want      float64
	}{{qmix.Algorithm, 8}, {qmix.VDN, 7}, {qmix.Independent, 7}} {
		t.Run(c.algorithm.Name, func(t *testing.T) {
			t.Parallel()
			if got := algotest.Greedy(t, app.Job{Algorithm: c.algorithm, Env: debug.TwoStep}); math.Abs(got-c.want) > 1e-6 {
				t.Errorf("greedy return %v, want %v", got, c.want)
			}
		})
	}
}

// TestSmallTasks: what any correct learner solves. Three agents earn 16 each.
func TestSmallTasks(t *testing.T) {
	fast := func(units string, more ...string) []string {
		set := []string{
			"envs=8", "train_every=16", "updates=8", "batch=16", "buffer=8000", "learning_starts=500", "learning_rate=3e-3", "gamma=0.5", "target_every=500", "hidden=32", "exploration=0.3"}
		return append(append(set, "units="+units), more...)
	}
	algotest.Solve(t, qmix.Algorithm, []algotest.Task{
		{Name: "qmix", Env: debug.Agents, Set: fast("16"), Steps: 10_000, Want: 46},
		{Name: "vdn", Env: debug.Agents, Set: fast("16", "mixer=vdn"), Steps: 10_000, Want: 46},
		{Name: "independent", Env: debug.Agents, Set: fast("16", "mixer=none"), Steps: 10_000, Want: 46},
		{Name: "own rewards", Env: debug.Agents, Set: fast("16", "mixer=none", "team=false"), Steps: 10_000, Want: 47},
		{Name: "pieces", Env: debug.Agents, Set: fast("16", "mixer=vdn", "length=5"), Steps: 10_000, Want: 46},
		{Name: "no memory", Env: debug.Agents, Set: fast("0", "lambda=0.5"), Steps: 10_000, Want: 46},
	})
}

// TestSpread: agents cover landmarks better than they did, with the preset on part of its steps.
func TestSpread(t *testing.T) {
	t.Parallel()
	greedy := func(steps int64) float64 {
		return algotest.Greedy(t, app.Job{Algorithm: qmix.VDN, Env: mpe.SimpleSpread, Steps: steps})
	}
	if before, after := greedy(1), greedy(60_000); after < before+15 || after < -75 {
		t.Errorf("return %.1f after training, %.1f before", after, before)
	}
}

// TestRefused: what it cannot train, and settings that do not go together.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		env  env.Entry
		set  []string
		want string
	}{
		{debug.Identity, nil, "it has one agent"},
		{debug.Kinds, nil, "kinds"},
		{debug.TwoStep, nil, "set length"},
		{debug.Agents, []string{"envs=4", "buffer=63"}, "at least 64"},
	} {
		a := qmix.Algorithm
		a.Presets = nil
		_, err := app.Train(t.Context(), app.Job{Algorithm: a, Env: c.env, Set: c.set, Steps: 64})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.env.ID, err, c.want)
		}
	}
}

// TestResume: a run that is cut and goes on is the run that was not cut.
func TestResume(t *testing.T) {
	for _, mixer := range []string{"mixer=qmix", "mixer=none"} {
		t.Run(mixer, func(t *testing.T) {
			t.Parallel()
			algotest.Resumes(t, qmix.Algorithm, debug.Agents, 2000, mixer, "envs=4", "train_every=5", "updates=1", "batch=8", "buffer=1000", "learning_starts=200", "hidden=8", "units=4", "embed=4")
		})
	}
}
