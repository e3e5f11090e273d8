package nn_test

import (
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestUnscaled: -1 and 1 are the bounds of every number, in its own shape and dtype, and Scaled
// leads back.
func TestUnscaled(t *testing.T) {
	s := scope(t)
	space := rl.Dict{
		{Name: "a", Space: rl.Box{Low: []float64{-1, 2}, High: []float64{3, 12}, Dims: []int{2}}},
		{Name: "b", Space: rl.Box{Low: []float64{-4}, High: []float64{0}, Dims: []int{1, 1}, DType: dtypes.Float64}},
	}
	in := []float32{-1, -1, -1, 0, .5, 1, 1, 1, -.5}
	out := eval(s, func(_ *rl.Ctx, x []*node) []*node {
		a := nn.Unscaled(space, x[0])
		b := a.Leaf("b").Node()
		if b.DType() != dtypes.Float64 || b.Rank() != 3 {
			t.Errorf("b is %s", b.Shape())
		}
		return []*node{a.Leaf("a").Node(), graph.Reshape(b, -1), nn.Scaled(space, a)}
	}, rl.FromFlat(s, in, 3, 3))
	near(t, "a", out[0], []float64{-1, 2, 1, 9.5, 3, 12}, 0)
	near(t, "b", out[1], []float64{-4, 0, -3}, 0)
	near(t, "scaled", out[2], []float64{-1, -1, -1, 0, .5, 1, 1, 1, -.5}, 1e-6)
	if got := failure(func() {
		eval(s, func(_ *rl.Ctx, x []*node) []*node { return []*node{nn.Unscaled(rl.Discrete{N: 3}, x[0]).At(0).Node()} }, rl.FromFlat(s, in, 3, 3))
	}); !strings.Contains(got, "not numbers between bounds") {
		t.Errorf("a choice: %q", got)
	}
}

// TestGoal: a row that terminated is worth its reward alone, and errors of all critics add up.
func TestGoal(t *testing.T) {
	s := scope(t)
	out := eval(s, func(_ *rl.Ctx, x []*node) []*node {
		goal := nn.Goal(rl.Wrap(x[0]), rl.Wrap(x[1]), rl.Wrap(x[2]), x[3])
		return []*node{goal, nn.SquaredErrors([]*node{x[0], x[3]}, goal), nn.Least([]*node{x[0], x[3]})}
	}, rl.FromFlat(s, []float32{1, 2}, 2), rl.FromFlat(s, []float32{.5, .5}, 2), rl.FromFlat(s, []bool{false, true}, 2), rl.FromFlat(s, []float32{4, 1}, 2))
	near(t, "goal", out[0], []float64{3, 2}, 0)
	near(t, "errors", out[1], []float64{4 + 1, 0 + 1}, 0)
	near(t, "least", out[2], []float64{1, 1}, 0)
}
