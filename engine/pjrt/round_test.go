//go:build xla

package pjrt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/plugin"
)

// TestBF16: products round their operands to bfloat16 and nothing else: their sums are float32's,
// of the exact products.
func TestBF16(t *testing.T) {
	b := rounding(t, ir.BF16)
	r := rand.New(rand.NewPCG(1, 2))
	type product struct{ m, k, n, x, y int }
	cases := []product{{5, 64, 7, 1, 0}, {64, 100, 64, 1, 0}, {7, 300, 9, 0, 0}, {7, 30, 9, 1, 1}}
	if *kind == string(plugin.CPU) { // a GPU may multiply vectors by themselves, and XLA then see no reason to round
		cases = append(cases, product{9, 300, 1, 1, 0}, product{1, 64, 9, 1, 0})
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			x, y := random(r, c.m, c.k, c.x), random(r, c.k, c.n, 1-c.y)
			multiply := func(x, y *graph.Node) *graph.Node { return graph.DotGeneral(x, []int{c.x}, nil, y, []int{c.y}, nil) }
			plain := func(x, y *graph.Node) *graph.Node { return multiply(graph.Tanh(x), y) }
			rounded := func(x, y *graph.Node) *graph.Node { return multiply(half(graph.Tanh(x)), half(y)) }
			exact, want, got := call(t, backend(t), plain, x, y), call(t, cpu(t), rounded, x, y), call(t, b, plain, x, y)
			off := 0.0
			for i := range want {
				if math.Abs(float64(want[i]-got[i])) > 2e-3 { // tanh of the one may round otherwise than of the other
					t.Fatalf("element %d is %v, not %v", i, got[i], want[i])
				}
				off = max(off, math.Abs(float64(exact[i]-got[i])))
			}
			if off < 4e-3 {
				t.Errorf("nothing was rounded: it is off by %g at most", off)
			}
		})
	}
}

// half returns what has been a bfloat16.
func half(x *graph.Node) *graph.Node {
	return graph.ConvertDType(graph.ConvertDType(x, dtypes.BFloat16), dtypes.Float32)
}

// TestGradients: gradients of a network, which on a GPU are one kernel, are the CPU engine's, as
// far as products round.
func TestGradients(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x, w := random(r, 200, 4, 1), random(r, 4, 64, 1)
	gradients := func(x, w *graph.Node) *graph.Node {
		deep := graph.MulScalar(graph.Sin(graph.IotaFull(w.Graph(), shapes.Make(dtypes.Float32, 64, 64))), 0.2)
		y := graph.Tanh(graph.Dot(graph.Tanh(graph.Dot(x, w).Product()), deep).Product())
		each := graph.Gradient(graph.ReduceAllMean(graph.Square(graph.AddScalar(y, -1))), w, deep)
		return graph.Concatenate([]*graph.Node{graph.Reshape(each[0], -1), graph.Reshape(each[1], -1)}, 0)
	}
	want := call(t, cpu(t), gradients, x, w)
	largest := 0.0
	for _, v := range want {
		largest = max(largest, math.Abs(float64(v)))
	}
	for p, tolerance := range map[ir.Precision]float64{ir.Exact: 1e-4, ir.TF32: 5e-3, ir.BF16: 2e-2} {
		off := 0.0
		for i, v := range call(t, rounding(t, p), gradients, x, w) {
			if d := math.Abs(float64(v - want[i])); !(d <= off) {
				off = d
			}
		}
		if !(off <= tolerance*largest) {
			t.Errorf("%s: off by %g where the largest is %g", p, off, largest)
		}
		t.Logf("%s: off by %.2g of the largest", p, off/largest)
	}
}

// rounding returns the backend with a precision.
func rounding(t testing.TB, p ir.Precision) *Backend {
	b := backend(t)
	out := &Backend{options: b.options, client: b.client}
	out.options.Precision = p
	return out
}
