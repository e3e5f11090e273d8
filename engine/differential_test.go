//go:build !race

// GoMLX's own backend does pointer arithmetic that the race detector's checks reject, so what
// compares with it is left out of race builds.

package engine

import (
	"math"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine/internal/enginetest"
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
	got, want := enginetest.Grown(t, b, seed, size, enginetest.Tame), enginetest.Grown(t, other, seed, size, enginetest.Tame)
	for i := range want {
		x, y := enginetest.Floats(got[i]), enginetest.Floats(want[i])
		for j := range y {
			if d := math.Abs(float64(x[j]) - float64(y[j])); d > 5e-3*(1+math.Abs(float64(y[j]))) {
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
		differ(t, b, other, seed, 12+int(size)%60)
		differ(t, plain, other, seed, 12+int(size)%60)
	})
}

// TestGradients32 compares the float32 gradients, which take other kernels, with GoMLX's own
// backend.
func TestGradients32(t *testing.T) {
	other, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	exec, err := NewExec(other, convnet)
	if err != nil {
		t.Fatal(err)
	}
	want, err := exec.Call(convnetArgs()...)
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, newBackend(t, ""), convnet, convnetArgs()...)
	for i := range want {
		w, g := f32(t, want[i]), f32(t, got[i])
		for j := range w {
			if math.Abs(float64(g[j]-w[j])) > 1e-3*(1+math.Abs(float64(w[j]))) {
				t.Fatalf("output %d, element %d: %v, want %v", i, j, g[j], w[j])
			}
		}
	}
}
