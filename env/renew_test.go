package env_test

import (
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// hazy is a walk that is seen through noise, of which every look has its own.
type hazy struct{ walk }

func (hazy) Observe(c *rl.Ctx, state rl.Tree) rl.Obs {
	x := state.Leaf("").Node()
	return rl.Obs{X: rl.One(rl.Wrap(graph.Add(x, graph.MulScalar(c.Uniform("haze", x.Shape().Dimensions...), 0.1))))}
}

// TestRenew: an environment that goes on is seen as it was at the end of its step, also
// where others of the batch ended and looking makes draws; one that is new is not.
func TestRenew(t *testing.T) {
	for name, d := range map[string]env.Dynamics{"clear": walk{}, "hazy": hazy{}} {
		t.Run(name, func(t *testing.T) {
			s := newScope(t)
			batch, err := env.Graph(s, 16, d)
			if err != nil {
				t.Fatal(err)
			}
			right := rl.One(rl.FromFlat(s, slices.Repeat([]int32{1}, 16), 16))
			mixed := 0
			for range 60 {
				out := batch.Step(right)
				over, first := rl.Read[bool](out.Over), rl.Read[bool](out.Obs.First)
				obs, final := rl.Floats(out.Obs.X.Leaf("")), rl.Floats(out.Final.X.Leaf(""))
				if slices.Contains(over, true) && slices.Contains(over, false) {
					mixed++
				}
				for i := range over {
					if (obs[i] == final[i]) == over[i] || first[i] != over[i] {
						t.Fatalf("environment %d: over %v, first %v, seen %v and then %v", i, over[i], first[i], final[i], obs[i])
					}
				}
			}
			if mixed == 0 {
				t.Fatal("no environment ended while others went on")
			}
		})
	}
}
