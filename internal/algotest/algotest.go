// Package algotest is what the tests of the built-in algorithms have in common:
// tiny tasks that any correct learner solves, and a trained trainer to look into.
package algotest

import (
	"context"
	"math"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

// Greedy trains one seed and gives the greedy return.
func Greedy(t *testing.T, j app.Job) float64 {
	t.Helper()
	j.Seed, j.EvalEpisodes = 1, 1000
	r, err := app.Train(context.Background(), j)
	if err != nil {
		t.Fatal(err)
	}
	return r.EvalReturn
}

// Task is something to learn.
type Task struct {
	Name  string
	Env   env.Entry
	Set   []string
	Steps int64
	Want  float64 // greedy return
}

// Solve trains an algorithm on every task.
func Solve(t *testing.T, a algo.Algorithm, tasks []Task) {
	for _, c := range tasks {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if got := Greedy(t, app.Job{Algorithm: a, Env: c.Env, Set: c.Set, Steps: c.Steps}); got < c.Want {
				t.Errorf("greedy return %.2f, want %.2f", got, c.Want)
			}
		})
	}
}

// Device returns the default one.
func Device(t testing.TB) *rl.Device {
	t.Helper()
	d, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Trained returns an algorithm's trainer after some steps in an environment; with 0
// steps as it was made.
func Trained(t testing.TB, a algo.Algorithm, e env.Entry, options any, steps int64, set ...string) rl.Trainer {
	t.Helper()
	return train(t, a, e, options, steps, set, nil, nil)
}

// train trains from a state, or from the beginning, and shows every cut to see.
func train(t testing.TB, a algo.Algorithm, e env.Entry, options any, steps int64, set []string, from *rl.State, see func(rl.Cut) error) rl.Trainer {
	t.Helper()
	s := rl.NewScope(Device(t), 1)
	x, err := a.New(s, algo.On(s, e, options, nil), settings(t, a, set))
	if err != nil {
		t.Fatal(err)
	}
	run := rl.NewRun(s, steps, see)
	if from != nil {
		if err := run.Load(from); err != nil {
			t.Fatal(err)
		}
	}
	if err := rl.Train(x, run); err != nil {
		t.Fatal(err)
	}
	return x
}

// settings returns an algorithm's defaults but for some.
func settings(t testing.TB, a algo.Algorithm, set []string) any {
	t.Helper()
	c, err := Configure(a, set)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Near fails a test where a value is not what theory says.
func Near(t testing.TB, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.3f, want %.3f within %g", what, got, want, tolerance)
	}
}
