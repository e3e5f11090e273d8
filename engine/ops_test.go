//go:build !race

package engine

import (
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/compute/support/testutil"

	"github.com/weft-rl/weft/engine/internal/enginetest"
)

// TestOps compares every operation and type with GoMLX's own backend, if that has it.
func TestOps(t *testing.T) {
	other, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	b := newBackend(t, "")
	for _, c := range enginetest.Ops(other) {
		t.Run(c.Name, func(t *testing.T) { c.Compare(t, b, other) })
	}
}

// TestKnown checks operations against results worked out by hand.
func TestKnown(t *testing.T) {
	for _, config := range []string{"", "off=all"} {
		b := newBackend(t, config)
		for _, tt := range enginetest.Knowns() {
			t.Run(config+"/"+tt.Name, func(t *testing.T) {
				got, err := testutil.Exec1(b, tt.Args, tt.Build)
				if err != nil {
					t.Fatalf("%+v", err)
				}
				if ok, diff := testutil.IsInDelta(tt.Want, got, 1e-6); !ok {
					t.Errorf("got %v, want %v\n%s", got, tt.Want, diff)
				}
			})
		}
	}
}

// TestUnsupported: what is missing says so, with the operation and the type.
func TestUnsupported(t *testing.T) {
	b := newBackend(t, "")
	f := b.Builder("x").Main()
	if _, err := f.Parameter("c", shapes.Make(dtypes.Complex64, 2), nil); !compute.IsNotImplemented(err) {
		t.Errorf("complex parameter: %v", err)
	}
	x, err := f.Parameter("x", shapes.Make(dtypes.Float32, 2), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.FFT(x, compute.FFTForward, []int{2}); !compute.IsNotImplemented(err) {
		t.Errorf("FFT: %v", err)
	}
	flags, err := f.Parameter("b", shapes.Make(dtypes.Bool, 2), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReduceSum(flags); !compute.IsNotImplemented(err) || err.Error() != "ReduceSum of Bool: op not implemented" {
		t.Errorf("sum of bools: %v", err)
	}
	for op, listed := range b.Capabilities().Operations {
		if listed && (op == compute.OpTypeFFT || op == compute.OpTypeComplex) {
			t.Errorf("%s is listed", op)
		}
	}
}
