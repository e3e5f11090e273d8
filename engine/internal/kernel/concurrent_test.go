package kernel

import (
	"sync"
	"testing"
)

// TestConcurrent: kernels on memory of their own may run side by side, and a product split over
// goroutines has the bits of one that is not.
func TestConcurrent(t *testing.T) {
	c := gemmCase{m: 200, n: 70, k: 90, tb: true}
	g := c.make(t, rng(21), func(n int) []float32 { return make([]float32, n) })
	want := naive(g)
	for range 5 {
		clear(g.C)
		var wg sync.WaitGroup
		for i := 0; i < c.m; i += 50 {
			wg.Go(func() {
				if err := g.RunRange(i, i+50, 0, c.n, make([]float32, g.Scratch())); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if err := diff(want, g.C); err != nil {
			t.Fatal(err)
		}
	}
}
