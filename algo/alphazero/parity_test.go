package alphazero_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo/alphazero"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/board"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/plan"
)

// small returns a run of a moment with five games, and other settings.
func small(set ...string) app.Job {
	base := []string{"envs=5", "moves=3", "updates=2", "batch=8", "simulations=5", "hidden=8", "learning_starts=45", "buffer=60"}
	base = slices.DeleteFunc(base, func(x string) bool {
		key, _, _ := strings.Cut(x, "=")
		return slices.ContainsFunc(set, func(y string) bool { return strings.HasPrefix(y, key+"=") })
	})
	return app.Job{Algorithm: alphazero.Algorithm, Env: tictactoe, Steps: 150, Set: append(base, set...)}
}

var tictactoe = board.All[0]

// TestParity: self-play has the bits of the plain loop, however games are spread over workers and
// wherever the search runs.
func TestParity(t *testing.T) {
	for _, set := range [][]string{{}, {"search=gumbel", "normalise=true"}} {
		by := []plan.Deployment{
			{Policy: "single-learner-fine", Workers: 3}, {Policy: "gpu-only"}, {Policy: "multi-learner", Workers: 1},
		}
		for k := 1; k <= 5; k++ {
			by = append(by, plan.Deployment{Policy: "single-learner-coarse", Workers: k})
		}
		algotest.Equal(t, small(set...), by...)
	}
}

// TestAsynchronous: actors that do not wait for the learner come to the end of the budget.
func TestAsynchronous(t *testing.T) {
	job := small("envs=6", "learning_starts=54")
	job.Deployment = plan.Deployment{Policy: "single-learner-coarse", Workers: 3, Async: true, Staleness: 4, Queue: 2}
	job.EvalEpisodes = 1
	r, err := app.Train(t.Context(), job)
	if err != nil || r.Steps < job.Steps || math.IsNaN(r.EvalReturn) {
		t.Errorf("it ends with %+v: %v", r, err)
	}
}

// TestResume: a run that is cut and goes on is the run that was not cut.
func TestResume(t *testing.T) {
	algotest.Resumes(t, alphazero.Algorithm, tictactoe, 150, small().Set...)
}

// TestRefused: environments that are no games, or no games to search in, and settings that do not
// go together.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		env  env.Entry
		set  string
		want string
	}{
		{debug.Identity, "hidden=8", "use a game of board/"},
		{board.All[2], "hidden=8", "see everything"},
		{tictactoe, "learning_starts=40", "at least 45"},
		{tictactoe, "buffer=44", "at least 45"},
	} {
		job := small(c.set)
		job.Env = c.env
		if _, err := app.Train(t.Context(), job); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: got %v, want %q", c.env.ID, c.set, err, c.want)
		}
	}
	c := alphazero.Config{}
	c.Search, c.Simulations, c.Considered = "gumbel", 1, 4
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "simulations=2") {
		t.Errorf("got %v", err)
	}
}
