package dreamer_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo/dreamer"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/plan"
)

// tiny returns settings by which tiny tasks are learnt in seconds, and more.
func tiny(more ...string) []string {
	return append([]string{
		"train_every=4", "train_ratio=16", "batch=8", "length=8", "units=16", "layers=1", "deter=16", "blocks=1", "hidden=16",
		"groups=4", "classes=4", "bins=15", "buffer=10000", "learning_starts=256", "learning_rate=3e-3", "behaviour=1",
	}, more...)
}

func TestSmallTasks(t *testing.T) {
	algotest.Solve(t, dreamer.Algorithm, []algotest.Task{
		{Name: "choices", Env: debug.Identity, Set: tiny("gamma=.5", "imagine=4"), Steps: 6000, Want: 15},
		{Name: "numbers", Env: debug.IdentityContinuous, Set: tiny("gamma=.5", "imagine=4"), Steps: 6000, Want: -1},
	})
}

// TestRefused: settings that do not go together, and what it cannot train.
func TestRefused(t *testing.T) {
	c := dreamer.Config{Envs: 4, TrainEvery: 1, TrainRatio: 2, Batch: 4, Length: 8, Buffer: 31, LearningStarts: 64, Bins: 8}
	c.StateSpace = nn.StateSpace{Deter: 10, Blocks: 4}
	err := c.Validate()
	for _, want := range []string{"less than an update", "at least 32", "choose a divisor", "odd number"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	job := app.Job{Algorithm: dreamer.Algorithm, Env: debug.Agents, Steps: 64}
	if _, err := app.Train(t.Context(), job); err == nil || !strings.Contains(err.Error(), "agents") {
		t.Errorf("several agents: got %v", err)
	}
}

// small returns settings of runs of a few updates, and more.
func small(more ...string) []string {
	return append([]string{
		"envs=4", "train_every=2", "train_ratio=4", "batch=4", "length=4", "imagine=3", "units=8", "layers=1", "deter=8", "blocks=2", "hidden=8",
		"groups=2", "classes=3", "bins=9", "buffer=40", "learning_starts=24",
	}, more...)
}

// TestResume: a run that is cut and goes on is the run that was not cut.
func TestResume(t *testing.T) {
	algotest.Resumes(t, dreamer.Algorithm, debug.Identity, 160, small()...)
}

// TestPolicies: wherever the parts of the loop run, a run ends in the same bits.
func TestPolicies(t *testing.T) {
	for _, e := range []string{"choices", "numbers"} {
		j := app.Job{Algorithm: dreamer.Algorithm, Env: debug.Identity, Steps: 120, Set: small()}
		if e == "numbers" {
			j.Env = debug.IdentityContinuous
		}
		algotest.Equal(t, j, plan.Deployment{Policy: "single-learner-coarse", Workers: 2}, plan.Deployment{Policy: "single-learner-fine", Workers: 2},
			plan.Deployment{Policy: "gpu-only"}, plan.Deployment{Policy: "multi-learner", Workers: 1})
	}
}
