package cost_test

import (
	"testing"

	"github.com/weft-rl/weft/internal/cost"
)

// TestJudge: by hand. In the first workload the plan that is taken is 10 % slower than the best,
// and one of three pairs is in the wrong order; in the second all is right.
func TestJudge(t *testing.T) {
	v := cost.Judge([]cost.Compared{
		{Workload: "a", Policy: "plain", Predicted: 1.0, Measured: 1.1},
		{Workload: "a", Policy: "coarse", Predicted: 1.2, Measured: 1.0},
		{Workload: "a", Policy: "fine", Predicted: 3, Measured: 2},
		{Workload: "b", Policy: "plain", Predicted: 4, Measured: 4},
		{Workload: "b", Policy: "coarse", Predicted: 2, Measured: 2.5},
		{Workload: "b", Policy: "fine", Predicted: 2, Measured: 2.55}, // as good as coarse
	})
	if v.Plans != 6 || v.Pairs != 5 {
		t.Errorf("%+v", v)
	}
	near(t, "ordered", v.Ordered, .8)
	near(t, "median error", v.Median, .2)
	near(t, "ninetieth", v.Ninetieth, .5)
	near(t, "median regret", v.MedianRegret, 0)
	near(t, "worst regret", v.WorstRegret, .1)
}
