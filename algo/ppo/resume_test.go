package ppo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(device.Tests{M: m}) }

// stopAt trains until an iteration is done, and is interrupted there.
func stopAt(t *testing.T, j runner.Job, iter int64) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	j.Watch = &seen{stop: func(r runner.Report) {
		if r.Iter == iter {
			stop()
		}
	}}
	r, err := runner.Train(ctx, j)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted || r.Iter != iter {
		t.Fatalf("stopped after iteration %d (interrupted: %v), want %d", r.Iter, r.Interrupted, iter)
	}
}

// TestResumeElsewhere: a run goes on under another policy with another number of
// workers, to the bits of one that was never interrupted.
func TestResumeElsewhere(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			j := job(t, c.env, c.set...)
			j.EvalEpisodes = 0
			plain := trained(t, j)

			device := "gpu-only"
			if c.name == "host" {
				device = "plain"
			}
			j.Dir = t.TempDir()
			for i, d := range []plan.Deployment{
				{Policy: "single-learner-coarse", Workers: 3}, {Policy: device, Workers: 1},
				{Policy: "single-learner-fine", Workers: 5}, {Policy: "single-learner-coarse", Workers: 8},
			} {
				d.Queue = 2
				j.Plan, j.Resume = by(d), i > 0
				if i < 3 {
					stopAt(t, j, int64(i+1))
					continue
				}
				got := trained(t, j)
				got.rows = append(plain.rows[:3:3], got.rows...) // those that others told
				equal(t, got, plain)
			}
		})
	}
}

// broken is an environment that fails in one place, at one time.
type broken struct {
	env.Host
	index, steps int
}

var errWheel = errors.New("the wheel came off")

func (b *broken) Step(k rl.Key, action, obs env.Row) (float64, bool, bool) {
	if b.steps++; b.index == 7 && b.steps == 20 {
		rl.Fail(errWheel)
	}
	obs.Float32("")[0] = float32(b.steps % 5)
	return 1, b.steps%5 == 0, false
}

func (b *broken) Reset(_ rl.Key, obs env.Row) { obs.Float32("")[0] = 0 }

func (b *broken) MarshalBinary() ([]byte, error) { return []byte{byte(b.steps)}, nil }

func (b *broken) UnmarshalBinary(d []byte) error {
	b.steps = int(d[0])
	return nil
}

var brokenEnv = env.Entry{ID: "Broken-v0", New: func(s *rl.Scope, n int, _ any) (env.Batch, error) {
	spec := env.Spec{ID: "Broken-v0", Obs: rl.Box{Low: []float64{0}, High: []float64{9}, Dims: []int{1}}, Action: rl.Discrete{N: 2}}
	return env.Hosts(s, n, spec, func(i int) (env.Host, error) { return &broken{index: i}, nil })
}}

// TestFailure: an environment of one replica fails, and the run says so and no
// more, whoever else was stopped by it.
func TestFailure(t *testing.T) {
	for _, p := range []string{"plain", "single-learner-coarse", "single-learner-fine", "multi-learner", "central"} {
		t.Run(p, func(t *testing.T) {
			j := job(t, brokenEnv)
			j.Dir = t.TempDir()
			j.CheckpointSteps = 88
			if p != "plain" {
				j.Plan = by(plan.Deployment{Policy: p, Workers: 3, Queue: 2})
			}
			_, err := runner.Train(context.Background(), j)
			if !errors.Is(err, errWheel) || strings.Contains(fmt.Sprint(err), "stopped") || !strings.Contains(fmt.Sprint(err), "checkpoint of step 176 is good") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestNotANumber: a device program stops when a loss is not a number, and the last
// checkpoint before it is good.
func TestNotANumber(t *testing.T) {
	for _, p := range []string{"plain", "gpu-only"} {
		j := job(t, classic.CartPole, "learning_rate=1e38")
		j.Dir, j.CheckpointSteps = t.TempDir(), 88
		j.Plan = by(plan.Deployment{Policy: p, Workers: 1})
		_, err := runner.Train(context.Background(), j)
		if err == nil || !strings.HasPrefix(err.Error(), lineOf(t, "l.loss.Grad(")+": ") || !strings.Contains(err.Error(), `loss "loss"`) {
			t.Errorf("%s: got %v", p, err)
		}
	}
}

// lineOf returns where the algorithm's source has a text.
func lineOf(t *testing.T, text string) string {
	t.Helper()
	source, err := os.ReadFile("ppo.go")
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(source), text)
	if !found {
		t.Fatalf("ppo.go has no %q", text)
	}
	return fmt.Sprintf("ppo.go:%d", 1+strings.Count(before, "\n"))
}
