package edge_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// TestAhead: a producer is never further ahead than its tokens let it, and what
// is too old is dropped with all that belongs to it.
func TestAhead(t *testing.T) {
	for _, c := range []struct{ queue, staleness, producers int }{{0, 1, 0}, {1, 2, 0}, {3, 4, 0}, {3, 2, 1}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			const k, n, rounds = 3, 6, 40
			queues := []int{64, 64, 64, 64, 64, c.queue}
			w := newQueues(t, k, n, queues, &edge.Async{Staleness: c.staleness, Producers: c.producers},
				plan.Edge{Name: "a", Operator: fdg.Gather, From: many, To: one},
				plan.Edge{Name: "b", Operator: fdg.Gather, From: many, To: one},
				plan.Edge{Name: "net", Operator: fdg.Broadcast, From: one, To: many})
			errs := w.run(func(i int, x *edge.X, s *rl.Scope) {
				l := newLearner(s)
				if i < k {
					for round := 0; ; round++ { // until it is stopped
						x.Turn()
						mine := rl.FromFlat(s, fill(round, x.Hi-x.Lo), x.Hi-x.Lo)
						edge.Gather(x, 0, mine)
						edge.Gather(x, 1, mine)
						edge.Fetch(x, 2, l.p)
					}
				}
				for range rounds {
					x.Turn()
					a, b := rl.Floats(edge.Gathered[rl.Tensor](x, 0)), rl.Floats(edge.Gathered[rl.Tensor](x, 1))
					for j := range a {
						if a[j] != b[j] {
							t.Errorf("row %d is of iteration %v on one edge and %v on the other", j, a[j], b[j])
						}
					}
					l.p.Blend(l.p, 1) // another version
					edge.Publish(x, 2, l.p)
				}
				w.stop(errDone)
			})
			for i, err := range errs[:k] {
				if err == nil {
					t.Errorf("replica %d ended by itself", i)
				}
			}
			if errs[k] != nil {
				t.Fatal(errs[k])
			}
			s := w.x[k].Stats()[0]
			if s.MaxStale > int64(c.staleness) {
				t.Errorf("something was %d versions behind", s.MaxStale)
			}
			if c.producers == 0 && s.Dropped > 0 {
				t.Errorf("%d items were dropped, though all producers are waited for", s.Dropped)
			}
		})
	}
}

func fill(x, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(x)
	}
	return out
}

// TestAsArrived: gradients are applied one replica at a time, those of one
// iteration in a row.
func TestAsArrived(t *testing.T) {
	const k = 3
	w := newQueues(t, k, 3, []int{64, 64, 64, 64, 64, 1}, &edge.Async{Staleness: 100},
		plan.Edge{Name: "g", Operator: fdg.Reduce, From: many, To: one},
		plan.Edge{Name: "from", Operator: fdg.Send, From: many, To: one},
		plan.Edge{Name: "net", Operator: fdg.Broadcast, From: one, To: many})
	seen := map[int]int{}
	w.run(func(i int, x *edge.X, s *rl.Scope) {
		l := newLearner(s)
		for round := 0; round < 10*k || i < k; round++ {
			x.Turn()
			if i == k {
				l.opt.Apply(edge.Reduced(x, 0), .1)
				l.opt.Apply(edge.Reduced(x, 0), .1)
				edge.Publish(x, 2, l.p)
				seen[edge.Sent[int](x, 1)]++
				continue
			}
			for range 2 {
				g, _ := l.loss.Grad(rl.Key{}, rowsOf(s, x.Lo, x.Hi).X)
				edge.Reduce(x, 0, g)
			}
			edge.Send(x, 1, i)
			edge.Fetch(x, 2, l.p)
		}
		w.stop(errDone)
	})
	total := 0
	for _, n := range seen {
		total += n
	}
	if total != 10*k {
		t.Errorf("sessions by replica: %v", seen)
	}
}

// TestSlowProducer: a consumer that takes from one producer at a time goes on while another does
// nothing, also where producers send to each other.
func TestSlowProducer(t *testing.T) {
	const k, rounds = 3, 20
	w := newQueues(t, k, 3, []int{1, 1, 1, 1, 1, 1, 1}, &edge.Async{Staleness: 100},
		plan.Edge{Name: "g", Operator: fdg.Reduce, From: many, To: one},
		plan.Edge{Name: "adv", Operator: fdg.AllGather, From: many, To: many},
		plan.Edge{Name: "net", Operator: fdg.Broadcast, From: one, To: many})
	done := make(chan struct{})
	end := sync.OnceFunc(func() { close(done) })
	late := time.AfterFunc(20*time.Second, func() {
		w.stop(errors.New("the consumer waits for a producer that it does not need"))
		end()
	})
	defer late.Stop()
	errs := w.run(func(i int, x *edge.X, s *rl.Scope) {
		l := newLearner(s)
		if i == 0 { // it sends nothing, and looks at nothing that it is sent
			<-done
		}
		for round := 0; round < rounds || i < k; round++ {
			x.Turn()
			if i == k {
				l.opt.Apply(edge.Reduced(x, 0), .1)
				edge.Publish(x, 2, l.p)
				continue
			}
			g, _ := l.loss.Grad(rl.Key{}, rowsOf(s, x.Lo, x.Hi).X)
			edge.Reduce(x, 0, g)
			edge.Fetch(x, 2, l.p)
		}
		w.stop(errDone)
		end()
	})
	if errs[k] != nil {
		t.Error(errs[k])
	}
}

