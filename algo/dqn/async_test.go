package dqn_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo/dqn"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/plan"
)

// limited returns an asynchronous run of four collectors that samples 4 rows for each inserted, or
// as many as the deployment asks for.
func limited(out string, perInsert float64, set ...string) app.Job {
	set = append([]string{"envs=8", "train_every=4", "batch=64", "updates=2", "hidden=32", "learning_starts=500", "target_every=200"}, set...)
	return app.Job{
		Algorithm: dqn.Algorithm, Env: debug.Identity, Steps: 20_000, Seed: 1, Out: out, Set: set,
		Deployment: plan.Deployment{Policy: "single-learner-coarse", Workers: 4, Async: true, Staleness: 4, Queue: 2, SamplesPerInsert: perInsert, Tolerance: .1},
	}
}

// lastOf returns the last value of a metric in a run's folder.
func lastOf(t *testing.T, dir, name string) (x float64) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x = math.NaN()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if now, ok := line[name].(float64); ok {
			x = now
		}
	}
	return x
}

// TestSamplesPerInsert: a deployment's ratio is kept and told, the loop's own is what there is
// without one, and it learns.
func TestSamplesPerInsert(t *testing.T) {
	for _, c := range []struct{ asked, want float64 }{{0, 4}, {4, 4}, {7, 7}} {
		out := t.TempDir()
		r, err := app.Train(t.Context(), limited(out, c.asked))
		if err != nil {
			t.Fatal(err)
		}
		if got := lastOf(t, out, "replay/samples_per_insert"); math.Abs(got-c.want) > .05*c.want {
			t.Errorf("%g asked for: %g samples per insert, want %g", c.asked, got, c.want)
		}
		if r.EvalReturn < 14 {
			t.Errorf("%g asked for: return %.2f of 16", c.asked, r.EvalReturn)
		}
	}
}

// TestNeverMet: a ratio that cannot be kept is refused before the run begins.
func TestNeverMet(t *testing.T) {
	for want, j := range map[string]app.Job{
		"3 can never be met":         limited("", 3),
		"17 can never be met":        limited("", 17),
		"3 steps of an environment":  limited("", 7, "n_step=3"),
		"leave one of them out":      func() app.Job { j := limited("", 7); j.Deployment.Producers = 2; return j }(),
		"no replay table is where":   func() app.Job { j := limited("", 7); j.Deployment.Policy = "central"; return j }(),
		"it is for asynchronous run": func() app.Job { j := limited("", 7); j.Deployment.Async = false; return j }(),
	} {
		if _, err := app.Train(t.Context(), j); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want ...%s...", err, want)
		}
	}
}
