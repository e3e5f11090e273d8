package app_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/debug"
)

func job() app.Job {
	return app.Job{
		Algorithm: ppo.Algorithm, Env: debug.Identity, Seed: 1, Steps: 256,
		Set: []string{"envs=4", "horizon=16", "hidden=8", "epochs=1"},
	}
}

// A Go program gets what the command line gets.
func TestLibrary(t *testing.T) {
	t.Chdir(t.TempDir())
	want := last(t, do(t, 0, tiny("--json")...))
	j := job()
	j.Out = "mine"
	var seen []app.Progress
	j.Watch = func(p app.Progress) { seen = append(seen, p) }
	r, err := app.Train(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	if r.WeightsSHA256 != want["weights_sha256"] || r.StateSHA256 != want["state_sha256"] || r.ReturnMean != want["return_mean"] {
		t.Errorf("%+v, want %v", r, want)
	}
	if !math.IsNaN(r.EvalReturn) || r.Agent == nil || r.Interrupted {
		t.Errorf("%+v", r)
	}
	if len(seen) != 4 || seen[3].Steps != 256 || len(seen[3].Metrics) == 0 {
		t.Errorf("progress %+v", seen)
	}
	contains(t, do(t, 0, "resume", "mine").out, "mine is finished")
}

func TestLibraryMistakes(t *testing.T) {
	j := job()
	j.Set, j.Options, j.Preset = []string{"gama=1", "x"}, []string{"symbls=3"}, "quick"
	_, err := app.Train(t.Context(), j)
	if err == nil {
		t.Fatal("no error")
	}
	contains(t, err.Error(), `did you mean "gamma"?`, `"x" is not of the form`, `did you mean "symbols"?`, "preset")
}

// An interrupted run that keeps nothing is over; one with a folder is not.
func TestLibraryInterrupted(t *testing.T) {
	j := job()
	j.Out = filepath.Join(t.TempDir(), "mine")
	ctx, cancel := context.WithCancel(t.Context())
	j.Watch = func(app.Progress) { cancel() }
	r, err := app.Train(ctx, j)
	if err != nil || !r.Interrupted || r.Steps != 64 {
		t.Fatalf("%+v, %v", r, err)
	}
	do(t, 0, "resume", j.Out)
	if _, err := app.Train(t.Context(), j); err == nil {
		t.Error("trained into an occupied folder")
	}
}
