// Package total adds numbers up in an order that is written down, so that Go and a device program
// get the same sum: halves are added element by element until one is left.
package total

import (
	"math/bits"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Sum returns the sum of numbers in float64, 0 if there are none.
func Sum[T float32 | float64](numbers []T) float64 {
	x := halved(numbers)
	for half := len(x) / 2; half > 0; half /= 2 {
		lo, hi := x[:half], x[half:2*half]
		for i := range lo {
			lo[i] += hi[i]
		}
	}
	return x[0]
}

// halved returns the first addition of halves, of the next power of two elements.
func halved[T float32 | float64](x []T) []float64 {
	size := 1 << bits.Len(uint(max(len(x), 2)-1)) // at least 2
	out := make([]float64, size/2)
	for i := range out {
		var a, b float64
		if i < len(x) {
			a = float64(x[i])
		}
		if i+size/2 < len(x) {
			b = float64(x[i+size/2])
		}
		out[i] = a + b
	}
	return out
}

// Node does what Sum does as graph code, of all elements of x.
func Node(x *graph.Node) *graph.Node {
	n := x.Shape().Size()
	size := 1 << bits.Len(uint(max(n, 2)-1))
	x = graph.ConvertDType(graph.Reshape(x, n), dtypes.Float64)
	if size > n {
		x = graph.Concatenate([]*graph.Node{x, graph.Zeros(x.Graph(), shapes.Make(dtypes.Float64, size-n))}, 0)
	}
	for half := size / 2; half > 0; half /= 2 {
		x = graph.Add(graph.Slice(x, graph.AxisRange(0, half)), graph.Slice(x, graph.AxisRange(half)))
	}
	return graph.Reshape(x)
}
