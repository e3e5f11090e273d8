package nn_test

import (
	"testing"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestLambdaReturns: three steps with lambda 1/2, of which the second surely ends the path in the
// second row.
func TestLambdaReturns(t *testing.T) {
	s := scope(t)
	reward := rl.FromFlat(s, []float32{1, 2, 3, 1, 2, 3}, 2, 3)
	discount := rl.FromFlat(s, []float32{.5, .5, .5, .5, 0, .5}, 2, 3)
	next := rl.FromFlat(s, []float32{4, 8, 10, 4, 8, 10}, 2, 3)
	out := eval(s, func(_ *rl.Ctx, in []*node) []*node {
		return []*node{nn.LambdaReturns(in[0], in[1], in[2], .5), nn.Reached(in[1])}
	}, reward, discount, next)
	// 3 + 10/2 = 8; 2 + (8/2 + 8/2)/2 = 6; 1 + (4/2 + 6/2)/2 = 3.5. Cut: 8; 2; 1 + (4/2 + 2/2)/2.
	near(t, "returns", out[0], []float64{3.5, 6, 8, 2.5, 2, 8}, 1e-6)
	near(t, "reached", out[1], []float64{1, .5, .25, 1, .5, 0}, 1e-6)
}

// TestReplayedReturns: four steps with discount and lambda 1/2: nothing ends, the second step
// terminates, and the second step is cut off.
func TestReplayedReturns(t *testing.T) {
	s := scope(t)
	reward := rl.FromFlat(s, []float32{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, 3, 4)
	value := rl.FromFlat(s, []float32{2, 4, 6, 8, 2, 4, 6, 8, 2, 4, 6, 8}, 3, 4)
	term, over := make([]bool, 12), make([]bool, 12)
	term[5], over[5], over[9] = true, true, true
	out := eval(s, func(_ *rl.Ctx, in []*node) []*node {
		return []*node{nn.ReplayedReturns(.5, .5, in[0], in[1], in[2], in[3])}
	}, reward, value, rl.FromFlat(s, term, 3, 4), rl.FromFlat(s, over, 3, 4))
	near(t, "returns", out[0], []float64{
		3.3125, 5.25, 7, 8, // 8; 3 + (8 + 8)/4; 2 + (6 + 7)/4; 1 + (4 + 5.25)/4
		2.5, 2, 7, 8, // 2; 1 + (4 + 2)/4
		3, 4, 7, 8, // 4; 1 + (4 + 4)/4
	}, 1e-6)
}
