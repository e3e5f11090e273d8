package engine

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/compute/support/testutil"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"go.uber.org/goleak"

	"github.com/weft-rl/weft/engine/internal/enginetest"
	"github.com/weft-rl/weft/engine/internal/kernel"
)

func TestMain(m *testing.M) {
	// GoMLX's own backend, which tests compare with, keeps a pool of goroutines for good.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(
		"github.com/gomlx/compute/internal/gobackend/workerspool.(*Pool).WaitToStart"))
}

func outputs(t testing.TB, c *Call) [][]float32 {
	t.Helper()
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	var outs [][]float32
	for _, o := range c.Outputs() {
		flat, err := o.Data()
		if err != nil {
			t.Fatal(err)
		}
		outs = append(outs, slices.Clone(flat.([]float32)))
	}
	return outs
}

func equalBits(t *testing.T, what string, got, want [][]float32) {
	t.Helper()
	for i := range want {
		if at := sameBits(got[i], want[i]); at >= 0 {
			t.Fatalf("%s: output %d, element %d: %v, want %v", what, i, at, got[i][at], want[i][at])
		}
	}
}

// TestThreads: the same bits on any number of threads, at sizes where they are used.
func TestThreads(t *testing.T) {
	for _, batch := range []int{1, 63, 1000, 4099} {
		args := cartpole.args(batch)
		want := outputs(t, bind(t, newBackend(t, "threads=1"), cartpole.gradients, args))
		for _, threads := range []int{2, 3, 8} {
			b := newBackend(t, fmt.Sprint("threads=", threads))
			for range 3 {
				equalBits(t, fmt.Sprintf("batch %d, %d threads", batch, threads), outputs(t, bind(t, b, cartpole.gradients, args)), want)
			}
		}
	}
}

// TestSweeps: rows taken through many steps together have the bits of steps done one after the
// other, whether weights' gradients are summed tile by tile or not.
func TestSweeps(t *testing.T) {
	relu := func(x *Node) *Node { return MaxScalar(x, 0) }
	wide := mlp{[]int{17, 96, 300, 1}, relu}
	softmax := func(xs []*Node) []*Node { // a loss with sums over rows, and a policy's sample
		logits := cartpole.forward(xs)
		loss := ReduceAllSum(Square(Sub(LogSoftmax(logits), ReduceMax(Tanh(logits)))))
		sample := ConvertDType(ArgMax(logits, -1), dtypes.Float32)
		return append([]*Node{loss, sample}, Gradient(loss, xs[1:]...)...)
	}
	for _, tt := range []struct {
		name string
		net  mlp
		fn   func(xs []*Node) []*Node
	}{{"tanh", cartpole, cartpole.gradients}, {"wide", wide, wide.gradients}, {"softmax", cartpole, softmax}} {
		for _, batch := range []int{64, 128, 129, 300, 511, 512, 777, 1024, 2050} {
			args := tt.net.args(batch)
			want := outputs(t, bind(t, newBackend(t, "off=all,threads=1"), tt.fn, args))
			for _, config := range []string{"check,threads=1", "check,threads=2", "check,threads=3", "check,threads=8", "off=inplace", "off=tail", "off=epilogue", "off=fuse"} {
				what := fmt.Sprintf("%s, batch %d, %s", tt.name, batch, config)
				equalBits(t, what, outputs(t, bind(t, newBackend(t, config), tt.fn, args)), want)
			}
		}
	}
}

// TestConvolutions: their bits do not depend on passes or threads either.
func TestConvolutions(t *testing.T) {
	want := outputs(t, bind(t, newBackend(t, "off=all,threads=1"), convnet, convnetArgs()))
	for _, config := range []string{"", "threads=3", "off=epilogue", "off=tail"} {
		equalBits(t, config, outputs(t, bind(t, newBackend(t, config), convnet, convnetArgs())), want)
	}
}

// TestResidual: a region that reads what the product at its head reads must not write over it.
func TestResidual(t *testing.T) {
	fn := func(xs []*Node) []*Node {
		h := Tanh(xs[0])
		for i := range 4 {
			w := h
			if i%2 == 0 {
				w = xs[1]
			}
			square := Mul(h, h) // first, so that h is what the planner would rather write over
			h = Tanh(Add(square, Dot(Transpose(h, 0, 1), w).Product()))
		}
		return []*Node{h}
	}
	args := imageArgs([][]int{{200, 200}, {200, 200}})
	want := outputs(t, bind(t, newBackend(t, "off=all,threads=1"), fn, args))
	for _, config := range []string{"", "threads=1", "threads=3"} {
		equalBits(t, config, outputs(t, bind(t, newBackend(t, config), fn, args)), want)
	}
}

