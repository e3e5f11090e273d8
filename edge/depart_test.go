package edge_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// outside is where replicas of other processes are: it notes who may come again.
type outside struct{ released []int }

func (*outside) Carry(int, edge.Message) error { return nil }
func (*outside) Newest(int, edge.Message)      {}
func (*outside) Credit(int, int, int)          {}
func (*outside) Want(int, int, int)            {}
func (*outside) Busy()                         {}
func (*outside) Hurry(bool)                    {}
func (o *outside) Released(r int)              { o.released = append(o.released, r) }

// remote is a consumer of two edges whose k producers are those of other processes.
type remote struct {
	*testing.T
	*world
	k   int
	out outside
}

func newRemote(t *testing.T, k int, kind fdg.Operator) *remote {
	r := &remote{T: t, k: k}
	r.world = newQueues(t, k, k, []int{4, 4, 4, 4, 2}, &edge.Async{Staleness: 100},
		plan.Edge{Name: "a", Operator: kind, From: many, To: one}, plan.Edge{Name: "b", Operator: fdg.Gather, From: many, To: one})
	away := make([]bool, k+1)
	for i := range k {
		away[i] = true
	}
	r.link.Join(away, &r.out)
	return r
}

// sends has a producer send a message; the first of an iteration has its steps.
func (r *remote) sends(from, e int, iter, steps int64, v any) {
	r.Helper()
	if err := r.link.Deliver(r.k, edge.Message{From: from, Edge: e, Iter: iter, Steps: steps, Value: v}, false); err != nil {
		r.Fatal(err)
	}
}

// begins has a producer announce an iteration, and send the first message of it.
func (r *remote) begins(from int, iter int64) {
	r.sends(from, 4, iter, 0, nil)
	r.sends(from, 0, iter, 10, r.row(from, iter))
}

// row returns what is sent: who sent it, in which iteration.
func (r *remote) row(from int, iter int64) rl.Tensor {
	return rl.FromFlat(r.scopes[r.k], []float32{float32(from) + 10*float32(iter)}, 1)
}

// takes returns an iteration of the consumer's, which takes from both edges.
func (r *remote) takes() (a, b []float64, err error) {
	x := r.x[r.k]
	err = rl.Catch(func() error {
		a = rl.Floats(edge.Gathered[rl.Tensor](x, 0))
		b = rl.Floats(edge.Gathered[rl.Tensor](x, 1))
		return nil
	})
	x.Turn()
	return a, b, err
}

// TestDeparted: an iteration whose producer goes in its midst is given up, with what
// the others sent for it, and counts nothing; the next one does without it, and those
// after it take from who has come in its place.
func TestDeparted(t *testing.T) {
	const k = 3
	r := newRemote(t, k, fdg.Gather)
	x := r.x[k]
	for from := range k {
		r.begins(from, 1)
		if from != 1 {
			r.sends(from, 1, 1, 0, r.row(from, 1))
			r.begins(from, 2)
			r.sends(from, 1, 2, 0, r.row(from, 2))
		}
	}
	r.link.Depart(k, 1)
	if _, _, err := r.takes(); !errors.Is(err, edge.ErrDeparted) {
		t.Fatal(err)
	}
	if x.Taken() != 0 || !slices.Equal(r.out.released, []int{1}) || !x.Gone(1) {
		t.Errorf("%d steps; released: %v", x.Taken(), r.out.released)
	}
	a, b, err := r.takes()
	if want := []float64{20, 22}; err != nil || !slices.Equal(a, want) || !slices.Equal(b, want) {
		t.Errorf("%v and %v, want %v; %v", a, b, want, err)
	}
	for from := range k { // the new one has all room, and counts from 1
		for iter := range int64(2) {
			iter += 3
			if from == 1 {
				iter -= 2
			}
			r.begins(from, iter)
			r.sends(from, 1, iter, 0, r.row(from, iter))
		}
	}
	for i := range int64(2) {
		want := []float64{30 + 10*float64(i), 11 + 10*float64(i), 32 + 10*float64(i)}
		if a, b, err := r.takes(); err != nil || !slices.Equal(a, want) || !slices.Equal(b, want) {
			t.Errorf("%v and %v, want %v; %v", a, b, want, err)
		}
	}
	if x.Taken() != 80 || x.Gone(1) {
		t.Errorf("%d steps", x.Taken())
	}
}

// TestDepartedBefore: who goes before its iteration is begun with is not waited for,
// even if its first message was taken.
func TestDepartedBefore(t *testing.T) {
	const k = 2
	r := newRemote(t, k, fdg.Gather)
	r.begins(0, 1)
	r.link.Depart(k, 0)
	r.begins(1, 1)
	r.sends(1, 1, 1, 0, r.row(1, 1))
	if a, _, err := r.takes(); err != nil || !slices.Equal(a, []float64{11}) {
		t.Errorf("%v, %v", a, err)
	}
	if n := r.x[k].Taken(); n != 10 {
		t.Errorf("%d steps", n)
	}
}

// TestDepartedWhole: a consumer that needs all rows waits for another producer in the
// place of one that is gone.
func TestDepartedWhole(t *testing.T) {
	const k = 2
	r := newRemote(t, k, fdg.Gather)
	r.top.Async.Whole = true
	r.begins(0, 1)
	r.link.Depart(k, 0)
	for from := range k {
		r.begins(from, 5)
		r.sends(from, 1, 5, 0, r.row(from, 5))
	}
	if a, b, err := r.takes(); err != nil || !slices.Equal(a, []float64{50, 51}) || !slices.Equal(b, a) {
		t.Errorf("%v and %v, %v", a, b, err)
	}
}

// TestDepartedApplied: steps of a gradient that was applied count, though the rest of
// its iteration never came.
func TestDepartedApplied(t *testing.T) {
	const k = 2
	r := newRemote(t, k, fdg.Reduce)
	x, l := r.x[k], newLearner(r.scopes[k])
	g, _ := l.loss.Grad(rl.Key{}, rowsOf(r.scopes[k], 0, 2).X)
	weight, sums := rl.System.HandGrads(g)
	r.sends(0, 4, 1, 0, nil)
	r.sends(0, 0, 1, 10, edge.GradientOf(g, weight, sums))
	r.link.Depart(k, 0)
	err := rl.Catch(func() error {
		l.opt.Apply(edge.Reduced(x, 0), .1)
		edge.Gathered[rl.Tensor](x, 1)
		return nil
	})
	x.Turn()
	if !errors.Is(err, edge.ErrDeparted) || x.Taken() != 10 {
		t.Errorf("%d steps, %v", x.Taken(), err)
	}
}
