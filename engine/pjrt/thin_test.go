//go:build xla

package pjrt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// TestThin: thin products as sums and as columns are the products that they stand for, whichever
// axes are contracted.
func TestThin(t *testing.T) {
	b := backend(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ m, k, n, x, y int }{
		{5, 4, 3, 1, 0}, {5, 1, 3, 1, 0}, {7, 8, 9, 0, 0}, {7, 8, 9, 1, 1}, {6, 2, 64, 0, 1}, // over a short axis
		{9, 64, 2, 1, 0}, {9, 64, 1, 1, 1}, {1, 256, 4, 1, 0}, // of few columns
		{9, 64, 5, 1, 0}, {64, 9, 2, 0, 0}, {9, 300, 2, 1, 0}, // neither
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			x, y := random(r, c.m, c.k, c.x), random(r, c.k, c.n, 1-c.y)
			product := func(x, y *graph.Node) *graph.Node { return graph.DotGeneral(x, []int{c.x}, nil, y, []int{c.y}, nil) }
			want, got := call(t, b, product, x, y), call(t, spread(b), product, x, y)
			for i := range want {
				if math.Abs(float64(want[i]-got[i])) > 1e-4 {
					t.Fatalf("element %d is %v, not %v", i, got[i], want[i])
				}
			}
		})
	}
}

// random returns an a x b matrix, transposed unless axis is 1.
func random(r *rand.Rand, a, b, axis int) [][]float32 {
	if axis == 0 {
		a, b = b, a
	}
	out := make([][]float32, a)
	for i := range out {
		out[i] = make([]float32, b)
		for j := range out[i] {
			out[i][j] = float32(r.NormFloat64())
		}
	}
	return out
}

func call(t *testing.T, b compute.Backend, f func(x, y *graph.Node) *graph.Node, x, y [][]float32) []float32 {
	t.Helper()
	exec := graph.MustNewExec(b, f)
	defer exec.Finalize()
	return tensors.MustCopyFlatData[float32](exec.MustCall1(x, y))
}
