package algotest

import (
	"testing"

	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/plan"
)

// Equal trains a job as the plain loop and under deployments, and fails t unless all end in the
// same bits. It returns what the plain loop gave.
func Equal(t *testing.T, j app.Job, by ...plan.Deployment) app.Result {
	t.Helper()
	train := func(d plan.Deployment) app.Result {
		t.Helper()
		j.Seed, j.Deployment = 1, d
		r, err := app.Train(t.Context(), j)
		if err != nil {
			t.Fatalf("%s: %v", d.Policy, err)
		}
		return r
	}
	want := train(plan.Deployment{})
	for _, d := range by {
		if got := train(d); got.WeightsSHA256 != want.WeightsSHA256 || got.StateSHA256 != want.StateSHA256 || got.Steps != want.Steps {
			t.Errorf("%s: %d steps, weights %.8s, state %.8s, want %d, %.8s, %.8s",
				d.Policy, got.Steps, got.WeightsSHA256, got.StateSHA256, want.Steps, want.WeightsSHA256, want.StateSHA256)
		}
	}
	return want
}