// gaps notes the environments of which steps are missing.
type gaps struct {
	rl.Component
	envs map[int]bool
}

func (g *gaps) Break(envs []rl.Span) {
	for _, s := range envs {
		for e := s.Lo; e < s.Hi; e++ {
			g.envs[e] = true
		}
	}
}

// TestGaps: a store is told of environments whose steps do not follow the last ones that it was
// given, of all of them at the beginning, and of no others.
func TestGaps(t *testing.T) {
	const k, n, rounds = 3, 6, 60
	w := newQueues(t, k, n, []int{64, 64, 64, 64, 3}, &edge.Async{Staleness: 3, Producers: 1},
		plan.Edge{Name: "a", Operator: fdg.Gather, From: many, To: one}, plan.Edge{Name: "net", Operator: fdg.Broadcast, From: one, To: many})
	missing := 0
	errs := w.run(func(i int, x *edge.X, s *rl.Scope) {
		l := newLearner(s)
		for round := 0; i < k; round++ { // until it is stopped
			x.Turn()
			own := make([]float32, x.Hi-x.Lo)
			for j := range own {
				own[j] = float32(1000*(x.Lo+j) + round)
			}
			edge.Gather(x, 0, rl.FromFlat(s, own, len(own)))
			edge.Fetch(x, 1, l.p)
		}
		last, told := map[int]int{}, &gaps{envs: map[int]bool{}}
		x.Follows([]rl.Breaker{told})
		for range rounds {
			x.Turn()
			clear(told.envs)
			for _, v := range rl.Floats(edge.Gathered[rl.Tensor](x, 0)) {
				e, round := int(v)/1000, int(v)%1000
				before, known := last[e]
				if gap := !known || round != before+1; gap != told.envs[e] {
					t.Errorf("environment %d is at round %d behind %d, and the store is told %v", e, round, before, told.envs)
				} else if gap {
					missing++
				}
				last[e] = round
			}
			for range 2 { // versions
				l.p.Blend(l.p, 1)
				edge.Publish(x, 1, l.p)
			}
		}
		w.stop(errDone)
	})
	if errs[k] != nil {
		t.Fatal(errs[k])
	}
	if missing <= n {
		t.Errorf("only %d gaps: nothing was dropped", missing)
	}
}

// TestPartly: what a consumer keeps of every environment is, in each of its iterations,
// at those of the producers that it takes from, and at all of them when that is over.
func TestPartly(t *testing.T) {
	for _, producers := range []int{1, 2, 3} {
		const k, n, rounds = 3, 7, 30
		w := newQueues(t, k, n, []int{64, 64, 64, 64, 1}, &edge.Async{Staleness: 100, Producers: producers},
			plan.Edge{Name: "a", Operator: fdg.Gather, From: many, To: one}, plan.Edge{Name: "net", Operator: fdg.Broadcast, From: one, To: many})
		var kept *rl.Slots[rl.Tensor]
		errs := w.run(func(i int, x *edge.X, s *rl.Scope) {
			l := newLearner(s)
			for i < k { // until it is stopped
				x.Turn()
				own := make([]float32, x.Hi-x.Lo)
				for j := range own {
					own[j] = float32(x.Lo + j)
				}
				edge.Gather(x, 0, rl.FromFlat(s, own, len(own)))
				edge.Fetch(x, 1, l.p)
			}
			kept = rl.NewSlots(s, "kept", rl.FromFlat(s, []float32{0, 1, 2, 3, 4, 5, 6}, n))
			x.Partly([]rl.Narrower{kept})
			for range rounds {
				x.Turn()
				rows, mine := rl.Floats(edge.Gathered[rl.Tensor](x, 0)), rl.Floats(kept.Get())
				if fmt.Sprint(rows) != fmt.Sprint(mine) {
					t.Errorf("%d producers: rows %v came, and it is at %v", producers, rows, mine)
				}
				edge.Publish(x, 1, l.p)
			}
			x.Turn()
			w.stop(errDone)
		})
		if errs[k] != nil {
			t.Fatal(errs[k])
		}
		if all := rl.Floats(kept.Get()); fmt.Sprint(all) != "[0 1 2 3 4 5 6]" {
			t.Errorf("%d producers: %v are left", producers, all)
		}
	}
}
