package r2d2_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo/r2d2"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
)

// fast returns settings by which tiny tasks are learnt in a second or two, and more.
func fast(more ...string) []string {
	out := []string{"learning_starts=1000", "learning_rate=3e-3", "target_every=512", "length=8", "stride=4", "hidden=16", "units=32", "buffer=10000"}
	return append(out, more...)
}

func TestSmallTasks(t *testing.T) {
	algotest.Solve(t, r2d2.Algorithm, []algotest.Task{
		{Name: "remembers", Env: debug.Memory, Set: fast("n_step=1", "burn_in=0"), Steps: 30_000, Want: .99},
		{Name: "remembers beyond a sequence", Env: debug.Memory, Set: fast("n_step=1", "burn_in=2", "rescale=false"), Steps: 30_000, Want: .99},
		{Name: "long short-term memory", Env: debug.Memory, Set: fast("burn_in=0", "cell=lstm"), Steps: 30_000, Want: .99},
		{Name: "uniform", Env: debug.Identity, Set: fast("gamma=0.5", "prioritised=false", "double=false", "dueling=true"), Steps: 20_000, Want: 15.5},
		{Name: "legal choices", Env: debug.Masked, Set: fast("gamma=0.5"), Steps: 20_000, Want: 15},
		{Name: "host", Env: debug.Host, Set: fast("gamma=0.5"), Steps: 20_000, Want: 15.5},
	})
}

// TestRefused: settings that do not go together, and what it cannot train.
func TestRefused(t *testing.T) {
	c := r2d2.Config{Envs: 4, Length: 8, BurnIn: 3, Stride: 6, Buffer: 31}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "at most 5") || !strings.Contains(err.Error(), "at least 32") {
		t.Errorf("got %v", err)
	}
	if err := (&r2d2.Config{Envs: 1, Length: 4, BurnIn: 4, Stride: 1, Buffer: 4}).Validate(); err == nil || !strings.Contains(err.Error(), "nothing to learn") {
		t.Errorf("got %v", err)
	}
	job := app.Job{Algorithm: r2d2.Algorithm, Env: debug.Agents, Steps: 64}
	if _, err := app.Train(t.Context(), job); err == nil || !strings.Contains(err.Error(), "agents") {
		t.Errorf("several agents: got %v", err)
	}
	job.Env = debug.IdentityContinuous
	if _, err := app.Train(t.Context(), job); err == nil || !strings.Contains(err.Error(), "take ppo") {
		t.Errorf("numbers as actions: got %v", err)
	}
}

// TestResume: a run that is cut and goes on is the run that was not cut.
func TestResume(t *testing.T) {
	algotest.Resumes(t, r2d2.Algorithm, debug.Identity, 2000, "learning_starts=500", "length=6", "burn_in=2", "stride=3", "hidden=8", "units=4", "batch=8", "buffer=1000")
}
