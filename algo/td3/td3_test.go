package td3_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/td3"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

var both = []algo.Algorithm{td3.Algorithm, td3.DDPG}

// fast returns settings by which tiny tasks are learnt in a second or two, changed by more.
func fast(more ...string) []string {
	out := []string{"envs=8", "train_every=2", "updates=2", "batch=64", "learning_starts=512", "buffer=10000", "learning_rate=3e-3", "gamma=0.5", "hidden=32,32"}
	out = slices.DeleteFunc(out, func(old string) bool {
		key, _, _ := strings.Cut(old, "=")
		return slices.ContainsFunc(more, func(x string) bool { return strings.HasPrefix(x, key+"=") })
	})
	return append(out, more...)
}

func TestSmallTasks(t *testing.T) {
	for _, a := range both {
		t.Run(a.Name, func(t *testing.T) {
			algotest.Solve(t, a, []algotest.Task{
				{Name: "numbers", Env: debug.IdentityContinuous, Set: fast(), Steps: 10_000, Want: 15.9},
				{Name: "three steps", Env: debug.IdentityContinuous, Set: fast("n_step=3"), Steps: 10_000, Want: 15.8},
				{Name: "half an update a step", Env: debug.IdentityContinuous, Set: fast("updates=1"), Steps: 16_000, Want: 15.8},
				{Name: "standardised", Env: debug.IdentityContinuous, Set: fast("normalize_obs=true"), Steps: 10_000, Want: 15.8},
			})
		})
	}
}

// TestBootstrap: a reward of 1 for ever is worth 1/(1-gamma) under a time limit; where episodes
// terminate a critic that cannot tell when settles at 1/(1-7/8 gamma).
func TestBootstrap(t *testing.T) {
	for _, c := range []struct {
		name, set string
		ends      bool
		want      float64
	}{
		{"limit", "n_step=1", false, 10},
		{"end", "n_step=1", true, 1 / (1 - .9*7/8)},
		{"limit, three steps", "n_step=3", false, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, n := 0.0, 0
			_, err := app.Train(t.Context(), app.Job{
				Algorithm: td3.DDPG, Env: debug.Endless, Steps: 16_000, Seed: 1,
				Options: []string{"numbers=true", "terminates=" + map[bool]string{true: "true", false: "false"}[c.ends]},
				Set: []string{
					"gamma=0.9", "learning_rate=1e-2", "anneal=linear", "hidden=8", "envs=8", "train_every=4", "updates=4", "batch=64",
					"learning_starts=200", "buffer=16000", "tau=0.05", c.set,
				},
				Watch: func(p app.Progress) {
					for _, m := range p.Metrics {
						if m.Name == "q" && p.Steps > 12_000 {
							got, n = got+m.X, n+1
						}
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			algotest.Near(t, "value", got/float64(n), c.want, .3)
		})
	}
}

// TestUntrained: at the start the policy is near the middle of the bounds, noise has a deviation of
// a tenth of half their distance, and random steps fill them evenly.
func TestUntrained(t *testing.T) {
	x := algotest.Trained(t, td3.Algorithm, classic.Pendulum, nil, 0, "envs=4096").(*td3.Trainer)
	obs := x.Env.Obs()
	read := func(a rl.Tree) []float64 { return rl.Floats(a.Leaf("")) }
	mode, _ := x.Agent().Act(rl.Key{}, obs, rl.Tree{}, true)
	act := func(random float64) []float64 {
		return read(x.Actor.Act(rl.NewKey(7), td3.ActIn{Obs: obs, Random: rl.Scalar(random)}))
	}
	greedy, noisy, random := read(mode), act(0), act(1)
	square, quarters := 0.0, [4]int{}
	for i := range greedy {
		if math.Abs(greedy[i]) > .2 {
			t.Fatalf("an untrained policy's action is %g", greedy[i])
		}
		square += (noisy[i] - greedy[i]) * (noisy[i] - greedy[i])
		quarters[min(3, int(random[i]+2))]++
	}
	algotest.Near(t, "deviation of the noise", math.Sqrt(square/float64(len(greedy))), .2, .01)
	for _, n := range quarters {
		algotest.Near(t, "part of random actions in a quarter", float64(n)/float64(len(random)), .25, .03)
	}
}

// TestRefused: actions that are no boxes, and several agents.
func TestRefused(t *testing.T) {
	for _, a := range both {
		for want, e := range map[string]app.Job{"acts in boxes": {Env: debug.Identity}, "agents": {Env: debug.Agents}} {
			e.Algorithm, e.Steps = a, 64
			if _, err := app.Train(t.Context(), e); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", a.Name, err, want)
			}
		}
	}
}

// TestAsync: collectors that wait for nobody see learning start at another time than the learner,
// and the policy is learnt all the same.
func TestAsync(t *testing.T) {
	got := algotest.Greedy(t, app.Job{
		Algorithm: td3.Algorithm, Env: debug.IdentityContinuous, Set: fast(), Steps: 16_000,
		Deployment: plan.Deployment{Policy: "single-learner-coarse", Workers: 4, Async: true},
	})
	if got < 15.5 {
		t.Errorf("greedy return %.2f, want 15.5", got)
	}
}

// TestResume: a run that is cut and goes on is the run that was not cut.
func TestResume(t *testing.T) {
	for _, a := range both {
		t.Run(a.Name, func(t *testing.T) {
			algotest.Resumes(t, a, debug.IdentityContinuous, 1600, fast("learning_starts=256", "n_step=2", "updates=3", "normalize_obs=true")...)
		})
	}
}
