package sac_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo/sac"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

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
	choices := []string{"auto=false", "alpha=0.02"}
	algotest.Solve(t, sac.Algorithm, []algotest.Task{
		{Name: "numbers", Env: debug.IdentityContinuous, Set: fast(), Steps: 10_000, Want: 15.8},
		{Name: "numbers, three steps", Env: debug.IdentityContinuous, Set: fast("n_step=3"), Steps: 10_000, Want: 15.5},
		{Name: "numbers, delayed policy", Env: debug.IdentityContinuous, Set: fast("delay=2"), Steps: 10_000, Want: 15.8},
		{Name: "numbers, one critic", Env: debug.IdentityContinuous, Set: fast("critics=1"), Steps: 10_000, Want: 15.8},
		{Name: "numbers, half an update a step", Env: debug.IdentityContinuous, Set: fast("updates=1"), Steps: 16_000, Want: 15.5},
		{Name: "choices", Env: debug.Identity, Set: fast(choices...), Steps: 10_000, Want: 15.9},
		{Name: "choices, learnt temperature", Env: debug.Identity, Set: fast("entropy=0.1"), Steps: 16_000, Want: 15.5},
		{Name: "legal choices", Env: debug.Masked, Set: fast(choices...), Steps: 16_000, Want: 15.5},
		{Name: "host", Env: debug.Host, Set: fast(choices...), Steps: 10_000, Want: 15.9},
	})
}

// logged trains, and returns the mean of a metric over the last iterations.
func logged(t *testing.T, name string, e env.Entry, options []string, steps int64, set ...string) float64 {
	t.Helper()
	var last []float64
	_, err := app.Train(t.Context(), app.Job{
		Algorithm: sac.Algorithm, Env: e, Options: options, Steps: steps, Seed: 1, Set: set,
		Watch: func(p app.Progress) {
			for _, m := range p.Metrics {
				if m.Name == name {
					last = append(last, m.X)
				}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	last = last[max(0, len(last)-100):]
	sum := 0.0
	for _, x := range last {
		sum += x
	}
	return sum / float64(len(last))
}

// TestBootstrap: a reward of 1 for ever is worth 1/(1-gamma) under a time limit; where episodes
// terminate a critic that cannot tell when settles at 1/(1-7/8 gamma). At a tiny temperature
// entropy is worth nothing; at .1, where nothing is decided, each of the steps to come adds
// log(2)/10.
func TestBootstrap(t *testing.T) {
	for _, c := range []struct {
		name, ends, set, alpha string
		want                   float64
	}{
		{"limit", "false", "n_step=1", "1e-6", 10},
		{"end", "true", "n_step=1", "1e-6", 1 / (1 - .9*7/8)},
		{"limit, three steps", "false", "n_step=3", "1e-6", 10},
		{"entropy", "false", "n_step=1", "0.1", 10 + .9/(1-.9)*.1*math.Ln2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := logged(t, "q", debug.Endless, []string{"terminates=" + c.ends}, 16_000,
				"gamma=0.9", "learning_rate=1e-2", "anneal=linear", "hidden=8", "envs=8", "train_every=4", "updates=4", "batch=64",
				"learning_starts=200", "buffer=16000", "tau=0.05", "auto=false", "alpha="+c.alpha, c.set)
			algotest.Near(t, "value", got, c.want, .3)
		})
	}
}

// TestEntropy: the temperature is learnt until the policy keeps the entropy that was asked for, by
// default minus one for each number of an action.
func TestEntropy(t *testing.T) {
	for set, want := range map[string]float64{"entropy=0": -1, "entropy=0.3": .3} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			got := logged(t, "entropy", debug.IdentityContinuous, nil, 16_000, fast("learning_rate=1e-2", set)...)
			algotest.Near(t, "entropy", got, want, .1)
		})
	}
}

// TestUntrained: at the start the policy is near the middle of the bounds with a deviation of 1
// before squashing, and random steps fill the bounds evenly.
func TestUntrained(t *testing.T) {
	x := algotest.Trained(t, sac.Algorithm, debug.IdentityContinuous, nil, 0, "envs=4096").(*sac.Trainer)
	obs := x.Env.Obs()
	greedy, _ := x.Agent().Act(rl.Key{}, obs, rl.Tree{}, true)
	for _, a := range rl.Read[float32](greedy.Leaf("")) {
		if math.Abs(float64(a)) > .2 {
			t.Fatalf("the mode of an untrained policy is %g", a)
		}
	}
	drawn := rl.Read[float32](x.Actor.Act(rl.NewKey(7), sac.ActIn{Obs: obs, Random: rl.Scalar(1)}).Leaf(""))
	quarters := [4]int{}
	for _, a := range drawn {
		quarters[min(3, int((a+1)*2))]++
	}
	for _, n := range quarters {
		algotest.Near(t, "part of random actions in a quarter", float64(n)/float64(len(drawn)), .25, .03)
	}
}

// TestRefused: settings that do not go together, and actions that SAC cannot take.
func TestRefused(t *testing.T) {
	c := sac.Config{Experience: replay.Experience{Envs: 4, NStep: 3, Buffer: 11, LearningStarts: 100}}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "at least 12") {
		t.Errorf("got %v", err)
	}
	job := app.Job{Algorithm: sac.Algorithm, Env: debug.Agents, Steps: 64}
	if _, err := app.Train(t.Context(), job); err == nil || !strings.Contains(err.Error(), "agents") {
		t.Errorf("several agents: got %v", err)
	}
}

// TestAsync: collectors that wait for nobody see learning start at another time than the learner,
// and the policy is learnt all the same.
func TestAsync(t *testing.T) {
	got := algotest.Greedy(t, app.Job{
		Algorithm: sac.Algorithm, Env: debug.IdentityContinuous, Set: fast(), Steps: 16_000,
		Deployment: plan.Deployment{Policy: "single-learner-coarse", Workers: 4, Async: true},
	})
	if got < 15 {
		t.Errorf("greedy return %.2f, want 15", got)
	}
}

// TestResume: a run that is cut and goes on is the run that was not cut.
func TestResume(t *testing.T) {
	algotest.Resumes(t, sac.Algorithm, debug.IdentityContinuous, 1600, fast("learning_starts=256", "n_step=2")...)
}
