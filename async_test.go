package weft_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/a2c"
	"github.com/weft-rl/weft/algo/alphazero"
	"github.com/weft-rl/weft/algo/dqn"
	"github.com/weft-rl/weft/algo/impala"
	"github.com/weft-rl/weft/algo/r2d2"
	"github.com/weft-rl/weft/algo/sac"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/board"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/plan"
)

// asynchronous are the algorithms that a policy makes of others by letting replicas
// run ahead of each other.
var asynchronous = []struct {
	name  string
	of    algo.Algorithm
	plan  plan.Deployment
	small app.Job // learned in seconds
	want  float64
	full  app.Job // CartPole; with -matrix
}{
	{
		"A3C", a2c.Algorithm, plan.Deployment{Policy: "central", Async: true, Workers: 4, Staleness: 8},
		app.Job{Env: debug.Identity, Steps: 40_000, Set: []string{"envs=16", "learning_rate=3e-3"}}, 15,
		app.Job{Env: classic.CartPole, Steps: 1_000_000},
	},
	{
		"A3C, hardly stale", a2c.Algorithm, plan.Deployment{Policy: "central", Async: true, Workers: 4, Staleness: 1},
		app.Job{Env: debug.Identity, Steps: 40_000, Set: []string{"envs=16", "learning_rate=3e-3"}}, 15,
		app.Job{Env: classic.CartPole, Steps: 1_000_000},
	},
	{
		"IMPALA", impala.Algorithm, plan.Deployment{Policy: "single-learner-coarse", Async: true, Workers: 4, Staleness: 2},
		app.Job{Env: debug.Identity, Steps: 60_000, Set: []string{"envs=16", "horizon=8"}}, 15,
		app.Job{Env: classic.CartPole, Steps: 1_000_000},
	},
	{
		"Ape-X", dqn.Algorithm, plan.Deployment{Policy: "single-learner-coarse", Async: true, Workers: 4, Staleness: 4},
		app.Job{Env: debug.Identity, Steps: 16_000, Set: []string{
			"envs=8", "train_every=4", "batch=64", "hidden=32", "learning_starts=1000", "learning_rate=3e-3", "gamma=0.5", "anneal=linear",
			"target_every=256", "prioritised=true", "n_step=3",
		}}, 15,
		app.Job{Env: classic.CartPole, Set: []string{"prioritised=true", "n_step=3"}},
	},
}

// TestAsynchronous: they learn, and from nothing older than they may.
func TestAsynchronous(t *testing.T) {
	for _, c := range asynchronous {
		t.Run(c.name, func(t *testing.T) {
			if *fullMatrix {
				onCartPole(t, c.of, c.plan, c.full)
			}
			j := c.small
			j.Algorithm, j.Deployment, j.Seed, j.EvalEpisodes, j.Out = c.of, c.plan, 1, 200, filepath.Join(t.TempDir(), "run")
			if testing.Short() { // for a race detector, which sees as much in an eighth of it
				j.Steps, j.EvalEpisodes, c.want = j.Steps/8, 1, 0
			}
			r, err := app.Train(t.Context(), j)
			if err != nil {
				t.Fatal(err)
			}
			if r.EvalReturn < c.want {
				t.Errorf("return %.2f of 16, want %v", r.EvalReturn, c.want)
			}
			if n := stalest(t, j.Out); n > float64(c.plan.Staleness) {
				t.Errorf("something was %v versions old, at most %d are allowed", n, c.plan.Staleness)
			}
		})
	}
}

// onCartPole trains five seeds, of which four must balance the pole.
func onCartPole(t *testing.T, of algo.Algorithm, d plan.Deployment, j app.Job) {
	solved := 0
	for seed := range uint64(5) {
		j.Algorithm, j.Deployment, j.Seed, j.EvalEpisodes = of, d, seed+1, 100
		r, err := app.Train(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("seed %d: greedy return %.1f", j.Seed, r.EvalReturn)
		if r.EvalReturn >= 475 {
			solved++
		}
	}
	if solved < 4 {
		t.Errorf("%d of 5 seeds reach 475, want 4", solved)
	}
}

// stalest returns the largest staleness that a run logged.
func stalest(t *testing.T, run string) (most float64) {
	t.Helper()
	f, err := os.Open(filepath.Join(run, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row map[string]any
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		for name, x := range row {
			if strings.HasSuffix(name, "/staleness_max") {
				seen, most = true, max(most, x.(float64))
			}
		}
	}
	if !seen {
		t.Error("no staleness was logged")
	}
	return most
}

// stores are loops whose replay stands apart from learner and collectors. The collectors of SAC
// send to both; R2D2's learner asks the replay whether there is something to learn from.
var stores = []struct {
	name string
	of   algo.Algorithm
	env  env.Entry
	set  []string
}{
	{"dqn", dqn.Algorithm, classic.CartPole, []string{
		"envs=6", "train_every=4", "updates=2", "batch=16", "hidden=8", "learning_starts=200", "buffer=501", "prioritised=true", "actor_priorities=true", "n_step=3",
	}},
	{"sac", sac.Algorithm, classic.Pendulum, []string{"envs=6", "batch=16", "hidden=8", "learning_starts=200", "normalize_obs=true"}},
	{"r2d2", r2d2.Algorithm, classic.CartPole, []string{"envs=6", "batch=8", "hidden=8", "learning_starts=200"}},
	{"alphazero", alphazero.Algorithm, board.All[0], []string{"envs=6", "moves=4", "batch=8", "hidden=8", "learning_starts=200", "simulations=4"}},
}

// TestReplayApart: with a replay on a worker of its own a run in step has the bits of the plain
// loop; one whose collectors run ahead comes to its end, and goes on from its checkpoint.
func TestReplayApart(t *testing.T) {
	for _, c := range stores {
		t.Run(c.name, func(t *testing.T) {
			job := app.Job{Algorithm: c.of, Env: c.env, Steps: 1200, Seed: 4, Set: c.set, EvalEpisodes: 1}
			train := func(d plan.Deployment, out string) app.Result {
				j := job
				j.Deployment, j.Out = d, out
				r, err := app.Train(t.Context(), j)
				if err != nil {
					t.Fatalf("%+v: %v", d, err)
				}
				return r
			}
			want := train(plan.Deployment{}, "")
			d := plan.Deployment{Policy: "single-learner-coarse", Workers: 3, Placement: []string{"replay:local/2"}}
			if got := train(d, ""); got.StateSHA256 != want.StateSHA256 || got.WeightsSHA256 != want.WeightsSHA256 {
				t.Error("in step it ends in another state than the plain loop")
			}
			d.Async, d.Staleness, d.Queue = true, 4, 2
			dir := filepath.Join(t.TempDir(), "run")
			if r := train(d, dir); r.Steps < job.Steps || math.IsNaN(r.EvalReturn) {
				t.Errorf("asynchronous: %+v", r)
			}
			if _, err := app.Resume(t.Context(), weft.Builtin(), dir, app.Resumption{Steps: 1800}); err != nil {
				t.Errorf("resumed: %v", err)
			}
		})
	}
}
