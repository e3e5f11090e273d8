package muzero_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo/muzero"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/board"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/plan"
)

// fast returns settings by which tiny tasks are learnt in seconds, and more.
func fast(more ...string) []string {
	return append([]string{"simulations=8", "unroll=2", "td_steps=2", "updates=24", "learning_starts=500", "gamma=0.5"}, more...)
}

func TestSmallTasks(t *testing.T) {
	algotest.Solve(t, muzero.Algorithm, []algotest.Task{
		{Name: "searches", Env: debug.Identity, Set: fast(), Steps: 12_000, Want: 15.5},
		{Name: "predicts", Env: debug.Identity, Set: fast("act_by=network"), Steps: 12_000, Want: 11},
		{Name: "gumbel", Env: debug.Identity, Set: fast("search=gumbel"), Steps: 12_000, Want: 15.5},
		{Name: "legal choices", Env: debug.Masked, Set: fast(), Steps: 12_000, Want: 14},
	})
}

// TestGame: self-play without the rules, and with searches made again, wins more games of
// tic-tac-toe against a random player than it loses, within seconds.
func TestGame(t *testing.T) {
	set := []string{"envs=32", "updates=16", "gamma=1", "td_steps=9", "support=2", "noise_alpha=1", "simulations=12", "latent=32", "reanalyse=4", "learning_starts=1000"}
	algotest.Solve(t, muzero.Algorithm, []algotest.Task{
		{Name: "tic-tac-toe", Env: board.All[0], Set: set, Steps: 16_000, Want: .3},
	})
}

// small returns a run of a moment with five environments.
func small(set ...string) app.Job {
	base := []string{"envs=5", "train_every=3", "updates=2", "batch=4", "simulations=4", "hidden=8", "latent=4", "support=5", "learning_starts=30", "buffer=60", "unroll=2", "td_steps=3"}
	return app.Job{Algorithm: muzero.Algorithm, Env: classic.CartPole, Steps: 150, Set: append(base, set...)}
}

// TestParity: a run has the bits of the plain loop, however environments are spread over workers
// and wherever the search runs.
func TestParity(t *testing.T) {
	by := []plan.Deployment{{Policy: "single-learner-fine", Workers: 3}, {Policy: "gpu-only"}, {Policy: "multi-learner", Workers: 1}}
	for k := 1; k <= 5; k++ {
		by = append(by, plan.Deployment{Policy: "single-learner-coarse", Workers: k})
	}
	algotest.Equal(t, small(), by...)
	algotest.Equal(t, small("reanalyse=2", "prioritised=true", "target_every=40"), by[:4]...)
}

// TestGameParity: so it is in a game of two players.
func TestGameParity(t *testing.T) {
	job := small("reanalyse=1", "search=gumbel", "considered=4")
	job.Env = board.All[0]
	algotest.Equal(t, job, plan.Deployment{Policy: "single-learner-coarse", Workers: 2}, plan.Deployment{Policy: "gpu-only"})
}

// TestResume: a run that is cut and goes on is the run that was not cut.
func TestResume(t *testing.T) {
	algotest.Resumes(t, muzero.Algorithm, classic.CartPole, 150, small().Set...)
}

// TestRefused: sequences that do not fit, and what it cannot train.
func TestRefused(t *testing.T) {
	c := muzero.Config{Envs: 4, Unroll: 5, TDSteps: 10, Buffer: 59, LearningStarts: 100}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "at least 60") {
		t.Errorf("got %v", err)
	}
	for _, e := range []env.Entry{debug.Agents, debug.IdentityContinuous} {
		job := small()
		job.Env = e
		if _, err := app.Train(t.Context(), job); err == nil || !strings.Contains(err.Error(), "take ppo") {
			t.Errorf("%s: got %v", e.ID, err)
		}
	}
}