// TestLoopHead: a product whose region updates the state of a loop in place must not be put over
// that state.
func TestLoopHead(t *testing.T) {
	fn := func(xs []*Node) []*Node {
		return enginetest.Loop(xs[0].Graph(), 3, xs[:1], func(_ *Node, s []*Node) []*Node {
			half := MulScalar(s[0], 0.5)
			return []*Node{Tanh(Add(half, Dot(xs[1], xs[1]).Product()))}
		})
	}
	args := imageArgs([][]int{{70, 70}, {70, 70}})
	want := outputs(t, bind(t, newBackend(t, "off=all,threads=1"), fn, args))
	for _, config := range []string{"", "threads=1", "off=tail"} {
		equalBits(t, config, outputs(t, bind(t, newBackend(t, config), fn, args)), want)
	}
}

// TestLevels: the same bits from every level of the kernels.
func TestLevels(t *testing.T) {
	best := kernel.Active()
	defer func() { _ = kernel.Use(best) }()
	b := newBackend(t, "")
	args := cartpole.args(77)
	want := outputs(t, bind(t, b, cartpole.gradients, args))
	for l := range best {
		if err := kernel.Use(l); err != nil {
			t.Fatal(err)
		}
		equalBits(t, l.String(), outputs(t, bind(t, b, cartpole.gradients, args)), want)
	}
}

// TestRows: row i of a batch has the same bits whatever the batch.
func TestRows(t *testing.T) {
	b := newBackend(t, "")
	const all = 10_000
	fn := func(xs []*Node) []*Node {
		h := cartpole.forward(xs)
		return []*Node{h, Softmax(h), ReduceSum(Exp(h), -1), Tanh(xs[0])}
	}
	args := cartpole.args(all)
	want := outputs(t, bind(t, b, fn, args))
	x := tensors.MustCopyFlatData[float32](args[0].(*tensors.Tensor))
	for _, batch := range []int{1, 7, 64, 1000} {
		for _, first := range []int{0, 3, all - batch} {
			args[0] = tensors.FromFlatDataAndDimensions(slices.Clone(x[first*4:(first+batch)*4]), batch, 4)
			for i, got := range outputs(t, bind(t, b, fn, args)) {
				width := len(got) / batch
				if at := sameBits(got, want[i][first*width:]); at >= 0 {
					t.Fatalf("batch %d from row %d: output %d differs at %d", batch, first, i, at)
				}
			}
		}
	}
}

// TestAllocs: a bound call allocates nothing, threads or not.
func TestAllocs(t *testing.T) {
	for _, batch := range []int{1, 64, 4096} {
		call := bind(t, newBackend(t, "threads=2"), cartpole.gradients, cartpole.args(batch))
		if n := testing.AllocsPerRun(10, func() { _ = call.Run() }); n != 0 {
			t.Errorf("batch %d: %v allocations", batch, n)
		}
	}
	loop := bind(t, newBackend(t, ""), func(xs []*Node) []*Node {
		g := xs[0].Graph()
		return enginetest.Loop(g, 10, xs, func(i *Node, s []*Node) []*Node {
			row := Reshape(Tanh(ReduceSum(s[0], 0)), 1, 4)
			return []*Node{DynamicUpdateSlice(s[0], row, []*Node{i, ScalarZero(g, dtypes.Int32)})}
		})
	}, []any{tensors.FromFlatDataAndDimensions(make([]float32, 40), 10, 4)})
	if n := testing.AllocsPerRun(10, func() { _ = loop.Run() }); n != 0 {
		t.Errorf("loop: %v allocations", n)
	}
}

