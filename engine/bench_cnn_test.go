package engine

import (
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// nature is the network of the DQN paper on 84x84x4 images: its parameters' shapes, and its loss's
// gradients.
var natureDims = [][]int{{8, 8, 4, 32}, {4, 4, 32, 64}, {3, 3, 64, 64}, {7 * 7 * 64, 512}, {512, 6}}

func nature(xs []*Node) []*Node {
	relu := func(x *Node) *Node { return MaxScalar(x, 0) }
	h := relu(Convolve(xs[0], xs[1]).Strides(4).NoPadding().Done())
	h = relu(Convolve(h, xs[2]).Strides(2).NoPadding().Done())
	h = relu(Convolve(h, xs[3]).NoPadding().Done())
	h = relu(Dot(Reshape(h, -1, 7*7*64), xs[4]).Product())
	loss := ReduceAllMean(Square(Dot(h, xs[5]).Product()))
	return append([]*Node{loss}, Gradient(loss, xs[1:]...)...)
}

func natureArgs(batch int) []any {
	return imageArgs(append([][]int{{batch, 84, 84, 4}}, natureDims...))
}

func imageArgs(dims [][]int) []any {
	r := rand.New(rand.NewPCG(1, 2))
	var args []any
	for _, d := range dims {
		x := make([]float32, product(d))
		for i := range x {
			x[i] = float32(r.NormFloat64()) / 16
		}
		args = append(args, tensors.FromFlatDataAndDimensions(x, d...))
	}
	return args
}

// convnet returns a small network of convolutions, and its loss's gradients.
func convnet(xs []*Node) []*Node {
	h := MaxScalar(Convolve(xs[0], xs[1]).Strides(4).NoPadding().Done(), 0)
	h = MaxScalar(Convolve(h, xs[2]).Strides(2).NoPadding().Done(), 0)
	l := ReduceAllSum(Square(h))
	return append([]*Node{l}, Gradient(l, xs...)...)
}

func convnetArgs() []any { return imageArgs([][]int{{3, 28, 28, 4}, {8, 8, 4, 16}, {4, 4, 16, 8}}) }

// BenchmarkNature measures the network forward and backward.
func BenchmarkNature(b *testing.B) {
	const batch = 256
	call := bind(b, newBackend(b, ""), nature, natureArgs(batch))
	b.ReportAllocs()
	for b.Loop() {
		if err := call.Run(); err != nil {
			b.Fatal(err)
		}
	}
	macs := 400*32*256 + 81*64*512 + 49*64*576 + 3136*512 + 512*6
	b.ReportMetric(float64(6*macs*batch)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
