package dqn_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/dqn"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

func TestSmallTasks(t *testing.T) {
	alike := func(more ...string) []string {
		return append([]string{"batch=64", "hidden=32", "learning_starts=1000", "learning_rate=3e-3", "gamma=0.5", "anneal=linear"}, more...)
	}
	fast := func(more ...string) []string {
		return append(alike("envs=8", "train_every=4", "target_every=256"), more...)
	}
	const steps = 16_000
	algotest.Solve(t, dqn.Algorithm, []algotest.Task{
		{Name: "plain", Env: debug.Identity, Set: fast(), Steps: steps, Want: 15.9},
		{Name: "double", Env: debug.Identity, Set: fast("double=true"), Steps: steps, Want: 15.9},
		{Name: "dueling", Env: debug.Identity, Set: fast("dueling=true"), Steps: steps, Want: 15.9},
		{Name: "prioritised", Env: debug.Identity, Set: fast("prioritised=true"), Steps: steps, Want: 15.9},
		{Name: "actors' priorities", Env: debug.Identity, Set: fast("prioritised=true", "actor_priorities=true", "n_step=2"), Steps: steps, Want: 15.9},
		{Name: "three steps", Env: debug.Identity, Set: fast("n_step=3"), Steps: steps, Want: 15.9},
		{Name: "soft target", Env: debug.Identity, Set: alike("envs=8", "train_every=4", "target_every=1", "tau=0.05"), Steps: steps, Want: 15.9},
		{Name: "Huber", Env: debug.Identity, Set: fast("huber=1", "max_grad_norm=10"), Steps: steps, Want: 15.9},
		{Name: "all of it", Env: debug.Identity, Set: fast("double=true", "dueling=true", "prioritised=true", "n_step=3"), Steps: steps, Want: 15.9},
		{Name: "one environment", Env: debug.Identity, Set: alike("envs=1", "train_every=10", "target_every=500"), Steps: steps, Want: 15.9},
		{Name: "masked", Env: debug.Masked, Set: fast("double=true"), Steps: steps, Want: 15.5},
		{Name: "categorical", Env: debug.Identity, Set: fast("distribution=categorical", "v_min=0", "v_max=2.5", "atoms=21"), Steps: steps, Want: 15.9},
		{Name: "quantiles", Env: debug.Identity, Set: fast("distribution=quantile", "quantiles=8", "huber=1"), Steps: steps, Want: 15.9},
		{Name: "noisy", Env: debug.Identity, Set: fast("noisy=true", "epsilon_start=0", "epsilon_end=0"), Steps: steps, Want: 15.9},
		{Name: "masked, categorical", Env: debug.Masked, Set: fast("double=true", "distribution=categorical", "v_min=0", "v_max=2.5", "atoms=21"), Steps: steps, Want: 15.5},
		{Name: "masked, quantiles", Env: debug.Masked, Set: fast("distribution=quantile", "quantiles=8"), Steps: steps, Want: 15.5},
		{Name: "masked, noisy", Env: debug.Masked, Set: fast("noisy=true", "dueling=true", "epsilon_start=0", "epsilon_end=0"), Steps: steps, Want: 15.5},
		{Name: "host", Env: debug.Host, Set: fast(), Steps: steps, Want: 15.9},
	})
}

// TestFamily: the algorithms by other names solve a small task, two with few settings beside their
// defaults.
func TestFamily(t *testing.T) {
	set := []string{"envs=8", "train_every=4", "batch=64", "hidden=32", "learning_starts=1000", "target_every=256", "learning_rate=3e-3", "gamma=0.5", "anneal=linear"}
	for _, a := range []algo.Algorithm{dqn.C51, dqn.QRDQN, dqn.Rainbow} {
		more := set
		if a.Name != "qrdqn" {
			more = append(slices.Clone(set), "v_min=0", "v_max=2.5", "atoms=21")
		}
		t.Run(a.Name, func(t *testing.T) {
			algotest.Solve(t, a, []algotest.Task{{Name: "identity", Env: debug.Identity, Set: more, Steps: 16_000, Want: 15.9}})
		})
	}
}

