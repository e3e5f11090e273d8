package gail

import (
	"math"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/app"
	_ "github.com/weft-rl/weft/data/debug"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// TestSolves: an expert is imitated without rewards, by each form of what the discriminator pays.
func TestSolves(t *testing.T) {
	small := func(more ...string) []string {
		return append([]string{"envs=16", "horizon=32", "gamma=0.5", "hidden=32", "learning_rate=3e-3", "judge_rate=3e-3"}, more...)
	}
	algotest.Solve(t, Algorithm, []algotest.Task{
		{Name: "choices", Env: debug.Identity, Set: small("data=debug:identity"), Steps: 20_000, Want: 15.9},
		{Name: "negative", Env: debug.Identity, Set: small("data=debug:identity", "reward=negative"), Steps: 20_000, Want: 15.9},
		{Name: "numbers", Env: debug.IdentityContinuous, Set: small("data=debug:continuous"), Steps: 40_000, Want: 15},
		{Name: "few episodes", Env: debug.IdentityContinuous, Set: small("data=debug:continuous", "episodes=4", "reward=logit"), Steps: 40_000, Want: 15},
		{Name: "penalty", Env: debug.IdentityContinuous, Set: small("data=debug:continuous", "penalty=1"), Steps: 40_000, Want: 15},
		{Name: "airl", Env: debug.Identity, Set: small("data=debug:identity", "airl=true"), Steps: 20_000, Want: 15.9},
	})
}

// shown returns a step of the trainer's spaces, Identity's.
func shown(s *rl.Scope, symbol, action int) Shown {
	obs := make([]float32, 4)
	obs[symbol] = 1
	x := rl.One(rl.FromFlat(s, obs, 1, 4))
	return Shown{
		Obs: rl.Obs{X: x}, Action: rl.One(rl.FromFlat(s, []int32{int32(action)}, 1)), Next: rl.Obs{X: x},
		Terminated: rl.FromFlat(s, []bool{false}, 1),
	}
}

// made returns a trainer in Identity-v0 as it is made, and its scope.
func made(t *testing.T, set ...string) (*Trainer, *rl.Scope) {
	t.Helper()
	s := rl.NewScope(algotest.Device(t), 1)
	c, err := algotest.Configure(Algorithm, append([]string{"data=debug:identity", "envs=1", "hidden=8"}, set...))
	if err != nil {
		t.Fatal(err)
	}
	x, err := Algorithm.New(s, algo.On(s, debug.Identity, nil, nil), c)
	if err != nil {
		t.Fatal(err)
	}
	return x.(*Trainer), s
}

// TestReward: the three forms of a reward are functions of one logit, and the loss is the cross
// entropy of what the rewards say.
func TestReward(t *testing.T) {
	reward := func(form string) (float64, Judged) {
		x, scope := made(t, "reward="+form, "penalty=0")
		s := shown(scope, 1, 2)
		_, m := x.Discriminator.loss.Grad(rl.Key{}, Pair{s, s})
		return float64(rl.Read[float32](x.Discriminator.Reward(s))[0]), m
	}
	logit, m := reward("logit")
	positive, _ := reward("positive")
	negative, _ := reward("negative")
	if logit == 0 {
		t.Fatal("a logit of 0 tells nothing")
	}
	d := 1 / (1 + math.Exp(-logit))
	algotest.Near(t, "positive", positive, -math.Log(1-d), 1e-5)
	algotest.Near(t, "negative", negative, math.Log(d), 1e-5)
	algotest.Near(t, "loss", float64(rl.Read[float32](m.Loss)[0]), -math.Log(d)-math.Log(1-d), 1e-5)
	algotest.Near(t, "accuracy", float64(rl.Read[float32](m.Accuracy)[0]), .5, 0) // of a step against itself
}

// TestSlope: the penalty is half its weight times the squared length of the logit's gradient by
// observations, for a step of the expert and one of the policy, as differences of the logit say.
func TestSlope(t *testing.T) {
	x, scope := made(t, "reward=logit", "normalize_obs=false", "penalty=3")
	at := func(i int, by float32) Shown {
		s := shown(scope, 1, 2)
		obs := []float32{0, 1, 0, 0}
		obs[i] += by
		s.Obs.X = rl.One(rl.FromFlat(scope, obs, 1, 4))
		return s
	}
	logit := func(s Shown) float64 { return float64(rl.Read[float32](x.Discriminator.Reward(s))[0]) }
	const h = 1e-2
	var squared float64
	for i := range 4 {
		slope := (logit(at(i, h)) - logit(at(i, -h))) / (2 * h)
		squared += slope * slope
	}
	if squared == 0 {
		t.Fatal("a logit without a slope tells nothing")
	}
	s := at(0, 0)
	_, m := x.Discriminator.loss.Grad(rl.Key{}, Pair{s, s})
	d := 1 / (1 + math.Exp(-logit(s)))
	algotest.Near(t, "loss", float64(rl.Read[float32](m.Loss)[0]), -math.Log(d)-math.Log(1-d)+3*squared, 1e-3*squared)
}

// TestShaped: the logit of AIRL is the reward and what the potential adds, less the log-probability
// of the action. Where nothing terminates and nothing moves, the potential adds (gamma-1) of
// itself.
func TestShaped(t *testing.T) {
	logit := func(set ...string) float64 {
		x, scope := made(t, set...)
		return float64(rl.Read[float32](x.Discriminator.Reward(shown(scope, 1, 2)))[0])
	}
	still, none, half := logit("airl=true", "gamma=1"), logit("airl=true", "gamma=0"), logit("airl=true", "gamma=0.5")
	algotest.Near(t, "half a potential", still-half, (still-none)/2, 1e-5)
	// A policy that has learnt nothing takes each of four actions nearly alike.
	algotest.Near(t, "log-probability", still-logit("reward=logit"), math.Log(4), .02)
}

// TestDeviceProgram: the loop as one device program ends in the bits of the plain loop.
func TestDeviceProgram(t *testing.T) {
	algotest.Equal(t, app.Job{
		Algorithm: Algorithm, Env: debug.IdentityContinuous, Data: "debug:continuous", Steps: 300,
		Set: []string{"envs=4", "horizon=8", "epochs=2", "minibatches=3", "hidden=16", "batch=11", "recent=50"},
	}, plan.Deployment{Policy: "gpu-only"})
}

// TestRefused: what does not go together is said before anything starts.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, want string
		job        app.Job
	}{
		{"no data", "gail on IdentityContinuous-v0: no data set is named: Job.Data names one", app.Job{}},
		{"other spaces", "gail on IdentityContinuous-v0: observations of the data set are Box(0..1, [4]), those of the environment are Box(-1..1, [1])", app.Job{Data: "debug:identity"}},
		{"too few episodes", "gail on IdentityContinuous-v0: episodes: the first 65 are asked for, the data set has 64", app.Job{Data: "debug:continuous", Set: []string{"episodes=65"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.job.Algorithm, c.job.Env, c.job.Steps = Algorithm, debug.IdentityContinuous, 100
			if _, err := app.Train(t.Context(), c.job); err == nil || err.Error() != c.want {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

// TestResumes: a run that was loaded in its middle ends in the bits of one that went on.
func TestResumes(t *testing.T) {
	algotest.Resumes(t, Algorithm, debug.IdentityContinuous, 600, "data=debug:continuous", "envs=4", "horizon=8", "hidden=8", "batch=8", "recent=50")
}
