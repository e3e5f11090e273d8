package engine

import (
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/weft-rl/weft/engine/internal/enginetest"
)

// run executes a graph function through GoMLX and returns its outputs.
func run(t testing.TB, b *Backend, fn func(xs []*Node) []*Node, args ...any) []*tensors.Tensor {
	t.Helper()
	exec, err := NewExec(b, fn)
	if err != nil {
		t.Fatal(err)
	}
	outs, err := exec.Call(args...)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	exec.Finalize()
	return outs
}

func f32(t testing.TB, x *tensors.Tensor) []float32 {
	t.Helper()
	return slices.Clone(tensors.MustCopyFlatData[float32](x))
}

func TestControl(t *testing.T) {
	for _, config := range []string{"", "off=all", "threads=1,off=inplace"} {
		b := newBackend(t, config)
		for _, tt := range enginetest.Controls() {
			t.Run(config+"/"+tt.Name, func(t *testing.T) {
				out := run(t, b, tt.Fn, tt.Args...)[0]
				if got := f32(t, out); !slices.Equal(got, tt.Want) {
					t.Errorf("got %v, want %v", got, tt.Want)
				}
			})
		}
	}
}

func TestCall(t *testing.T) {
	b := newBackend(t, "")
	out := run(t, b, func(xs []*Node) []*Node {
		g := xs[0].Graph()
		square := NewFunction(g, "square", func(g *Graph) []*Node {
			x := Parameter(g, "x", shapes.Make(dtypes.Float32, 2))
			return []*Node{Mul(x, x)}
		})
		twice := NewFunction(g, "twice", func(g *Graph) []*Node {
			x := Parameter(g, "x", shapes.Make(dtypes.Float32, 2))
			return square.Call(square.Call(x)[0])
		})
		return []*Node{Add(twice.Call(xs[0])[0], square.Call(xs[0])[0])}
	}, []float32{2, 3})[0]
	if got, want := f32(t, out), []float32{20, 90}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSort(t *testing.T) {
	b := newBackend(t, "")
	in := [][]float32{{3, 1, 2}, {9, 8, 7}}
	out := run(t, b, func(xs []*Node) []*Node {
		return []*Node{Sort(xs[0], 1, true), Sort(xs[0], 0, false)}
	}, in)
	top := run(t, b, func(xs []*Node) []*Node {
		v, i := TopK(xs[0], 2, -1)
		return []*Node{v, ConvertDType(i, dtypes.Float32)}
	}, in)
	for i, want := range [][]float32{{3, 2, 9, 8}, {0, 2, 0, 1}} {
		if got := f32(t, top[i]); !slices.Equal(got, want) {
			t.Errorf("top %d: got %v, want %v", i, got, want)
		}
	}
	for i, want := range [][]float32{{1, 2, 3, 7, 8, 9}, {9, 8, 7, 3, 1, 2}} {
		if got := f32(t, out[i]); !slices.Equal(got, want) {
			t.Errorf("sort %d: got %v, want %v", i, got, want)
		}
	}
}
