//go:build xla

package pjrt

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

var vector = shapes.Make(dtypes.Float32, 4)

// compiled returns a graph function as an executable.
func compiled(t testing.TB, b *Backend, inputs []shapes.Shape, fn func(xs []*Node) []*Node) *Executable {
	t.Helper()
	g := NewGraph(b, strings.ReplaceAll(t.Name(), "/", "_"))
	var xs []*Node
	for i, s := range inputs {
		xs = append(xs, Parameter(g, string(rune('a'+i)), s))
	}
	if err := g.Compile(fn(xs)...); err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(g.Finalize)
	return g.Executable().(*Executable)
}

func put(t testing.TB, b *Backend, s shapes.Shape, flat ...float32) compute.Buffer {
	t.Helper()
	buf, err := b.BufferFromFlatData(0, flat, s)
	if err != nil {
		t.Fatal(err)
	}
	return buf
}

func get(t testing.TB, buf compute.Buffer) []float32 {
	t.Helper()
	s, err := buf.Shape()
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, s.Size())
	if err := buf.ToFlatData(out); err != nil {
		t.Fatal(err)
	}
	return out
}

// descent returns a step down a parabola: the new point, and the height before.
func descent(xs []*Node) []*Node {
	height := ReduceAllSum(Square(Sub(xs[0], xs[1])))
	return []*Node{Sub(xs[0], MulScalar(Gradient(height, xs[0])[0], 0.25)), height}
}

// TestCarry: a loop whose state stays on the device.
func TestCarry(t *testing.T) {
	b := backend(t)
	e := compiled(t, b, []shapes.Shape{vector, vector}, descent)
	first, target := put(t, b, vector, 0, 0, 0, 0), put(t, b, vector, 1, 2, 3, 4)
	call, err := e.Bind([]compute.Buffer{first, target}, Carry{Input: 0, Output: 0})
	if err != nil {
		t.Fatal(err)
	}
	if x, err := e.variant(form{donate: call.carry}); err != nil || x.OnDeviceMemoryUsageStats.Aliases != int64(vector.ByteSize()) {
		t.Errorf("the state is not updated in its own memory (%v)", err)
	}
	for i := range 4 {
		if i%2 == 0 {
			call.Start()
			if err := call.Wait(); err != nil {
				t.Fatal(err)
			}
		} else if err := call.Run(); err != nil {
			t.Fatal(err)
		}
		want := 30 * float32(math.Pow(0.25, float64(i)))
		if got := get(t, call.Outputs()[1]); got[0] != want {
			t.Errorf("round %d: height %v, want %v", i, got, want)
		}
	}
	if got := get(t, call.Outputs()[0]); !slices.Equal(got, []float32{0.9375, 1.875, 2.8125, 3.75}) {
		t.Errorf("arrived at %v", got)
	}
	if _, err := first.Shape(); err == nil {
		t.Error("the carried input is still there")
	}
	if got := get(t, target); got[3] != 4 {
		t.Errorf("the target is %v", got)
	}
	if err := call.SetInput(0, put(t, b, vector, 1, 2, 3, 4)); err != nil {
		t.Fatal(err)
	}
	if err := call.Run(); err != nil {
		t.Fatal(err)
	}
	if got := get(t, call.Outputs()[1]); got[0] != 0 {
		t.Errorf("height at the target: %v", got)
	}
	if err := call.Close(); err != nil {
		t.Fatal(err)
	}
	if err := call.Run(); err == nil {
		t.Error("a closed call ran")
	}
}

// TestDonate: what is given away is gone, and what it becomes is right.
func TestDonate(t *testing.T) {
	b := backend(t)
	e := compiled(t, b, []shapes.Shape{vector, vector}, descent)
	x, y := put(t, b, vector, 1, 1, 1, 1), put(t, b, vector, 3, 3, 3, 3)
	outs, err := e.Execute([]compute.Buffer{x, y}, []bool{true, true}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, outs[0]); !slices.Equal(got, []float32{2, 2, 2, 2}) {
		t.Errorf("got %v", got)
	}
	for _, in := range []compute.Buffer{x, y} {
		if _, err := in.Shape(); err == nil {
			t.Error("a donated input is still there")
		}
	}
	same := put(t, b, vector, 1, 1, 1, 1)
	if outs, err = e.Execute([]compute.Buffer{same, same}, []bool{true, false}, 0); err != nil {
		t.Fatal(err)
	}
	if got := get(t, outs[1]); got[0] != 0 {
		t.Errorf("height of a point over itself: %v", got)
	}
	if _, err := e.Execute([]compute.Buffer{same, same}, nil, 0); err == nil || !strings.Contains(err.Error(), "donated") {
		t.Errorf("a donated input was used again: %v", err)
	}
}

func TestBadCalls(t *testing.T) {
	b := backend(t)
	e := compiled(t, b, []shapes.Shape{vector, vector}, descent)
	x := put(t, b, vector, 1, 2, 3, 4)
	scalar := put(t, b, shapes.Make(dtypes.Float32), 1)
	foreign, err := cpu(t).BufferFromFlatData(0, []float32{1, 2, 3, 4}, vector)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, want string
		inputs     []compute.Buffer
		carry      []Carry
	}{
		{"too few", "1 inputs, want 2", []compute.Buffer{x}, nil},
		{"shape", "input 1 (b) is (Float32), want (Float32)[4]", []compute.Buffer{x, scalar}, nil},
		{"another backend's", "not a buffer of this backend", []compute.Buffer{x, foreign}, nil},
		{"carry shape", "input 0 is (Float32)[4], output 1 is (Float32)", []compute.Buffer{x, x}, []Carry{{0, 1}}},
		{"carry twice", "carried already", []compute.Buffer{x, x}, []Carry{{0, 0}, {1, 0}}},
		{"carry nothing", "there are 2 and 2", []compute.Buffer{x, x}, []Carry{{2, 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := e.Bind(tt.inputs, tt.carry...); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := b.BufferFromFlatData(0, []float32{1}, vector); err == nil {
		t.Error("a buffer of too few values")
	}
	if _, err := b.BufferFromFlatData(99, []float32{1, 2, 3, 4}, vector); err == nil {
		t.Error("a buffer on a device that is not there")
	}
}

// TestNoPlugin: a file that is no plugin is an error, not a crash.
func TestNoPlugin(t *testing.T) {
	o := Options{}
	o.Plugin.Path = "/dev/null"
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "cannot be loaded") {
		t.Errorf("error %v", err)
	}
}
