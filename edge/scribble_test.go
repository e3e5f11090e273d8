//go:build weftscribble

package edge_test

import (
	"slices"
	"testing"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// TestScribble: what was handed over is no longer what it was, for its sender.
func TestScribble(t *testing.T) {
	w := newWorld(t, 1, 2, 1, nil,
		plan.Edge{Name: "given", Operator: fdg.Gather, From: many, To: one, Given: true},
		plan.Edge{Name: "lent", Operator: fdg.Gather, From: many, To: one})
	want := []float32{1, 2}
	w.must(t, func(i int, x *edge.X, s *rl.Scope) {
		for e, given := range []bool{true, false} {
			if i == 1 {
				if got := rl.Read[float32](edge.Gathered[rl.Tensor](x, e)); !slices.Equal(got, want) {
					t.Errorf("received %v", got)
				}
				continue
			}
			v := rl.FromFlat(s, want, 2)
			edge.Gather(x, e, v)
			if kept := slices.Equal(rl.Read[float32](v), want); kept == given {
				t.Errorf("edge %d: the sender still has %v", e, rl.Read[float32](v))
			}
		}
	})
}
