package engine

import (
	"sync/atomic"
	"testing"
)

// TestBeside: a job is done once, by as many goroutines as there are cores left for this process.
func TestBeside(t *testing.T) {
	b := &Backend{workers: newWorkers(4)}
	defer b.workers.stop()
	for _, c := range []struct{ others, share int }{{0, 4}, {1, 2}, {0, 4}, {3, 1}, {9, 1}, {2, 1}, {1, 2}, {-1, 4}} {
		if b.Beside(nil); c.others >= 0 {
			b.Beside(func() int { return c.others })
		}
		if got := b.workers.fair(); got != c.share {
			t.Errorf("beside %d others %d goroutines work, not %d", c.others, got, c.share)
		}
		for range 200 {
			var done [100]atomic.Int32
			b.workers.run(nil, func(_ *frame, lo, hi, _ int) {
				for i := lo; i < hi; i++ {
					done[i].Add(1)
				}
			}, len(done), 3)
			for i := range done {
				if n := done[i].Load(); n != 1 {
					t.Fatalf("beside %d others, item %d was done %d times", c.others, i, n)
				}
			}
		}
	}
}
