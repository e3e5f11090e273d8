package algotest

import (
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/plan"
)

// Demos checks that a part of every update is demonstrations, whoever makes it, and that none of it
// is without a set of them.
func Demos(t *testing.T, a algo.Algorithm, e env.Entry, set string) {
	t.Helper()
	shown := func(demos, fraction string) app.Job {
		return app.Job{
			Algorithm: a, Env: e, Steps: 96,
			Set: []string{
				"demos=" + demos, "demo_fraction=" + fraction, "envs=4", "train_every=2", "updates=2", "batch=12",
				"learning_starts=24", "buffer=50", "hidden=8", "n_step=2",
			},
		}
	}
	quarter := Equal(t, shown(set, "0.25"), plan.Deployment{Policy: "single-learner-coarse", Workers: 2},
		plan.Deployment{Policy: "single-learner-fine", Workers: 2}, plan.Deployment{Policy: "gpu-only"},
		plan.Deployment{Policy: "multi-learner", Workers: 1})
	two := shown(set, "0.25")
	two.Deployment = plan.Deployment{Policy: "multi-learner", Workers: 2}
	if r, err := app.Train(t.Context(), two); err != nil || r.Steps != quarter.Steps {
		t.Errorf("two learners end after %d steps: %v", r.Steps, err)
	}
	none, half, without := Equal(t, shown(set, "0")), Equal(t, shown(set, "0.5")), Equal(t, shown("", "0.25"))
	if none.WeightsSHA256 != without.WeightsSHA256 {
		t.Error("demonstrations that no update has change the weights")
	}
	if quarter.WeightsSHA256 == none.WeightsSHA256 || quarter.WeightsSHA256 == half.WeightsSHA256 {
		t.Error("the fraction of demonstrations changes nothing")
	}
}
