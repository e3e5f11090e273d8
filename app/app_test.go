package app_test

import (
	"math"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/device"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(device.Tests{M: m}) }

func job() app.Job {
	return app.Job{
		Algorithm: ppo.Algorithm, Env: debug.Identity, Seed: 1, Steps: 256,
		Set: []string{"envs=4", "horizon=16", "hidden=8", "epochs=1"},
	}
}

// TestMistakes: everything that is wrong with a job is said at once, before anything starts.
func TestMistakes(t *testing.T) {
	j := job()
	j.Set, j.Options, j.Preset = []string{"gama=1", "x"}, []string{"symbls=3"}, "quick"
	_, err := app.Train(t.Context(), j)
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{`did you mean "gamma"?`, `"x" is not of the form`, `did you mean "symbols"?`, "preset"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

// TestRepeats: a job that keeps nothing ends in the same bits every time, and tells every
// iteration.
func TestRepeats(t *testing.T) {
	var results []app.Result
	for range 2 {
		seen := 0
		j := job()
		j.Watch = func(app.Progress) { seen++ }
		r, err := app.Train(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		if seen != 4 || r.Steps != 256 || r.Interrupted || !math.IsNaN(r.EvalReturn) || r.Agent == nil {
			t.Errorf("%d iterations, %+v", seen, r)
		}
		results = append(results, r)
	}
	if results[0].WeightsSHA256 != results[1].WeightsSHA256 || results[0].StateSHA256 != results[1].StateSHA256 {
		t.Errorf("%+v and %+v", results[0], results[1])
	}
}
