package edge_test

import (
	"testing"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// notes holds all that a loop may hand on: slices, also nested, in arrays and behind
// pointers and maps.
type notes struct {
	Flat  []float64
	Deep  [][]int
	Fixed [2][]int
	To    *[]int
	By    map[string][]int
	X     rl.Tensor
}

func newNotes(x rl.Tensor) notes {
	return notes{
		Flat: []float64{0}, Deep: [][]int{{0}}, Fixed: [2][]int{{0}, {0}}, To: &[]int{0}, By: map[string][]int{"a": {0}}, X: x,
	}
}

// set writes all that can be written.
func (n notes) set(x int) {
	n.Flat[0], n.Deep[0][0], n.Fixed[1][0], (*n.To)[0], n.By["a"][0] = float64(x), x, x, x, x
}

func (n notes) all(x int) bool {
	return n.Flat[0] == float64(x) && n.Deep[0][0] == x && n.Fixed[1][0] == x && (*n.To)[0] == x && n.By["a"][0] == x
}

// TestDetach: a sender may reuse its memory while receivers read and write theirs,
// whatever carries the value. The race detector is the judge.
func TestDetach(t *testing.T) {
	const rounds = 50
	kinds := []plan.Edge{
		{Name: "gather", Operator: fdg.Gather, From: many, To: one},
		{Name: "scatter", Operator: fdg.Scatter, From: one, To: many},
		{Name: "send", Operator: fdg.Send, From: one, To: many},
		{Name: "all", Operator: fdg.AllGather, From: many, To: many},
	}
	w := newWorld(t, 2, 2, 4, nil, kinds...)
	w.must(t, func(i int, x *edge.X, s *rl.Scope) {
		mine := newNotes(rl.FromFlat(s, []float32{1, 2}, 2))
		for round := range rounds {
			mine.set(round)
			var got []notes
			if i == 2 {
				got = append(got, edge.Gathered[notes](x, 0))
				edge.Scatter(x, 1, mine)
				edge.Send(x, 2, mine)
			} else {
				edge.Gather(x, 0, mine)
				got = append(got, edge.Scattered[notes](x, 1), edge.Sent[notes](x, 2), edge.AllGather(x, 3, mine))
			}
			mine.set(-1)
			for j, g := range got {
				if !g.all(round) {
					t.Errorf("replica %d, round %d, value %d: %+v", i, round, j, g)
				}
				g.set(-2)
			}
			if !mine.all(-1) {
				t.Errorf("replica %d, round %d: a receiver wrote the sender's memory", i, round)
			}
		}
	})
}

// TestDetachPosted: an asynchronous receiver that is given a value twice may write
// the first one.
func TestDetachPosted(t *testing.T) {
	w := newWorld(t, 1, 1, 4, &edge.Async{Staleness: 8}, plan.Edge{Name: "send", Operator: fdg.Send, From: one, To: many})
	w.must(t, func(i int, x *edge.X, _ *rl.Scope) {
		if i == 1 {
			v := []int{1}
			edge.Send(x, 0, v)
			v[0] = 2
			return
		}
		for range 2 {
			v := edge.Sent[[]int](x, 0)
			if v[0] != 1 {
				t.Errorf("received %v, want [1]", v)
			}
			v[0] = 3
		}
	})
}

// TestDetachFree: structs of tensors and numbers are passed on without a copy.
func TestDetachFree(t *testing.T) {
	type pair struct {
		A, B rl.Tensor
		N    int
	}
	v := pair{N: 1}
	if n := testing.AllocsPerRun(100, func() { v = edge.Detach(v) }); n != 0 {
		t.Errorf("%v allocations for a struct of tensors, want none", n)
	}
}
