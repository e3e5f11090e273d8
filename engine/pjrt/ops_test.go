//go:build xla

package pjrt

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/compute/support/testutil"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/engine/internal/enginetest"
)

// cpu returns the CPU engine, which all results are compared with.
func cpu(t testing.TB) compute.Backend {
	t.Helper()
	b, err := engine.New("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Finalize)
	return b
}

// TestOps compares every operation and type with the CPU engine.
func TestOps(t *testing.T) {
	b, want := backend(t), cpu(t)
	for _, c := range enginetest.Ops(want) {
		t.Run(c.Name, func(t *testing.T) { c.Compare(t, b, want) })
	}
}

func TestKnown(t *testing.T) {
	b := backend(t)
	for _, tt := range enginetest.Knowns() {
		t.Run(tt.Name, func(t *testing.T) {
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

// TestControl: control flow nests, with sorts and gradients inside.
func TestControl(t *testing.T) {
	b := backend(t)
	for _, tt := range enginetest.Controls() {
		t.Run(tt.Name, func(t *testing.T) {
			exec, err := NewExec(b, tt.Fn)
			if err != nil {
				t.Fatal(err)
			}
			defer exec.Finalize()
			outs, err := exec.Call(tt.Args...)
			if err != nil {
				t.Fatalf("%+v", err)
			}
			if got := tensors.MustCopyFlatData[float32](outs[0]); !slices.Equal(got, tt.Want) {
				t.Errorf("got %v, want %v", got, tt.Want)
			}
		})
	}
}

// TestRandomGraphs compares random graphs, nested loops among them, with the CPU engine.
func TestRandomGraphs(t *testing.T) {
	b, other := backend(t), cpu(t)
	for seed := range uint64(12) {
		got, want := enginetest.Grown(t, b, seed, 40, enginetest.Rich), enginetest.Grown(t, other, seed, 40, enginetest.Rich)
		for i := range want {
			x, y := enginetest.Floats(got[i]), enginetest.Floats(want[i])
			for j := range y {
				if d := math.Abs(float64(x[j]) - float64(y[j])); !(d <= 5e-3*(1+math.Abs(float64(y[j])))) && x[j] != y[j] {
					t.Fatalf("seed %d: result %d, element %d: got %v, want %v", seed, i, j, x[j], y[j])
				}
			}
		}
	}
}

// TestRandomBits: the same bits as the CPU engine's, for every width, also where counters carry
// over.
func TestRandomBits(t *testing.T) {
	b, other := backend(t), cpu(t)
	states := []any{[]uint64{1, 2, 3}, []uint64{math.MaxUint64, math.MaxUint64 - 3, 5},
		[]uint64{7, math.MaxUint32 - 1, math.MaxUint64}}
	var like []shapes.Shape
	for _, d := range []dtypes.DType{dtypes.Uint8, dtypes.Uint16, dtypes.Uint32, dtypes.Uint64} {
		for _, dims := range [][]int{{}, {3}, {7, 5}, {0, 4}} {
			like = append(like, shapes.Make(d, dims...))
		}
	}
	build := func(f compute.Function, ps []compute.Value) (outs []compute.Value, err error) {
		for _, state := range ps {
			for _, s := range like {
				next, bits, err := f.RNGBitGenerator(state, s)
				if err != nil {
					return nil, err
				}
				outs = append(outs, next, bits)
			}
		}
		return outs, nil
	}
	got, err := testutil.Exec(b, states, build)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	want, err := testutil.Exec(other, states, build)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
			t.Errorf("result %d, of %s: %v, want %v", i, like[i/2%len(like)], got[i], want[i])
		}
	}
}
