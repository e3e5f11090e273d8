package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// TestGradients compares GoMLX's gradients on the engine with finite differences, in float64.
func TestGradients(t *testing.T) {
	tests := []struct {
		name string
		dims [][]int // of the inputs, all differentiated
		loss func(xs []*Node) *Node
	}{
		{"dense tanh", [][]int{{3, 4}, {4, 5}, {5}}, func(xs []*Node) *Node {
			return Tanh(Add(Dot(xs[0], xs[1]).Product(), ExpandAxes(xs[2], 0)))
		}},
		{"dense sigmoid, transposed", [][]int{{3, 4}, {5, 4}}, func(xs []*Node) *Node {
			return Sigmoid(Dot(xs[0], Transpose(xs[1], 0, 1)).Product())
		}},
		{"layer norm", [][]int{{3, 6}, {6}}, func(xs []*Node) *Node {
			mean := ReduceAndKeep(xs[0], ReduceMean, -1)
			d := Sub(xs[0], mean)
			return Mul(Div(d, Sqrt(AddScalar(ReduceAndKeep(Square(d), ReduceMean, -1), 1e-3))), ExpandAxes(xs[1], 0))
		}},
		{"batch norm", [][]int{{5, 3}, {3}, {3}}, func(xs []*Node) *Node {
			y, _, _ := InternalBatchNormForTraining(xs[0], xs[1], xs[2], 1e-3, 1)
			return Mul(y, Sin(xs[0]))
		}},
		{"log softmax", [][]int{{4, 5}}, func(xs []*Node) *Node {
			return Mul(LogSoftmax(xs[0]), Sin(xs[0]))
		}},
		{"gru", [][]int{{2, 3}, {2, 4}, {3, 12}, {4, 12}}, func(xs []*Node) *Node {
			h := xs[1]
			for range 3 {
				x, u := Dot(xs[0], xs[2]).Product(), Dot(h, xs[3]).Product()
				part := func(n *Node, i int) *Node { return Slice(n, AxisRange(), AxisRange(4*i, 4*i+4)) }
				r := Sigmoid(Add(part(x, 0), part(u, 0)))
				z := Sigmoid(Add(part(x, 1), part(u, 1)))
				c := Tanh(Add(part(x, 2), Mul(r, part(u, 2))))
				h = Add(Mul(z, h), Mul(OneMinus(z), c))
			}
			return h
		}},
		{"convolution", [][]int{{2, 7, 5, 2}, {3, 3, 2, 3}}, func(xs []*Node) *Node {
			return Tanh(Convolve(xs[0], xs[1]).Strides(2).NoPadding().Done())
		}},
		{"convolution, padded", [][]int{{2, 5, 6, 2}, {3, 3, 2, 3}}, func(xs []*Node) *Node {
			return Tanh(Convolve(xs[0], xs[1]).PadSame().Done())
		}},
		{"convolution, dilated, no padding", [][]int{{1, 7, 7, 1}, {2, 2, 1, 2}}, func(xs []*Node) *Node {
			return Convolve(xs[0], xs[1]).Dilations(2).NoPadding().Done()
		}},
		{"max pool", [][]int{{1, 4, 6, 2}}, func(xs []*Node) *Node {
			return Mul(MaxPool(xs[0]).Window(2).Done(), Const(xs[0].Graph(), 1.5))
		}},
		{"mean pool", [][]int{{1, 4, 6, 2}}, func(xs []*Node) *Node {
			return Square(MeanPool(xs[0]).Window(2).Done())
		}},
		{"gather", [][]int{{5, 3}}, func(xs []*Node) *Node {
			return Square(Gather(xs[0], Const(xs[0].Graph(), [][]int32{{4}, {0}, {4}})))
		}},
		{"einsum", [][]int{{2, 3, 4}, {2, 4, 5}}, func(xs []*Node) *Node {
			return Einsum("bij,bjk->bik", xs[0], xs[1])
		}},
		{"clip and where", [][]int{{4, 4}}, func(xs []*Node) *Node {
			return Where(GreaterThan(xs[0], ScalarZero(xs[0].Graph(), dtypes.Float64)), Mul(xs[0], xs[0]), MulScalar(xs[0], 0.1))
		}},
		{"concatenate and slice", [][]int{{2, 3}, {2, 4}}, func(xs []*Node) *Node {
			return Square(Slice(Concatenate(xs, -1), AxisRange(), AxisRange(1, 6)))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { checkGradient(t, tt.dims, tt.loss) })
	}
}

func checkGradient(t *testing.T, dims [][]int, loss func(xs []*Node) *Node) {
	b := newBackend(t, "")
	r := rand.New(rand.NewPCG(5, 6))
	var data [][]float64
	for _, d := range dims {
		x := make([]float64, product(d))
		for i := range x {
			x[i] = r.NormFloat64()
		}
		data = append(data, x)
	}
	exec, err := NewExec(b, func(xs []*Node) []*Node {
		l := ReduceAllSum(loss(xs))
		return append([]*Node{l}, Gradient(l, xs...)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	call := func() []*tensors.Tensor {
		var args []any
		for i, x := range data {
			args = append(args, tensors.FromFlatDataAndDimensions(slices.Clone(x), dims[i]...))
		}
		outs, err := exec.Call(args...)
		if err != nil {
			t.Fatalf("%+v", err)
		}
		return outs
	}
	grads := call()[1:]
	const h = 1e-6
	for i, x := range data {
		got := tensors.MustCopyFlatData[float64](grads[i])
		for j := range x {
			at := func(d float64) float64 {
				old := x[j]
				defer func() { x[j] = old }()
				x[j] += d
				return tensors.ToScalar[float64](call()[0])
			}
			want := (at(h) - at(-h)) / (2 * h)
			if math.Abs(got[j]-want) > 1e-5*(1+math.Abs(want)) {
				t.Fatalf("input %d, element %d: gradient %v, by differences %v", i, j, got[j], want)
			}
		}
	}
	exec.Finalize()
}