// TestDefaults: each of them is DQN with other defaults, and with DQN's where it gives none.
func TestDefaults(t *testing.T) {
	configured := func(a algo.Algorithm) any {
		c, err := algotest.Configure(a, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	plain := *configured(dqn.Algorithm).(*dqn.Config)
	c51, quantiles, rainbow := plain, plain, plain
	c51.Distribution, c51.Atoms, c51.VMin, c51.VMax, c51.AdamEps = "categorical", 101, -100, 100, .01/128
	quantiles.Distribution, quantiles.Quantiles, quantiles.Huber, quantiles.AdamEps = "quantile", 25, 1, .01/128
	rainbow.Distribution, rainbow.VMin, rainbow.VMax, rainbow.NStep = "categorical", -100, 100, 3
	rainbow.Double, rainbow.Dueling, rainbow.Prioritised, rainbow.Noisy = true, true, true, true
	rainbow.EpsilonStart, rainbow.EpsilonEnd = 0, 0
	for _, x := range []struct{ got, want dqn.Config }{
		{configured(dqn.C51).(*dqn.C51Config).Config, c51},
		{configured(dqn.QRDQN).(*dqn.QRDQNConfig).Config, quantiles},
		{configured(dqn.Rainbow).(*dqn.RainbowConfig).Config, rainbow},
	} {
		if !reflect.DeepEqual(x.got, x.want) {
			t.Errorf("defaults %+v, want %+v", x.got, x.want)
		}
	}
}

// TestNoise: while acting all environments that see the same have the same noise, which another key
// changes; greedy actions and values have none.
func TestNoise(t *testing.T) {
	x := algotest.Trained(t, dqn.Rainbow, debug.Endless, nil, 0, "envs=64", "sigma=2").(*dqn.Trainer)
	obs, zero := rl.Map(x.Env.Obs(), rl.Zero), rl.Scalar(0)
	acts, greedy := map[int32]int{}, map[int32]int{}
	for i := range 50 {
		a := rl.Read[int32](x.Actor.Act(rl.NewKey(uint64(i)), dqn.ActIn{Obs: obs, Epsilon: zero}).Leaf(""))
		if slices.Min(a) != slices.Max(a) {
			t.Fatalf("environments that see the same do %v", a)
		}
		best, _ := x.Agent().Act(rl.NewKey(uint64(i)), obs, rl.Tree{}, true)
		acts[a[0]]++
		greedy[rl.Read[int32](best.Leaf(""))[0]]++
	}
	if len(acts) < 2 || len(greedy) != 1 {
		t.Errorf("actions with noise %v, greedy ones %v", acts, greedy)
	}
}

// TestCartPole: some tens of thousands of steps are far above chance, which is 22.
func TestCartPole(t *testing.T) {
	t.Parallel()
	got := algotest.Greedy(t, app.Job{Algorithm: dqn.Algorithm, Env: classic.CartPole, Steps: 30_000})
	if got < 150 {
		t.Errorf("greedy return %.1f, want 150", got)
	}
}

// TestBootstrap: a reward of 1 for ever is worth 1/(1-gamma) under a time limit.
// Where episodes terminate, n steps before the end it is worth (1-gamma^n)/
// (1-gamma); nothing tells n, and a network that predicts its own mean settles at
// 1/(1-7/8 gamma).
func TestBootstrap(t *testing.T) {
	for _, c := range []struct {
		name       string
		terminates bool
		set        string
		want       float64
	}{
		{"limit", false, "n_step=1", 10},
		{"end", true, "n_step=1", 1 / (1 - .9*7/8)},
		{"limit, three steps", false, "n_step=3", 10},
		{"limit, prioritised", false, "prioritised=true", 10},
		{"limit, categorical", false, "distribution=categorical v_min=0 v_max=12 atoms=25", 10},
		{"end, categorical", true, "distribution=categorical v_min=0 v_max=12 atoms=25", 1 / (1 - .9*7/8)},
		{"limit, quantiles", false, "distribution=quantile quantiles=5 huber=1", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := append(strings.Fields(c.set),
				"gamma=0.9", "learning_rate=1e-2", "anneal=linear", "hidden=8", "envs=8", "train_every=4", "batch=64", "learning_starts=200", "target_every=64")
			x := algotest.Trained(t, dqn.Algorithm, debug.Endless, &debug.EndlessOptions{Terminates: c.terminates}, 24_000, set...).(*dqn.Trainer)
			algotest.Near(t, "value", value(x), c.want, .3)
		})
	}
}

// value returns what the best action is worth.
func value(x *dqn.Trainer) float64 {
	q := rl.Read[float32](x.Learner.Values(x.Env.Obs()))
	return float64(max(q[0], q[1]))
}

// TestEpsilon: of what an actor does, the right part is random, and never illegal:
// the environment would stop the run.
func TestEpsilon(t *testing.T) {
	x := algotest.Trained(t, dqn.Algorithm, debug.Masked, &debug.MaskedOptions{Actions: 4}, 0, "envs=512").(*dqn.Trainer)
	for _, epsilon := range []float64{0, .25, 1} {
		different, legal := 0, 0.0
		obs := x.Env.Obs()
		for i := range 20 {
			greedy, _ := x.Agent().Act(rl.Key{}, obs, rl.Tree{}, true)
			act := x.Actor.Act(rl.NewKey(uint64(i)), dqn.ActIn{Obs: obs, Epsilon: rl.Scalar(epsilon)})
			a, b := rl.Read[int32](greedy.Leaf("")), rl.Read[int32](act.Leaf(""))
			mask := rl.Read[bool](obs.Legal.Leaf(""))
			for e := range a {
				open := 0
				for _, ok := range mask[4*e : 4*e+4] {
					if ok {
						open++
					}
				}
				legal += 1 - 1/float64(open) // chance that a random action is another one
				if a[e] != b[e] {
					different++
				}
			}
			obs = x.Env.Step(act).Obs
		}
		algotest.Near(t, "part of other actions", float64(different)/(20*512), epsilon*legal/(20*512), .02)
	}
}

// TestSchedules: exploration ends when it should, corrections are full at the end.
func TestSchedules(t *testing.T) {
	c := dqn.Config{Exploring: nn.Exploring{EpsilonStart: 1, EpsilonEnd: .1, Exploration: .5}, Prioritising: nn.Prioritising{Beta: .4}}
	for _, x := range []struct{ progress, epsilon, beta float64 }{{0, 1, .4}, {.25, .55, .55}, {.5, .1, .7}, {.75, .1, .85}, {1, .1, 1}} {
		algotest.Near(t, "epsilon", c.Epsilon(x.progress), x.epsilon, 1e-12)
		algotest.Near(t, "beta", c.BetaAt(x.progress), x.beta, 1e-12)
	}
}

// TestRefused: settings that do not go together, and actions that are no choices.
func TestRefused(t *testing.T) {
	c := dqn.Config{Envs: 4, NStep: 3, Buffer: 11, LearningStarts: 100}
	if c.Validate() == nil {
		t.Error("a buffer that is too small was accepted")
	}
	c = dqn.Config{Envs: 4, NStep: 3, Buffer: 100, LearningStarts: 11}
	if c.Validate() == nil {
		t.Error("learning before there is a row was accepted")
	}
	c = dqn.Config{Envs: 1, NStep: 1, Buffer: 100, LearningStarts: 100, Distributional: nn.Distributional{Distribution: "categorical", VMin: 1, VMax: 1}}
	if c.Validate() == nil {
		t.Error("atoms that are all the same were accepted")
	}
	c = dqn.Config{Envs: 1, NStep: 1, Buffer: 100, LearningStarts: 100, ActorPriorities: true}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "set prioritised=true as well") {
		t.Errorf("priorities of rows that are drawn uniformly: %v", err)
	}
	_, err := app.Train(t.Context(), app.Job{Algorithm: dqn.Algorithm, Env: classic.Pendulum, Steps: 100})
	if err == nil {
		t.Error("continuous actions were accepted")
	}
	_, err = app.Train(t.Context(), app.Job{
		Algorithm: dqn.Algorithm, Env: classic.CartPole, Steps: 100, Set: []string{"envs=4", "n_step=3"},
		Deployment: plan.Deployment{Policy: "single-learner-coarse", Workers: 2, Async: true, Producers: 1},
	})
	if err == nil || !strings.Contains(err.Error(), "3 steps of an environment") {
		t.Errorf("rows of several steps, of one replica after the other: %v", err)
	}
}

