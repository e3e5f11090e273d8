package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// mlp is a network with the given widths: activations between its layers, weights and biases as
// inputs.
type mlp struct {
	widths []int
	act    func(*Node) *Node
}

var cartpole = mlp{[]int{4, 64, 64, 2}, Tanh}

// forward takes the batch, then a weight and a bias for each layer.
func (m mlp) forward(xs []*Node) *Node {
	h := xs[0]
	for i := 1; i < len(xs); i += 2 {
		h = Add(Dot(h, xs[i]).Product(), ExpandAxes(xs[i+1], 0))
		if i+2 < len(xs) {
			h = m.act(h)
		}
	}
	return h
}

// gradients takes the same, and returns the loss and its gradients by weights and biases.
func (m mlp) gradients(xs []*Node) []*Node {
	loss := ReduceAllMean(Square(m.forward(xs)))
	return append([]*Node{loss}, Gradient(loss, xs[1:]...)...)
}

// args makes random inputs.
func (m mlp) args(batch int) []any {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(dims ...int) *tensors.Tensor {
		data := make([]float32, product(dims))
		for i := range data {
			data[i] = float32(r.NormFloat64()) / 4
		}
		return tensors.FromFlatDataAndDimensions(data, dims...)
	}
	args := []any{random(batch, m.widths[0])}
	for i, w := range m.widths[1:] {
		args = append(args, random(m.widths[i], w), random(w))
	}
	return args
}

// flops counts a forward pass, or forward and backward.
func (m mlp) flops(batch int, backward bool) float64 {
	total := 0
	for i, w := range m.widths[1:] {
		n := 2 * m.widths[i] * w
		total += n
		if backward {
			total += n
			if i > 0 {
				total += n
			}
		}
	}
	return float64(total * batch)
}

func (m mlp) fn(backward bool) func(xs []*Node) []*Node {
	if backward {
		return m.gradients
	}
	return func(xs []*Node) []*Node { return []*Node{m.forward(xs)} }
}

func benchmarkExec(b *testing.B, backend compute.Backend, m mlp, batch int, backward bool) {
	exec, err := NewExec(backend, m.fn(backward))
	if err != nil {
		b.Fatal(err)
	}
	defer exec.Finalize()
	args := m.args(batch)
	b.ReportAllocs()
	for b.Loop() {
		outs, err := exec.Call(args...)
		if err != nil {
			b.Fatal(err)
		}
		for _, o := range outs {
			o.MustFinalizeAll()
		}
	}
	b.ReportMetric(m.flops(batch, backward)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// bind compiles a graph function for the lean path.
func bind(t testing.TB, backend *Backend, fn func(xs []*Node) []*Node, args []any) *Call {
	t.Helper()
	g := NewGraph(backend, "bound")
	var params []*Node
	var inputs []compute.Buffer
	for i, a := range args {
		x := a.(*tensors.Tensor)
		params = append(params, Parameter(g, fmt.Sprint("x", i), x.Shape()))
		buf, err := backend.BufferFromFlatData(0, tensors.MustCopyFlatData[float32](x), x.Shape())
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, buf)
	}
	if err := g.Compile(fn(params)...); err != nil {
		t.Fatal(err)
	}
	call, err := g.Executable().(*Executable).Bind(inputs, nil)
	if err != nil {
		t.Fatal(err)
	}
	return call
}

func benchmarkCall(b *testing.B, backend *Backend, m mlp, batch int, backward bool) {
	call := bind(b, backend, m.fn(backward), m.args(batch))
	b.ReportAllocs()
	for b.Loop() {
		if err := call.Run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(m.flops(batch, backward)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// BenchmarkMLP runs the network of CartPole through GoMLX's Exec and through the lean path, beside
// GoMLX's own backend.
func BenchmarkMLP(b *testing.B) {
	for _, backward := range []bool{false, true} {
		name := map[bool]string{false: "forward", true: "backward"}[backward]
		for _, batch := range []int{1, 64, 1024, 4096} {
			b.Run(fmt.Sprintf("%s/%d/lean", name, batch), func(b *testing.B) {
				benchmarkCall(b, newBackend(b, ""), cartpole, batch, backward)
			})
			b.Run(fmt.Sprintf("%s/%d/exec", name, batch), func(b *testing.B) {
				benchmarkExec(b, newBackend(b, ""), cartpole, batch, backward)
			})
			b.Run(fmt.Sprintf("%s/%d/gomlx", name, batch), func(b *testing.B) {
				backend, err := compute.NewWithConfig("go")
				if err != nil {
					b.Fatal(err)
				}
				defer backend.Finalize()
				benchmarkExec(b, backend, cartpole, batch, backward)
			})
		}
	}
}

// BenchmarkThreads measures the same on one thread and on all.
func BenchmarkThreads(b *testing.B) {
	for _, batch := range []int{1024, 4096} {
		for _, config := range []string{"threads=1", "threads=2"} {
			b.Run(fmt.Sprintf("%d/%s", batch, config), func(b *testing.B) {
				benchmarkCall(b, newBackend(b, config), cartpole, batch, true)
			})
		}
	}
}

// BenchmarkSAC measures a network of SAC's shape, forward and backward.
func BenchmarkSAC(b *testing.B) {
	relu := func(x *Node) *Node { return MaxScalar(x, 0) }
	benchmarkCall(b, newBackend(b, ""), mlp{[]int{17, 256, 256, 6}, relu}, 256, true)
}
