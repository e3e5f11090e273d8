package ppo

import (
	"context"
	"fmt"
	"testing"

	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/plan"
)

// TestAsyncNormalised: so do they with rewards and observations that are normalised by what
// all environments did, also where that comes from some of them at a time.
func TestAsyncNormalised(t *testing.T) {
	for _, d := range []plan.Deployment{
		{Policy: "central", Workers: 3, Staleness: 6, Queue: 2},
		{Policy: "single-learner-coarse", Workers: 3, Staleness: 3, Queue: 2, Producers: 1},
		{Policy: "single-learner-coarse", Workers: 3, Staleness: 3, Queue: 2, Producers: 2},
	} {
		t.Run(fmt.Sprintf("%s/%d", d.Policy, d.Producers), func(t *testing.T) {
			d.Async = true
			j := job(t, debug.Identity, "minibatches=2", "epochs=2", "envs=16", "horizon=32", "hidden=64,64", "normalize_reward=true", "normalize_obs=true")
			r := resumed(t, &j, d)
			if r.Evaluation.Mean < 14 {
				t.Errorf("return %.2f of 16", r.Evaluation.Mean)
			}
		})
	}
}

// TestAsync: replicas that run ahead of each other learn as well, never from
// anything older than they may, and a run can be stopped and go on.
func TestAsync(t *testing.T) {
	for _, d := range []plan.Deployment{
		{Policy: "single-learner-coarse", Workers: 1, Staleness: 1, Queue: 2},
		{Policy: "single-learner-coarse", Workers: 3, Staleness: 1, Queue: 2},
		{Policy: "single-learner-coarse", Workers: 3, Staleness: 3, Queue: 4},
		{Policy: "single-learner-coarse", Workers: 4, Staleness: 4, Queue: 2, Producers: 2},
		{Policy: "central", Workers: 1, Staleness: 2, Queue: 2},
		{Policy: "central", Workers: 4, Staleness: 8, Queue: 2},
	} {
		t.Run(fmt.Sprintf("%s/%d/%d", d.Policy, d.Workers, d.Staleness), func(t *testing.T) {
			d.Async = true
			updates := []string{"minibatches=4", "epochs=4"}
			if d.Policy == "central" { // as A3C has it: a gradient of each batch
				updates = []string{"minibatches=1", "epochs=1"}
			}
			j := job(t, debug.Identity, append(updates, "envs=16", "horizon=32", "hidden=64,64")...)
			r := resumed(t, &j, d)
			if r.Exact || r.Steps < j.Steps || len(r.Figures) != d.Workers+1 {
				t.Errorf("exact %v, %d steps, %d replicas", r.Exact, r.Steps, len(r.Figures))
			}
			if r.Evaluation.Mean < 15 {
				t.Errorf("return %.2f of 16", r.Evaluation.Mean)
			}
			for _, f := range r.Figures {
				for _, e := range f.Edges {
					if e.MaxStale > int64(d.Staleness) {
						t.Errorf("%s %d took %s %d versions late, at most %d are allowed", f.Group, f.Rank, e.Edge, e.MaxStale, d.Staleness)
					}
				}
			}
		})
	}
}

// stopNear interrupts an asynchronous run after an iteration, give or take one.
func stopNear(t *testing.T, j runner.Job, iter int64) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	j.Watch = &seen{stop: func(r runner.Report) {
		if r.Iter >= iter {
			stop()
		}
	}}
	r, err := runner.Train(ctx, j)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted {
		t.Fatal("it was not interrupted")
	}
}

// resumed returns what becomes of a run that was stopped on the way and goes on.
func resumed(t *testing.T, j *runner.Job, d plan.Deployment) runner.Result {
	t.Helper()
	j.Steps, j.EvalEvery, j.EvalEpisodes, j.Dir, j.Plan = 24_576, 0, 200, t.TempDir(), by(d)
	stopNear(t, *j, 6)
	j.Resume = true
	r, err := runner.Train(context.Background(), *j)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
