//go:build !race

// GoMLX's own backend does pointer arithmetic that the race detector's checks reject, so what compares with it is left
// out of race builds.

package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// TestDifferential compares random graphs with GoMLX's own backend.
func TestDifferential(t *testing.T) {
	other, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	b := newBackend(t, "")
	for seed := range uint64(150) {
		differ(t, b, other, seed, 30)
	}
}

func differ(t *testing.T, b, other compute.Backend, seed uint64, size int) {
	t.Helper()
	got, want := grown(t, b, seed, size, growShapes), grown(t, other, seed, size, growShapes)
	for i := range want {
		x, y := floats(got[i]), floats(want[i])
		for j := range y {
			if d := math.Abs(float64(x[j]) - float64(y[j])); d > 1e-3*(1+math.Abs(float64(y[j]))) {
				t.Fatalf("seed %d: result %d, element %d: got %v, want %v", seed, i, j, x[j], y[j])
			}
		}
	}
}

func FuzzDifferential(f *testing.F) {
	other, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		f.Fatal(err)
	}
	b, plain := newBackend(f, ""), newBackend(f, "off=all")
	f.Add(uint64(1), uint8(20))
	f.Fuzz(func(t *testing.T, seed uint64, size uint8) {
		differ(t, b, other, seed, 5+int(size)%60)
		differ(t, plain, other, seed, 5+int(size)%60)
	})
}

// TestGradients32 compares the float32 gradients, which take other kernels, with GoMLX's own backend.
func TestGradients32(t *testing.T) {
	conv := func(xs []*Node) []*Node {
		h := MaxScalar(Convolve(xs[0], xs[1]).Strides(4).NoPadding().Done(), 0)
		h = MaxScalar(Convolve(h, xs[2]).Strides(2).NoPadding().Done(), 0)
		l := ReduceAllSum(Square(h))
		return append([]*Node{l}, Gradient(l, xs...)...)
	}
	inputs := func() (args []any) {
		r := rand.New(rand.NewPCG(8, 9))
		for _, d := range [][]int{{3, 28, 28, 4}, {8, 8, 4, 16}, {4, 4, 16, 8}} {
			x := make([]float32, product(d))
			for i := range x {
				x[i] = float32(r.NormFloat64()) / 8
			}
			args = append(args, tensors.FromFlatDataAndDimensions(x, d...))
		}
		return args
	}
	other, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	exec, err := NewExec(other, conv)
	if err != nil {
		t.Fatal(err)
	}
	want, err := exec.Call(inputs()...)
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, newBackend(t, ""), conv, inputs()...)
	for i := range want {
		w, g := f32(t, want[i]), f32(t, got[i])
		for j := range w {
			if math.Abs(float64(g[j]-w[j])) > 1e-3*(1+math.Abs(float64(w[j]))) {
				t.Fatalf("output %d, element %d: %v, want %v", i, j, g[j], w[j])
			}
		}
	}
}
