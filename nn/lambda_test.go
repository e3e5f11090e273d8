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
