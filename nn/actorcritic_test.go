package nn_test

import (
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestActorCritic: a network over any space of observations has a distribution and
// a value for every row, whatever leads them, and its value alone is the same.
func TestActorCritic(t *testing.T) {
	vector := rl.Box{Dims: []int{3}}
	picture := rl.Box{Low: []float64{0}, High: []float64{255}, Dims: []int{36, 36, 2}, DType: dtypes.Uint8}
	dict := rl.Dict{{Name: "place", Space: rl.Discrete{N: 4}}, {Name: "speed", Space: vector}}
	for _, c := range []struct {
		name   string
		space  rl.Space
		shared bool
		params int // tensors
	}{
		// Two torsos of a hidden layer, or one, and two last layers.
		{"vector", vector, false, 8}, {"shared", vector, true, 6}, {"dict", dict, false, 8},
		{"picture", picture, true, 12}, // three convolutions and a layer
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scope(t)
			n := nn.ActorCritic{Torso: nn.Torso{Space: c.space, Hidden: []int{5}}, Head: nn.NewHead(rl.Discrete{N: 2}), Shared: c.shared}
			p := rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) { n.Apply(c, sc, rl.Obs{X: nn.Blank(c, n.Space)}) })
			if len(p.Paths()) != c.params {
				t.Errorf("parameters %q, want %d", p.Paths(), c.params)
			}
			out := eval(s, func(ctx *rl.Ctx, _ []*node) []*node {
				obs := rl.Obs{X: nn.Blank(ctx, c.space)}
				pi, v := n.Apply(ctx, ctx.Scope(p), obs)
				return []*node{v, n.Value(ctx, ctx.Scope(p), obs), pi.Entropy()}
			}, rl.FromFlat(s, []float32{0}, 1))
			if len(out[0]) != 1 || len(out[2]) != 1 || !slices.Equal(out[0], out[1]) {
				t.Errorf("value %v, alone %v, entropy %v", out[0], out[1], out[2])
			}
		})
	}
}

// TestWidth: Width counts what Features makes, of every kind of space.
func TestWidth(t *testing.T) {
	s := scope(t)
	space := rl.Dict{
		{Name: "box", Space: rl.Box{Dims: []int{2, 3}}}, {Name: "one", Space: rl.Discrete{N: 4}},
		{Name: "many", Space: rl.MultiDiscrete{N: []int{2, 5}}}, {Name: "bits", Space: rl.MultiBinary{N: 3}},
	}
	out := eval(s, func(c *rl.Ctx, _ []*node) []*node { return []*node{nn.Features(space, nn.Blank(c, space))} }, rl.FromFlat(s, []float32{0}, 1))
	if got := nn.Width(space); got != len(out[0]) || got != 20 {
		t.Errorf("width %d of %d features", got, len(out[0]))
	}
}
