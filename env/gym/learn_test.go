package gym_test

import (
	"context"
	"testing"

	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/gym"
)

// needs skips a test where Python, or a package of it, is absent.
var needs = gym.Needs

func learn(t *testing.T, id string, options []string, steps int64, set ...string) app.Result {
	t.Helper()
	e, err := gym.Entry(id)
	if err != nil {
		t.Fatal(err)
	}
	r, err := app.Train(context.Background(), app.Job{
		Algorithm: ppo.Algorithm, Env: e, Options: options, Steps: steps, Seed: 1, EvalEpisodes: 20,
		Set: append([]string{"envs=16", "horizon=32", "learning_rate=3e-3", "anneal=constant"}, set...),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// PPO solves the lake: the greedy policy reaches the goal every time.
func TestLearnFrozenLake(t *testing.T) {
	needs(t)
	if r := learn(t, "FrozenLake-v1", []string{"is_slippery=false"}, 24_000); r.EvalReturn != 1 {
		t.Errorf("return %v, want 1", r.EvalReturn)
	}
}

// The environment raises an error at an action that its mask forbids, and is
// solved without one.
func TestLearnMasked(t *testing.T) {
	needs(t)
	if r := learn(t, "weft_test_envs:Masked", nil, 12_000); r.EvalReturn < 4.5 {
		t.Errorf("return %v, want the right one of two actions nearly always", r.EvalReturn)
	}
}