// TestSwap: a state carried from run to run.
func TestSwap(t *testing.T) {
	x := tensors.FromFlatDataAndDimensions([]float32{1, 2}, 2)
	call := bind(t, newBackend(t, ""), func(xs []*Node) []*Node { return []*Node{MulScalar(xs[0], 3)} }, []any{x})
	for range 4 {
		if err := call.Run(); err != nil {
			t.Fatal(err)
		}
		if err := call.Swap(0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := outputs(t, call)[0]; !slices.Equal(got, []float32{243, 486}) {
		t.Errorf("got %v", got)
	}
	if err := call.Swap(1, 0); err == nil {
		t.Error("there is no input 1")
	}
	call.Close()
	if err := call.Run(); err == nil {
		t.Error("a closed call ran")
	}
}

// TestBind: wrong buffers are refused.
func TestBind(t *testing.T) {
	b, other := newBackend(t, ""), newBackend(t, "")
	x := tensors.FromFlatDataAndDimensions([]float32{1, 2}, 2)
	call := bind(t, b, func(xs []*Node) []*Node { return []*Node{Neg(xs[0])} }, []any{x})
	buffer := func(b *Backend, n int) compute.Buffer {
		buf, err := b.BufferFromFlatData(0, make([]float32, n), shapes.Make(dtypes.Float32, n))
		if err != nil {
			t.Fatal(err)
		}
		return buf
	}
	in, gone := buffer(b, 2), buffer(b, 2)
	if err := gone.Finalize(); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name     string
		ins, out []compute.Buffer
	}{
		{"no inputs", nil, nil},
		{"another backend", []compute.Buffer{buffer(other, 2)}, nil},
		{"another shape", []compute.Buffer{buffer(b, 3)}, nil},
		{"finalised", []compute.Buffer{gone}, nil},
		{"output is input", []compute.Buffer{in}, []compute.Buffer{in}},
		{"output of another shape", []compute.Buffer{in}, []compute.Buffer{buffer(b, 3)}},
		{"too many outputs", []compute.Buffer{in}, []compute.Buffer{buffer(b, 2), buffer(b, 2)}},
	}
	for _, tt := range tests {
		if _, err := call.exec.Bind(tt.ins, tt.out); err == nil {
			t.Errorf("%s: bound", tt.name)
		}
	}
	if err := call.SetInput(0, call.Outputs()[0]); err == nil {
		t.Error("the output could become the input")
	}
	if err := call.SetInput(0, in); err != nil {
		t.Error(err)
	}
}

// TestConcurrent: one executable, many goroutines.
func TestConcurrent(t *testing.T) {
	b := newBackend(t, "threads=2")
	args := cartpole.args(600)
	call := bind(t, b, cartpole.gradients, args)
	want := outputs(t, call)
	var ins []compute.Buffer
	for _, in := range call.inputs {
		ins = append(ins, in)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				outs, err := call.exec.Execute(ins, nil, 0)
				if err != nil {
					t.Error(err)
					return
				}
				flat, _ := outs[1].Data()
				if at := sameBits(flat.([]float32), want[1]); at >= 0 {
					t.Errorf("goroutine %d: element %d differs", i, at)
				}
				for _, o := range outs {
					_ = o.Finalize()
				}
			}
		})
	}
	wg.Wait()
}

// TestLeak: executing again and again holds no more memory.
func TestLeak(t *testing.T) {
	b := newBackend(t, "")
	args := cartpole.args(256)
	call := bind(t, b, cartpole.gradients, args)
	var ins []compute.Buffer
	for _, in := range call.inputs {
		ins = append(ins, in)
	}
	measure := func() uint64 {
		for range 300 {
			outs, err := call.exec.Execute(ins, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range outs {
				_ = o.Finalize()
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := measure()
	if after := measure(); after > before+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
	if n := len(call.exec.frames); n > 1 {
		t.Errorf("%d frames kept for sequential executions", n)
	}
}

// TestDonate: a donated buffer is gone after the call, and only then.
func TestDonate(t *testing.T) {
	b := newBackend(t, "")
	shape := shapes.Make(dtypes.Float32, 3)
	in, err := b.BufferFromFlatData(0, []float32{1, 2, 3}, shape)
	if err != nil {
		t.Fatal(err)
	}
	builder := b.Builder("donate")
	f := builder.Main()
	x, _ := f.Parameter("x", shape, nil)
	y, _ := f.Neg(x)
	_ = f.Return([]compute.Value{y}, nil)
	exec, err := builder.Compile()
	if err != nil {
		t.Fatal(err)
	}
	outs, err := exec.Execute([]compute.Buffer{in}, []bool{true}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if flat, _ := outs[0].Data(); !slices.Equal(flat.([]float32), []float32{-1, -2, -3}) {
		t.Errorf("got %v", flat)
	}
	if _, err := in.Data(); err == nil {
		t.Error("the donated buffer is still there")
	}
	if _, err := exec.Execute([]compute.Buffer{in}, nil, 0); err == nil {
		t.Error("the donated buffer could be used again")
	}
}

// TestRandomBits: the generator gives the same stream whole or in pieces, and moves its state.
func TestRandomBits(t *testing.T) {
	b := newBackend(t, "threads=2")
	seed := []uint64{rand.Uint64(), 1<<64 - 2, 5}
	whole, pieces, next, err := testutil.Exec3(b, []any{seed}, func(f compute.Function, ps []compute.Value) (
		compute.Value, compute.Value, compute.Value, error) {
		words := func(state compute.Value, n int) (compute.Value, compute.Value) {
			s, v, err := f.RNGBitGenerator(state, shapes.Make(dtypes.Uint32, n))
			if err != nil {
				t.Fatal(err)
			}
			return s, v
		}
		last, a := words(ps[0], 100_000)
		state, first := words(ps[0], 40_000)
		_, second := words(state, 60_000)
		both, err := f.Concatenate(0, first, second)
		return a, both, last, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(whole.([]uint32), pieces.([]uint32)) {
		t.Error("two pieces differ from the whole")
	}
	if n := next.([]uint64); n[0] != seed[0] || n[1] != seed[1]+25_000 || n[2] != 6 {
		t.Errorf("state %v after %v", n, seed)
	}
}
