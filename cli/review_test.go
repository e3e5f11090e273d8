package cli

import (
	"testing"

	"github.com/weft-rl/weft/internal/cost"
)

// TestNext: a plan that was not measured is taken if it is predicted to be clearly faster than the
// best of the measured ones, and the best of those otherwise.
func TestNext(t *testing.T) {
	plan := func(name string, seconds float64) cost.Candidate {
		return cost.Candidate{Policy: name, Workers: 2, Prediction: cost.Prediction{Seconds: seconds}}
	}
	for _, x := range []struct {
		seen, candidates []cost.Candidate
		want             string
	}{
		{[]cost.Candidate{plan("a", 2)}, []cost.Candidate{plan("a", 1), plan("b", 1.5), plan("c", 1.7)}, "b"},
		{[]cost.Candidate{plan("a", 2)}, []cost.Candidate{plan("a", 1), plan("b", 1.9)}, "a"},
		{[]cost.Candidate{plan("a", 2), plan("b", 3)}, []cost.Candidate{plan("b", 1), plan("a", 1)}, "a"},
		{[]cost.Candidate{plan("a", 3), plan("b", 2)}, []cost.Candidate{plan("c", 1.9)}, "b"},
	} {
		if got := (&review{seen: x.seen}).next(x.candidates); got.Policy != x.want {
			t.Errorf("measured %v, predicted %v: goes on under %v, want %s", x.seen, x.candidates, got, x.want)
		}
	}
}