// TestActorPriorities: wherever priorities are computed and rows inserted, the bits are those of
// the plain loop; priorities of rows whose last step has not come yet are part of the state.
func TestActorPriorities(t *testing.T) {
	train := func(policy string, workers int) app.Result {
		r, err := app.Train(t.Context(), app.Job{
			Algorithm: dqn.Rainbow, Env: classic.CartPole, Steps: 1200, Seed: 3, EvalEpisodes: 1,
			Set:        []string{"envs=4", "train_every=4", "batch=16", "hidden=8", "learning_starts=200", "buffer=301", "actor_priorities=true"},
			Deployment: plan.Deployment{Policy: policy, Workers: workers},
		})
		if err != nil {
			t.Fatalf("%s: %v", policy, err)
		}
		return r
	}
	want := train("plain", 1)
	for policy, workers := range map[string]int{"single-learner-coarse": 3, "single-learner-fine": 2, "gpu-only": 1} {
		if got := train(policy, workers); got.StateSHA256 != want.StateSHA256 || got.WeightsSHA256 != want.WeightsSHA256 {
			t.Errorf("%s ends in another state", policy)
		}
	}
}

// TestResume: the table is part of the state, while it fills and when it is full.
func TestResume(t *testing.T) {
	for name, set := range map[string][]string{
		"uniform":     {"buffer=200"},
		"rainbow":     {"buffer=200", "distribution=categorical", "noisy=true", "dueling=true", "prioritised=true", "double=true"},
		"prioritised": {"buffer=10000", "prioritised=true", "n_step=3", "double=true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			algotest.Resumes(t, dqn.Algorithm, debug.Identity, 1000,
				append(set, "envs=3", "train_every=4", "batch=16", "hidden=8", "learning_starts=100", "target_every=50")...)
		})
	}
}
