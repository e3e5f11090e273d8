package edge_test

import (
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// rows is a message in which every tensor has rows.
type rows struct{ X, Flag rl.Tensor }

// Where replicas take turns, the first part has its actions before the second has
// sent anything, and what is computed is what is computed of all rows at once.
func TestTurns(t *testing.T) {
	const n, steps = 8, 3
	w := newWorld(t, 4, n, 1, nil,
		plan.Edge{Name: "out", Operator: fdg.Gather, From: many, To: one, Axis: "environments"},
		plan.Edge{Name: "act", Operator: fdg.Scatter, From: one, To: many, Axis: "environments"})
	w.top.Turns = 2
	acted := make(chan struct{}, 2*steps)
	w.must(t, func(i int, x *edge.X, s *rl.Scope) {
		if i < 4 {
			for range steps {
				if i >= 2 { // its turn is the second
					<-acted
				}
				mine := rowsOf(s, x.Lo, x.Hi)
				edge.Gather(x, 0, rows{mine.X, mine.Flag})
				got := rl.Floats(edge.Scattered[rl.Tensor](x, 1))
				for j := range got {
					if want := float64(x.Lo+j) * 3; got[j] != want {
						t.Errorf("replica %d has action %v, want %v", i, got, want)
					}
				}
				if i < 2 {
					acted <- struct{}{}
				}
			}
			return
		}
		act := rl.NewFunc(s, "act", func(_ *rl.Ctx, in rows) rl.Tensor {
			x := in.X.Node()
			return rl.Wrap(graph.MulScalar(graph.ReduceSum(x, 1), 2))
		})
		late := rl.NewFunc(s, "late", func(_ *rl.Ctx, in rows) rl.Tensor { return rl.Wrap(graph.ReduceSum(in.X.Node(), 1)) })
		var kept, stacked []rl.Tensor
		for range steps {
			in := edge.Gathered[rows](x, 0)
			kept = append(kept, late.Rows(in.Flag, rl.Key{}, in)) // nobody waits for it
			edge.Scatter(x, 1, act.Call(rl.Key{}, in))
			stacked = append(stacked, in.X)
		}
		x.Turn()
		for _, k := range kept {
			for j, v := range rl.Floats(k) {
				want := float64(j) * 1.5
				if j%3 != 0 {
					want = 0
				}
				if v != want {
					t.Errorf("row %d where flags are has %v, want %v", j, v, want)
				}
			}
		}
		if got, want := rl.Floats(rl.Stack(stacked)), rl.Floats(rl.Stack([]rl.Tensor{rowsOf(s, 0, n).X, rowsOf(s, 0, n).X, rowsOf(s, 0, n).X})); len(got) != len(want) || got[17] != want[17] {
			t.Errorf("stacked: %v, want %v", got, want)
		}
	})
}

// A batch in which something has no rows is waited for as a whole.
func TestTurnsOfScalars(t *testing.T) {
	w := newWorld(t, 2, 7, 1, nil, plan.Edge{Name: "out", Operator: fdg.Gather, From: many, To: one, Axis: "environments"})
	w.top.Turns = 2
	w.must(t, func(i int, x *edge.X, s *rl.Scope) {
		if i < 2 {
			edge.Gather(x, 0, rowsOf(s, x.Lo, x.Hi))
			return
		}
		same(t, "gathered", edge.Gathered[batch](x, 0), rowsOf(s, 0, 7))
	})
}
