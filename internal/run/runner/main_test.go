package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(device.Tests{M: m}) }

// small returns a short run of PPO: iterations of 4 environments x 16 steps.
func small(t *testing.T, e env.Entry, steps int64, set ...string) Job {
	t.Helper()
	d, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	c := ppo.Algorithm.Config()
	if err := config.Defaults(c); err != nil {
		t.Fatal(err)
	}
	var layer []config.Assignment
	for _, text := range append([]string{"envs=4", "horizon=16", "epochs=2", "minibatches=2", "hidden=16", "learning_rate=3e-3"}, set...) {
		a, err := config.ParseSet(text, "test")
		if err != nil {
			t.Fatal(err)
		}
		layer = slices.DeleteFunc(layer, func(x config.Assignment) bool { return x.Key == a.Key })
		layer = append(layer, a)
	}
	if err := config.Set(c, layer); err != nil {
		t.Fatal(err)
	}
	return Job{
		Algorithm: ppo.Algorithm, Config: c, Env: e, Device: d, Seed: 1, Steps: steps,
		Dir: filepath.Join(t.TempDir(), "run"), CheckpointEvery: time.Hour,
	}
}

func identity(t *testing.T, set ...string) Job { return small(t, debug.Identity, 512, set...) }

// again returns the job in the same folder, resumed.
func again(j Job) Job {
	j.Resume, j.Watch = true, nil
	return j
}

func train(t *testing.T, j Job) Result {
	t.Helper()
	r, err := Train(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// trainUntil interrupts a run once stop says so.
func trainUntil(t *testing.T, j Job, stop func(Report) bool) Result {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	j.Watch = &spy{iteration: func(r Report) {
		if stop(r) {
			cancel()
		}
	}}
	r, err := Train(ctx, j)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted {
		t.Fatal("the run was not interrupted")
	}
	return r
}

// spy remembers what a run tells.
type spy struct {
	iteration func(Report)
	evaluated []Evaluation
	notes     []string
	ended     int
}

func (s *spy) Begin(int64, int64) {}

func (s *spy) Iteration(r Report) {
	if s.iteration != nil {
		s.iteration(r)
	}
}
func (s *spy) Evaluating(int)         {}
func (s *spy) Evaluated(e Evaluation) { s.evaluated = append(s.evaluated, e) }
func (s *spy) Note(text string)       { s.notes = append(s.notes, text) }
func (s *spy) End()                   { s.ended++ }

// sameBits compares what must not depend on how a run came about.
func sameBits(t *testing.T, got, want Result) {
	t.Helper()
	if got.WeightsSHA256 != want.WeightsSHA256 || got.StateSHA256 != want.StateSHA256 {
		t.Errorf("weights %.8s state %.8s, want %.8s and %.8s", got.WeightsSHA256, got.StateSHA256, want.WeightsSHA256, want.StateSHA256)
	}
	numbers := func(r Result) string {
		return fmt.Sprint(r.Steps, " steps, ", r.Iter, " iterations, ", r.Episodes, " episodes, return ", r.ReturnMean)
	}
	if got, want := numbers(got), numbers(want); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// rows returns a run's metrics without those that are times.
func rows(t *testing.T, dir string) []metrics.Row {
	t.Helper()
	all, err := metrics.ReadJSONL(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].Seconds = 0
		all[i].Values = slices.DeleteFunc(all[i].Values, func(v metrics.Value) bool { return v.Name == "run/steps_per_second" })
	}
	return all
}

// files returns the names in a run's folder of checkpoints.
func files(t *testing.T, j Job) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(checkpoints(j.Dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
