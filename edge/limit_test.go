package edge_test

import (
	"context"
	"math"
	"testing"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/rl"
)

// counted is a store that only counts. A producer's iteration inserts 10 rows; from 100 rows on, an
// iteration samples 120.
type counted struct {
	rl.Component
	in, out int64
}

func (c *counted) Rows() (inserted, sampled int64) { return c.in, c.out }
func (c *counted) PerInsert() float64              { return 3 }

func (c *counted) iterate(sessions int) {
	learns := c.in >= 100
	if c.in += 10 * int64(sessions); learns {
		c.out += 120
	}
}

// TestLimiter: of four producers, with which the loop samples 3 rows for each inserted and 12 with
// one of them, every ratio from 3 to 12 is kept as closely as the tolerance allows, whether
// producers are quick or slow. Whichever is ahead waits.
func TestLimiter(t *testing.T) {
	const k = 4
	for _, ratio := range []float64{3, 4, 6, 7.5, 12} {
		for _, tolerance := range []float64{0, .1, .5} {
			for _, quick := range []bool{true, false} {
				store := &counted{}
				l := edge.NewLimiter(edge.Limit{Ratio: ratio, Tolerance: tolerance}, store)
				room := max(tolerance*ratio*160, 10*ratio) // there are 160 rows at most when sampling has begun
				waited := false
				for range 400 {
					least, most := l.Bounds(k)
					if least < 1 || most < least || most > k {
						t.Fatalf("takes from %d to %d of %d", least, most, k)
					}
					took := least
					if quick {
						took = most
					}
					waited = waited || l.Begun() && (quick && most < k || !quick && least > 1)
					store.iterate(took)
					l.Note(took)
					if ahead := l.Ahead(); l.Begun() && math.Abs(ahead) > room+1e-9 {
						t.Fatalf("ratio %g, tolerance %g, quick %t: %g samples ahead, want at most %g", ratio, tolerance, quick, ahead, room)
					}
				}
				if got, ok := l.PerInsert(); !ok || math.Abs(got-ratio) > .1*ratio {
					t.Errorf("ratio %g, tolerance %g, quick %t: %g", ratio, tolerance, quick, got)
				}
				if !waited && !(quick && ratio == 3) && !(!quick && ratio == 12) {
					t.Errorf("ratio %g, tolerance %g, quick %t: nobody waited", ratio, tolerance, quick)
				}
			}
		}
	}
}

// TestLimiterTells: without a limit nobody waits for it, and the ratio is told.
func TestLimiterTells(t *testing.T) {
	store := &counted{in: 1000, out: 7} // as after a resume
	l := edge.NewLimiter(edge.Limit{}, store)
	if _, ok := l.PerInsert(); ok {
		t.Error("a ratio before anything was sampled")
	}
	for range 3 {
		store.iterate(4)
		l.Note(4)
	}
	if got, ok := l.PerInsert(); !ok || got != 3 {
		t.Errorf("%g %t, want 3", got, ok)
	}
}

// watched is a link that tells when its replica is about to block.
type watched struct {
	edge.Link
	blocks chan struct{}
}

func (w watched) Next(ctx context.Context) (edge.Message, error) {
	select {
	case w.blocks <- struct{}{}:
	case <-ctx.Done():
	}
	return w.Link.Next(ctx)
}

// limited is a consumer of k producers of other processes that keeps 6 samples per insert.
type limited struct {
	*remote
	x      *edge.X
	store  *counted
	blocks chan struct{}
	took   chan int // by iteration; -1 for one that failed
	stop   context.CancelFunc
}

func newLimited(t *testing.T, k int) *limited {
	l := &limited{remote: newRemote(t, k, fdg.Gather), store: &counted{in: 100}, blocks: make(chan struct{}), took: make(chan int, 1)}
	l.top.Async.Limit.Ratio = 6
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	var err error
	if l.x, err = edge.New(ctx, l.top, 1, 0, l.scopes[k], watched{l.link.Link(k), l.blocks}); err != nil {
		t.Fatal(err)
	}
	l.x.Paces([]string{"replay"}, []rl.Metered{l.store})
	return l
}

// all has producers send all of an iteration.
func (l *limited) all(iter int64, from ...int) {
	for _, i := range from {
		l.begins(i, iter)
		l.sends(i, 1, iter, 0, l.row(i, iter))
	}
}

// iterate begins an iteration.
func (l *limited) iterate() {
	go func() {
		n := -1
		if err := rl.Catch(func() error {
			a := edge.Gathered[rl.Tensor](l.x, 0)
			edge.Gathered[rl.Tensor](l.x, 1)
			n = a.Rows()
			return nil
		}); err == nil {
			l.store.iterate(n)
			l.x.Turn()
		}
		l.took <- n
	}()
}

// takes checks that an iteration takes from so many producers, without blocking.
func (l *limited) takes(want int) {
	l.Helper()
	l.iterate()
	select {
	case got := <-l.took:
		if got != want {
			l.Fatalf("it took from %d producers, want %d", got, want)
		}
	case <-l.blocks:
		l.Fatalf("it waits, and should take from %d producers", want)
	}
}

// TestLimited: a consumer takes from as many producers as its limit needs. It waits for
// another one while samples are ahead, until one comes or the run is stopped; while inserts
// are ahead, it leaves what has come where it is.
func TestLimited(t *testing.T) {
	l := newLimited(t, 4)
	l.all(1, 0, 1, 2, 3)
	l.takes(4) // with this sampling has begun
	l.all(2, 0, 1, 2, 3)
	l.takes(3) // 30 rows inserted stand for 180 samples, of which 120 are drawn: 60 ahead, as many as may be
	l.all(3, 0, 1)
	l.takes(2)
	l.takes(1)
	l.all(4, 0)
	l.takes(1) // now samples are 60 ahead
	l.all(4, 1)
	l.iterate()
	<-l.blocks // one producer is not enough
	l.all(3, 2)
	if got := <-l.took; got != 2 {
		t.Errorf("it took from %d producers, want 2", got)
	}
	if got := l.x.PerInsert(); len(got) != 1 || got[0].Name != "replay/samples_per_insert" || math.Abs(got[0].X-600./90) > 1e-9 {
		t.Errorf("it tells %v", got)
	}
	l.iterate()
	<-l.blocks
	l.stop()
	if got := <-l.took; got != -1 {
		t.Errorf("it took from %d producers of a run that is stopped", got)
	}
}
