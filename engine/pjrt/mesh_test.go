//go:build xla

package pjrt

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/distributed"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// learning returns weights that follow the mean of rows for a few rounds, beside the rows in
// another order.
func learning(g *graph.Graph, w, x *graph.Node) []*graph.Node {
	for range 3 {
		mean := graph.ReduceMean(graph.Tanh(graph.Mul(x, graph.BroadcastToShape(graph.ExpandAxes(w, 0), x.Shape()))), 0)
		w = graph.Add(w, mean)
	}
	return []*graph.Node{w, graph.Neg(x), graph.Transpose(x, 0, 1)}
}

// program compiles learning, shared out among the devices of a backend if there are several parts
// of it.
func program(t *testing.T, b compute.Backend, parts, rows int) compute.Executable {
	t.Helper()
	g := graph.NewGraph(b, "learning")
	t.Cleanup(g.Finalize)
	var cut, across *distributed.ShardingSpec
	if parts > 0 {
		mesh, err := distributed.NewDeviceMesh([]int{parts}, []string{"d"})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.SetAutoSharding(mesh); err != nil {
			t.Fatal(err)
		}
		if cut, err = distributed.BuildSpec(mesh).S("d").Done(); err != nil {
			t.Fatal(err)
		}
		if across, err = distributed.BuildSpec(mesh).R().S("d").Done(); err != nil {
			t.Fatal(err)
		}
	}
	w := graph.Parameter(g, "w", vector)
	x := graph.ShardedParameter(g, "x", shapes.Make(dtypes.Float32, rows, 4), cut)
	var specs []*distributed.ShardingSpec
	if parts > 0 {
		specs = []*distributed.ShardingSpec{nil, cut, across}
	}
	if err := g.CompileWithSharding(learning(g, w, x), specs); err != nil {
		t.Fatalf("%+v", err)
	}
	return g.Executable()
}

// called runs a program on numbers of its own, and then on what came out of it.
func called(t *testing.T, b compute.Backend, e compute.Executable, rows int) (out [][]float32) {
	t.Helper()
	numbers := make([]float32, 4*rows)
	for i := range numbers {
		numbers[i] = float32(i%7) - 2.5
	}
	w, err := b.BufferFromFlatData(0, []float32{1, -1, .5, 0}, vector)
	if err != nil {
		t.Fatal(err)
	}
	x, err := b.BufferFromFlatData(0, numbers, shapes.Make(dtypes.Float32, rows, 4))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		got, err := e.Execute([]compute.Buffer{w, x}, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range got {
			out = append(out, get(t, o))
		}
		w, x = got[0], got[1]
	}
	return out
}

// TestMesh: a computation that is shared out among devices gives what it gives on one, to rounding,
// and takes and gives whole tensors.
func TestMesh(t *testing.T) {
	b := backend(t)
	n := min(b.NumDevices(), 4)
	m, err := NewMesh(b, n)
	if err != nil {
		t.Fatal(err)
	}
	if m.NumDevices() != n || m.Parts() != n || !strings.Contains(m.Description(), "devices of") {
		t.Errorf("%d devices, %d parts: %s", m.NumDevices(), m.Parts(), m.Description())
	}
	rows := 6 * n
	one := cpu(t)
	want := called(t, one, program(t, one, 0, rows), rows)
	shared, alone := program(t, m, n, rows), program(t, m, 0, rows)
	for name, e := range map[string]compute.Executable{"shared out": shared, "on one of them": alone} {
		for i, got := range called(t, m, e, rows) {
			near := func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-5 }
			if !slices.EqualFunc(got, want[i], near) {
				t.Errorf("%s: result %d is %v, want %v", name, i, got, want[i])
			}
		}
	}
	var all sync.WaitGroup
	for range 4 { // side by side, as seeds are
		all.Go(func() { called(t, m, shared, rows) })
	}
	all.Wait()
	text, err := shared.(*meshExecutable).of.Program()
	if err != nil || !strings.Contains(text, "sdy.mesh @devices") {
		t.Errorf("%v in\n%s", err, text)
	}
}

// TestMeshLayouts: a tensor is laid out as a computation wants it, whichever way it lay before.
func TestMeshLayouts(t *testing.T) {
	b := backend(t)
	n := b.NumDevices()
	if n < 2 {
		t.Skip("there is one device")
	}
	m, err := NewMesh(b, 2)
	if err != nil {
		t.Fatal(err)
	}
	shape := shapes.Make(dtypes.Float32, 4, 2)
	numbers := []float32{1, 2, 3, 4, 5, 6, 7, 8}
	made, err := m.BufferFromFlatData(0, numbers, shape)
	if err != nil {
		t.Fatal(err)
	}
	x := made.(*MeshBuffer)
	for _, want := range []struct {
		axis  int
		parts [][]float32
	}{
		{0, [][]float32{{1, 2, 3, 4}, {5, 6, 7, 8}}}, {1, [][]float32{{1, 3, 5, 7}, {2, 4, 6, 8}}}, {-1, [][]float32{numbers, numbers}},
	} {
		for range 2 { // the second time it is remembered
			parts, err := x.laid(want.axis, 2)
			if err != nil {
				t.Fatal(err)
			}
			for d, p := range parts {
				if got := get(t, p); !slices.Equal(got, want.parts[d]) || int(p.num) != d {
					t.Errorf("along %d, device %d has %v on %d, want %v", want.axis, d, got, p.num, want.parts[d])
				}
			}
			again := &MeshBuffer{mesh: m, shape: shape, axis: want.axis, parts: parts}
			if got := get(t, again); !slices.Equal(got, numbers) {
				t.Errorf("put together from axis %d: %v", want.axis, got)
			}
		}
	}
	if err := x.Finalize(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.laid(0, 2); err == nil || x.ToFlatData(numbers) == nil {
		t.Error("a tensor that was given back is read")
	}
	if err := x.Finalize(); err != nil {
		t.Error(err)
	}
}

// TestMeshTooLarge: devices that are not there are said so.
func TestMeshTooLarge(t *testing.T) {
	b := backend(t)
	if _, err := NewMesh(b, b.NumDevices()+1); err == nil || !strings.Contains(err.Error(), "there are") {
		t.Errorf("error %v", err)
	}
}
