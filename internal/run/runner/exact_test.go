package runner

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/env/wrap"
)

// kinds are runs that keep every kind of state there is.
var kinds = []struct {
	name  string
	env   env.Entry
	steps int64
	set   []string
}{
	{"identity", debug.Identity, 512, nil},
	{"cartpole", classic.CartPole, 1024, []string{"target_kl=0.01"}},
	{"recurrent", debug.Memory, 512, []string{"memory=8"}},
	{"normalised", classic.Pendulum, 1024, []string{"normalize_obs=true", "normalize_reward=true"}},
	{"masked", debug.Masked, 512, []string{"shared=true"}},
	{"host", debug.Host, 512, nil},
	{"wrapped", wrap.Entry(classic.Pendulum, wrap.List{
		wrap.RescaleAction(), wrap.NormalizeObs(10), wrap.NormalizeReward(.99), wrap.FrameStack(2), wrap.TimeLimit(30),
	}, ""), 512, nil},
}

// A run that is interrupted, and resumed, several times ends in the same bits and
// has written the same metrics as one that was not.
func TestResume(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			whole := small(t, k.env, k.steps, k.set...)
			want := train(t, whole)

			broken := small(t, k.env, k.steps, k.set...)
			stops := []int64{1, 2, want.Iter / 2, want.Iter - 1}
			for i, at := range stops {
				j := broken
				j.Resume = i > 0
				r := trainUntil(t, j, func(r Report) bool { return r.Iter == at })
				if r.Iter != at {
					t.Errorf("stopped after iteration %d, want %d", r.Iter, at)
				}
			}
			sameBits(t, train(t, again(broken)), want)
			if got, want := rows(t, broken.Dir), rows(t, whole.Dir); !reflect.DeepEqual(got, want) {
				t.Errorf("metrics differ:\n%v\n%v", got, want)
			}
		})
	}
}

// The number of threads and what else happens does not enter a result; the seed
// does.
func TestSameSeedSameBits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			var results []Result
			for _, threads := range []int{1, 2} {
				runtime.GOMAXPROCS(threads)
				j := small(t, k.env, 256, k.set...)
				j.Dir = ""
				results = append(results, train(t, j))
			}
			sameBits(t, results[1], results[0])
			j := small(t, k.env, 256, k.set...)
			j.Dir, j.Seed = "", 2
			if other := train(t, j); other.WeightsSHA256 == results[0].WeightsSHA256 {
				t.Error("another seed gave the same weights")
			}
		})
	}
}

// Interrupted before its first iteration, a run has a checkpoint all the same.
func TestInterruptedAtOnce(t *testing.T) {
	whole := identity(t)
	want := train(t, whole)
	j := identity(t)
	s, err := Prepare(j)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Train(canceled(t))
	if err != nil || !r.Interrupted || r.Steps != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := fmt.Sprint(files(t, j)); got != "[step-000000000000.safetensors]" {
		t.Error(got)
	}
	sameBits(t, train(t, again(j)), want)
}

// A run of more steps is another run, unless nothing depends on the budget.
func TestExtend(t *testing.T) {
	constant := func() Job { return identity(t, "anneal=constant") }
	want := train(t, constant())
	j := constant()
	j.Steps = 256
	train(t, j)
	j = again(j)
	j.Steps = 512
	sameBits(t, train(t, j), want)
}

func TestFinished(t *testing.T) {
	j := identity(t)
	want := train(t, j)
	s, err := Prepare(again(j))
	if err != nil {
		t.Fatal(err)
	}
	if !s.Finished() || s.Done() != 512 {
		t.Errorf("finished %v, done %d", s.Finished(), s.Done())
	}
	got, err := s.Finish()
	if err != nil {
		t.Fatal(err)
	}
	sameBits(t, got, want)
	if got.Seconds <= 0 || got.StepsPerSecond <= 0 {
		t.Errorf("%v s, %v steps/s", got.Seconds, got.StepsPerSecond)
	}
}

// The budget is met in whole iterations.
func TestBudgetRoundedUp(t *testing.T) {
	j := identity(t)
	j.Dir, j.Steps = "", 100
	if r := train(t, j); r.Steps != 128 || r.Iter != 2 {
		t.Errorf("%d steps in %d iterations", r.Steps, r.Iter)
	}
}
