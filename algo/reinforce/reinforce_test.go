package reinforce_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo/reinforce"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/rl"
)

func TestSmallTasks(t *testing.T) {
	fast := func(more ...string) []string { return append([]string{"envs=16", "horizon=32"}, more...) }
	algotest.Solve(t, reinforce.Algorithm, []algotest.Task{
		{Name: "baseline", Env: debug.Identity, Set: fast(), Steps: 40_000, Want: 15.9},
		{Name: "no baseline", Env: debug.Identity, Set: fast("baseline=false"), Steps: 40_000, Want: 15.9},
		{Name: "shared network", Env: debug.Identity, Set: fast("shared=true", "gamma=0.5"), Steps: 40_000, Want: 15.9},
		{Name: "as they are", Env: debug.Identity, Set: fast("normalize_return=false", "gamma=0.5", "max_grad_norm=0.5"), Steps: 40_000, Want: 15.9},
		{Name: "masked", Env: debug.Masked, Set: fast("gamma=0.5"), Steps: 40_000, Want: 15},
		{Name: "host", Env: debug.Host, Set: fast(), Steps: 40_000, Want: 15.9},
		{Name: "continuous", Env: debug.IdentityContinuous, Set: []string{"envs=16", "horizon=16", "learning_rate=2e-2", "gamma=0.5"}, Steps: 80_000, Want: 15},
	})
}

// TestCartPole runs the recipes on part of their steps.
func TestCartPole(t *testing.T) {
	for _, set := range []string{"baseline=true", "baseline=false"} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			job := app.Job{Algorithm: reinforce.Algorithm, Env: classic.CartPole, Set: []string{set}, Steps: 200_000}
			if got := algotest.Greedy(t, job); got < 400 {
				t.Errorf("greedy return %.1f, want 400", got)
			}
		})
	}
}

// rollout returns four steps with rewards 1 2 3 4 in four environments:
//
//	1 2|3 4   the second step terminates, where the rest is worth nothing
//	1 2 3|4   the third is cut off by a limit, at a state of value 8
//	1 2 3 4   nothing ends
//	1 2 3 4|  the last terminates
func rollout(s *rl.Scope) reinforce.Step {
	table := func(x ...float32) rl.Tensor { return rl.FromFlat(s, x, 4, 4) }
	marks := func(at ...int) rl.Tensor {
		x := make([]bool, 16)
		for _, i := range at {
			x[i] = true
		}
		return rl.FromFlat(s, x, 4, 4)
	}
	return reinforce.Step{
		Obs:        rl.Obs{X: rl.One(rl.FromFlat(s, make([]float32, 16), 4, 4, 1))},
		Reward:     table(1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4),
		Cut:        table(0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0),
		Terminated: marks(1, 15),
		Over:       marks(1, 6, 15),
	}
}

// TestReturns: returns by hand with a discount of 1/2, and which of them are known.
func TestReturns(t *testing.T) {
	known := []float64{1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1}
	returns := []float64{2, 2, 0, 0, 3.75, 5.5, 7, 0, 0, 0, 0, 0, 3.25, 4.5, 5, 4} // of those that are
	mean, variance := 37./9, 0.
	for i, r := range returns {
		variance += known[i] * (r - mean) * (r - mean) / 8
	}
	for _, baseline := range []bool{false, true} {
		for _, normalize := range []bool{false, true} {
			set := []string{"gamma=0.5", fmt.Sprint("baseline=", baseline), fmt.Sprint("normalize_return=", normalize)}
			t.Run(strings.Join(set, " "), func(t *testing.T) {
				x := algotest.Trained(t, reinforce.Algorithm, debug.Endless, nil, 0, set...).(*reinforce.Trainer)
				steps := rollout(rl.NewScope(algotest.Device(t), 1))
				s := x.Learner.Judge(steps)
				if got := rl.Floats(s.Known); !slices.Equal(got, known) {
					t.Errorf("known %v, want %v", got, known)
				}
				all := rl.FromFlat(rl.NewScope(algotest.Device(t), 1), []bool{true, true, true, true}, 4)
				one := rl.Obs{X: rl.Map(steps.Obs.X, func(x rl.Tensor) rl.Tensor {
					return rl.FromFlat(rl.NewScope(algotest.Device(t), 1), make([]float32, 4), 4, 1)
				})}
				worth := rl.Floats(x.Actor.Value(all, one))[0] // of any state: all look alike
				if !baseline && worth != 0 {
					t.Errorf("without a baseline a state is worth %v", worth)
				}
				for i, r := range returns {
					want := r - worth
					if normalize { // all states look alike, so that the baseline does not matter
						want = (r - mean) / math.Sqrt(variance)
					}
					if known[i] == 1 {
						algotest.Near(t, fmt.Sprint("return ", i), rl.Floats(s.Ret)[i], r, 1e-6)
						algotest.Near(t, fmt.Sprint("advantage ", i), rl.Floats(s.Adv)[i], want, 1e-5)
					}
				}
			})
		}
	}
}

// TestNothingKnown: weights stay as they are until an episode has ended. Here one takes 8 steps and
// a rollout 4, so that every second update is the first that counts.
func TestNothingKnown(t *testing.T) {
	weights := func(steps int64) []float64 {
		x := algotest.Trained(t, reinforce.Algorithm, debug.Endless, nil, steps, "envs=2", "horizon=4", "hidden=4").(*reinforce.Trainer)
		obs := rl.Obs{X: rl.One(rl.FromFlat(rl.NewScope(algotest.Device(t), 1), []float32{.1, .9}, 2, 1))}
		all := rl.FromFlat(rl.NewScope(algotest.Device(t), 1), []bool{true, true}, 2)
		return rl.Floats(x.Actor.Value(all, obs))
	}
	before := weights(0)
	if after := weights(8); !slices.Equal(before, after) {
		t.Errorf("values are %v after a rollout without an end, were %v", after, before)
	}
	if after := weights(16); slices.Equal(before, after) {
		t.Errorf("values are still %v after one with an end", after)
	}
}

// TestBootstrap: a reward of 1 for ever is worth 1/(1-gamma) under a time limit to a baseline.
// Where episodes terminate, n steps before the end it is worth (1-gamma^n)/(1-gamma); nothing tells
// n, and the mean over 8 steps is 3.6.
func TestBootstrap(t *testing.T) {
	for _, c := range []struct {
		name       string
		terminates bool
		want       float64
	}{{"limit", false, 10}, {"end", true, 3.6}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := algotest.Trained(t, reinforce.Algorithm, debug.Endless, &debug.EndlessOptions{Terminates: c.terminates}, 60_000,
				"gamma=0.9", "hidden=8", "horizon=8").(*reinforce.Trainer)
			obs := x.Env.Obs()
			all := rl.FromFlat(rl.NewScope(algotest.Device(t), 1), slices.Repeat([]bool{true}, 8), 8)
			algotest.Near(t, "value", rl.Floats(x.Actor.Value(all, obs))[0], c.want, .3)
		})
	}
}

// TestRefused: one algorithm trains one agent.
func TestRefused(t *testing.T) {
	_, err := app.Train(t.Context(), app.Job{Algorithm: reinforce.Algorithm, Env: debug.Agents, Steps: 64})
	if err == nil || !strings.Contains(err.Error(), "agents") {
		t.Errorf("several agents: got %v", err)
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	algotest.Resumes(t, reinforce.Algorithm, debug.Identity, 4000, "horizon=20")
}
