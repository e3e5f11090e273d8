//go:build xla

package pjrt

import (
	"fmt"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine/internal/enginetest"
)

// bound returns a call whose first output is its first input again.
func bound(b *testing.B, on *Backend, inputs []shapes.Shape, fn func(xs []*Node) []*Node) *Call {
	b.Helper()
	var bufs []compute.Buffer
	for _, s := range inputs {
		flat := make([]float32, s.Size())
		for i := range flat {
			flat[i] = float32(i%13) / 100
		}
		bufs = append(bufs, put(b, on, s, flat...))
	}
	call, err := compiled(b, on, inputs, fn).Bind(bufs, Carry{0, 0})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := call.Close(); err != nil {
			b.Error(err)
		}
	})
	return call
}

func repeat(b *testing.B, call *Call) {
	b.Helper()
	for b.Loop() {
		if err := call.Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall measures what a run costs that computes nothing.
func BenchmarkCall(b *testing.B) {
	repeat(b, bound(b, backend(b), []shapes.Shape{vector}, func(xs []*Node) []*Node { return []*Node{AddScalar(xs[0], 1)} }))
}

// BenchmarkProduct measures square products.
func BenchmarkProduct(b *testing.B) {
	for _, n := range []int{256, 1024, 4096} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			on := backend(b)
			if *kind == "cpu" && n > 1024 {
				b.Skip("too large for a CPU")
			}
			s := shapes.Make(dtypes.Float32, n, n)
			repeat(b, bound(b, on, []shapes.Shape{s, s}, func(xs []*Node) []*Node { return []*Node{Dot(xs[0], xs[1]).Product()} }))
			b.ReportMetric(2*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// BenchmarkWhile measures a loop on the device: rounds of a layer of 64 units on a batch.
func BenchmarkWhile(b *testing.B) {
	const rounds = 100
	for _, batch := range []int{1, 128, 4096} {
		b.Run(fmt.Sprint(batch), func(b *testing.B) {
			inputs := []shapes.Shape{shapes.Make(dtypes.Float32, batch, 64), shapes.Make(dtypes.Float32, 64, 64)}
			repeat(b, bound(b, backend(b), inputs, func(xs []*Node) []*Node {
				return enginetest.Loop(xs[0].Graph(), rounds, xs[:1], func(_ *Node, s []*Node) []*Node {
					return []*Node{Tanh(Dot(s[0], xs[1]).Product())}
				})
			}))
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/rounds*1e6, "us/round")
		})
	}
}
