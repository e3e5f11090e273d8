package nn_test

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestSequences: 2 rows of 3 steps, of which the second ends after 2.
func TestSequences(t *testing.T) {
	s := scope(t)
	obs := rl.FromFlat(s, []float32{1, 2, 3, 5, 6, 0}, 2, 3)
	next := rl.FromFlat(s, []float32{2, 3, 4, 6, 7, 0}, 2, 3)
	valid := rl.FromFlat(s, []bool{true, true, true, true, true, false}, 2, 3)
	got := eval(s, func(_ *rl.Ctx, x []*node) []*node {
		all := nn.Visited(rl.One(rl.Wrap(x[0])), rl.One(rl.Wrap(x[1]))).Leaf("").Node()
		return []*node{all, nn.ButLast(all), nn.ButFirst(all), graph.ConvertDType(nn.LastTrue(x[2]), dtypes.Float32)}
	}, obs, next, valid)
	for i, want := range [][]float64{
		{1, 2, 3, 4, 5, 6, 7, 0}, {1, 2, 3, 5, 6, 7}, {2, 3, 4, 6, 7, 0}, {0, 0, 1, 0, 1, 0},
	} {
		near(t, []string{"visited", "but the last", "but the first", "last true"}[i], got[i], want, 0)
	}
}
