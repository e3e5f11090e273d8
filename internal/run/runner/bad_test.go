package runner

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/rl"
)

// hosts returns an entry whose environments one makes, with the spaces of Identity.
func hosts(id string, one func(index int) env.Host) env.Entry {
	return env.Entry{ID: id, New: func(s *rl.Scope, n int, _ any) (env.Batch, error) {
		spec := env.Spec{ID: id, Obs: rl.Box{Dims: []int{4}, Low: []float64{0}, High: []float64{1}}, Action: rl.Discrete{N: 4}, Limit: 16}
		return env.Hosts(s, n, spec, func(i int) (env.Host, error) { return one(i), nil })
	}}
}

// forgetful is an environment that cannot save its state.
var forgetful = hosts("Forgetful-v0", func(int) env.Host { return &faulty{at: -1} })

// faulty is an environment that misbehaves at one of its steps.
type faulty struct {
	at, steps int
	reward    float64
	obs       float32
}

func (f *faulty) Reset(k rl.Key, obs env.Row) { obs.Float32("")[k.IntN(0, 0, 4)] = 1 }

func (f *faulty) Step(k rl.Key, action, obs env.Row) (reward float64, terminated, truncated bool) {
	f.Reset(k, obs)
	f.steps++
	if f.steps == f.at {
		obs.Float32("")[2] += f.obs
		reward = f.reward
	}
	return reward, false, false
}

// A number that is none stops the run at its step with a sentence that names
// step, environment and tensor; the last good checkpoint stays.
func TestBadNumbers(t *testing.T) {
	nan := float32(math.NaN())
	// 40 steps of each of 4 environments: the third iteration.
	for _, c := range []struct {
		name string
		host faulty
		want []string
	}{
		{"observation", faulty{at: 40, obs: nan}, []string{"step 160", "environment 3", "observation", "NaN", "element 2"}},
		{"reward", faulty{at: 40, reward: math.Inf(1)}, []string{"step 160", "environment 3", "reward", "+Inf"}},
		{"range", faulty{at: 40, obs: 7}, []string{"step 160", "environment 3", "observation", "outside"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := small(t, hosts("Bad-v0", func(i int) env.Host {
				h := faulty{at: -1}
				if i == 3 {
					h = c.host
				}
				return &h
			}), 512)
			j.CheckpointSteps = 64
			_, err := Train(t.Context(), j)
			if err == nil {
				t.Fatal("the run did not stop")
			}
			for _, part := range append(c.want, "Bad-v0", "ppo.go:", "checkpoint of step 128 is good") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
			if e, err := EvaluateRun(t.Context(), j, NewestAlone, true, 1); err != nil || e.Steps != 128 {
				t.Errorf("evaluation %+v, %v", e, err)
			}
		})
	}
}

// A loss that is not a number stops the run before it reaches the weights.
func TestBadLoss(t *testing.T) {
	j := identity(t, "learning_rate=1e30")
	_, err := Train(t.Context(), j)
	if err == nil || !strings.Contains(err.Error(), "step 64") || !strings.Contains(err.Error(), `loss "loss"`) {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(err.Error(), "before the first checkpoint") {
		t.Errorf("%q does not say what is left", err)
	}
}

// What cannot be constructed is refused, and leaves no trace.
func TestCannotStart(t *testing.T) {
	broken := env.Entry{ID: "Broken-v0", New: func(*rl.Scope, int, any) (env.Batch, error) { return nil, errors.New("no licence") }}
	panics := env.Entry{ID: "Panics-v0", New: func(*rl.Scope, int, any) (env.Batch, error) { panic("oh") }}
	for _, e := range []env.Entry{broken, panics, {ID: debug.Identity.ID, New: debug.Identity.New}} {
		j := small(t, e, 64)
		if _, err := Prepare(j); err == nil || !strings.Contains(err.Error(), e.ID) {
			t.Errorf("%s: error %v", e.ID, err)
		}
		if _, err := os.Stat(j.Dir); err == nil {
			t.Errorf("%s left a folder", e.ID)
		}
	}
}
