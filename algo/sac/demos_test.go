package sac_test

import (
	"testing"

	"github.com/weft-rl/weft/algo/sac"
	"github.com/weft-rl/weft/app"
	_ "github.com/weft-rl/weft/data/debug"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/plan"
)

// shown returns a small run with demonstrations in its updates.
func shown(demos, fraction string) app.Job {
	return app.Job{
		Algorithm: sac.Algorithm, Env: debug.IdentityContinuous, Steps: 96,
		Set: []string{
			"demos=" + demos, "demo_fraction=" + fraction, "envs=4", "train_every=2", "updates=2", "batch=12",
			"learning_starts=24", "buffer=50", "hidden=8", "n_step=2",
		},
	}
}

// TestDemos: a part of every update is demonstrations, whoever makes it, and none of it without a
// set of them.
func TestDemos(t *testing.T) {
	quarter := algotest.Equal(t, shown("debug:continuous", "0.25"), plan.Deployment{Policy: "single-learner-coarse", Workers: 2},
		plan.Deployment{Policy: "single-learner-fine", Workers: 2}, plan.Deployment{Policy: "gpu-only"},
		plan.Deployment{Policy: "multi-learner", Workers: 1})
	two := shown("debug:continuous", "0.25")
	two.Deployment = plan.Deployment{Policy: "multi-learner", Workers: 2}
	if r, err := app.Train(t.Context(), two); err != nil || r.Steps != quarter.Steps {
		t.Errorf("two learners end after %d steps: %v", r.Steps, err)
	}
	none, half := algotest.Equal(t, shown("debug:continuous", "0")), algotest.Equal(t, shown("debug:continuous", "0.5"))
	without := algotest.Equal(t, shown("", "0.25"))
	if none.WeightsSHA256 != without.WeightsSHA256 {
		t.Error("demonstrations that no update has change the weights")
	}
	if quarter.WeightsSHA256 == none.WeightsSHA256 || quarter.WeightsSHA256 == half.WeightsSHA256 {
		t.Error("the fraction of demonstrations changes nothing")
	}
}
