package edge_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// batches are edges of which two are batched: rows, and a number of some rounds.
var batches = []plan.Edge{
	{Name: "rows", Operator: fdg.Gather, From: many, To: one, Axis: fdg.Environments, Batched: true},
	{Name: "odd", Operator: fdg.Send, From: many, To: one, Batched: true},
	{Name: "net", Operator: fdg.Broadcast, From: one, To: many},
}

// TestBatched: what rounds of a loop send comes out round by round, the rows of all replicas
// together, and crosses in one message an edge; of a loop without rounds nothing crosses.
func TestBatched(t *testing.T) {
	for _, async := range []*edge.Async{nil, {Staleness: 100}} {
		const k, n, iterations = 3, 7, 4
		queues := []int{1, 1, 1, 1, 1, 1}
		w := newQueues(t, k, n, queues, async, batches...)
		errs := w.run(func(i int, x *edge.X, s *rl.Scope) {
			l := newLearner(s)
			for iter := 0; iter < iterations; iter++ {
				x.Turn()
				for round := range iter {
					if at := 10*iter + round; i < k {
						edge.Gather(x, 0, rl.FromFlat(s, fill(at, x.Hi-x.Lo), x.Hi-x.Lo))
						if round%2 == 1 {
							edge.Send(x, 1, at)
						}
					} else {
						got := rl.Floats(edge.Gathered[rl.Tensor](x, 0))
						if want := slices.Repeat([]float64{float64(at)}, n); !slices.Equal(got, want) {
							t.Errorf("iteration %d, round %d: %v", iter, round, got)
						}
						if round%2 == 1 && edge.Sent[int](x, 1) != at {
							t.Errorf("iteration %d, round %d: another number", iter, round)
						}
					}
				}
				if i < k {
					edge.Flush(x, 0, 1)
					edge.Fetch(x, 2, l.p)
				} else {
					l.p.Blend(l.p, 1)
					edge.Publish(x, 2, l.p)
				}
			}
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if s := w.x[0].Stats(); s[0].Messages != iterations-1 || s[1].Messages != iterations-2 {
			t.Errorf("%d and %d messages", s[0].Messages, s[1].Messages)
		}
	}
}

// TestBatchOwned: what a batch holds is not what its sender changes later.
func TestBatchOwned(t *testing.T) {
	w := newWorld(t, 1, 1, 1, nil, plan.Edge{Name: "list", Operator: fdg.Send, From: many, To: one, Batched: true})
	w.must(t, func(i int, x *edge.X, _ *rl.Scope) {
		list := []int{0}
		for round := range 3 {
			if list[0] = round; i == 0 {
				edge.Send(x, 0, list)
			} else if got := edge.Sent[[]int](x, 0); got[0] != round {
				t.Errorf("round %d has %v", round, got)
			}
		}
		edge.Flush(x, 0)
	})
}

// TestBatchAbandoned: of an iteration whose producer goes, nothing that its batch held is left for
// the next one.
func TestBatchAbandoned(t *testing.T) {
	r := newRemote(t, 1, fdg.Gather)
	r.top.Edges[0].Batched = true
	batch := func(iter int64) []rl.Tensor { return []rl.Tensor{r.row(0, iter), r.row(1, iter)} }
	r.sends(0, 4, 1, 0, nil)
	r.sends(0, 0, 1, 10, batch(1))
	r.link.Depart(1, 0)
	if _, _, err := r.takes(); !errors.Is(err, edge.ErrDeparted) {
		t.Fatalf("error %v", err)
	}
	r.sends(0, 4, 1, 0, nil)
	r.sends(0, 0, 1, 10, batch(5))
	r.sends(0, 1, 1, 0, r.row(0, 5))
	if a, b, err := r.takes(); err != nil || fmt.Sprint(a, b) != "[50] [50]" {
		t.Errorf("%v %v %v", a, b, err)
	}
}

// TestBatchUnequal: replicas whose batches differ in length are found out.
func TestBatchUnequal(t *testing.T) {
	w := newWorld(t, 2, 2, 1, nil, batches[0])
	errs := w.run(func(i int, x *edge.X, s *rl.Scope) {
		if i == 2 {
			edge.Gathered[rl.Tensor](x, 0)
			return
		}
		for range i + 1 {
			edge.Gather(x, 0, rl.FromFlat(s, fill(i, 1), 1))
		}
		edge.Flush(x, 0)
	})
	if errs[2] == nil {
		t.Error("no error")
	}
}
