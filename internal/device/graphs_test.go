package device_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

func scope(t testing.TB) *rl.Scope {
	t.Helper()
	d, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(d, 1)
}

// rolling is a device where chains of steps become loops.
type rolling struct{ compute.Backend }

func (rolling) Rolls() bool { return true }

// Draws inside a graph, which the engine generates or a loop does, are those of Go,
// however many a row has and whichever row is the first.
func TestGraphUniform(t *testing.T) {
	s := scope(t)
	t.Run("generated", func(t *testing.T) { compareUniform(t, s) })
	t.Run("loop", func(t *testing.T) { compareUniform(t, rl.NewScope(rl.NewDevice(rolling{s.Device().Backend()}), 1)) })
}

func compareUniform(t *testing.T, s *rl.Scope) {
	for _, dims := range [][2]int{{1, 1}, {1, 9}, {17, 4}, {5, 7}, {300, 2}, {3, 64}, {3, 65}, {2, 200}} {
		k := rl.NewKey(0x9e3779b97f4a7c15).Use("k").At(1000)
		words := rl.System.Words(k)
		draw := rl.NewFunc(s, "draw", func(_ *rl.Ctx, key rl.Tensor) rl.Tensor {
			return rl.Wrap(rl.System.GraphUniform(key.Node(), "act", dims[0], dims[1]))
		})
		got := rl.Read[float32](draw.Call(rl.Key{}, rl.FromFlat(s, words[:], 5)))
		for i, x := range got {
			if want := float32(k.Use("act").Uniform(i/dims[1], i%dims[1])); x != want {
				t.Fatalf("%v: number %d is %v, want %v", dims, i, x, want)
			}
		}
	}
}

// doubling is a trainer that doubles a memory of three numbers a few times in every
// iteration, statement by statement or as one graph.
type doubling struct {
	scope  *rl.Scope
	memory *rl.Slots[rl.Tensor]
	double *rl.Func[rl.Tensor, rl.Tensor]
	rounds int
	stop   float64 // the sum beyond which it stops
	extra  func() rl.Tensor
}

func newDoubling(t testing.TB) *doubling { return doublingIn(scope(t)) }

func doublingIn(s *rl.Scope) *doubling {
	return &doubling{
		scope: s, memory: rl.NewSlots(s, "memory", rl.FromFlat(s, []float32{1, 2, 3}, 3)),
		double: rl.NewFunc(s, "double", func(_ *rl.Ctx, x rl.Tensor) rl.Tensor { return rl.Wrap(graph.MulScalar(x.Node(), 2)) }),
		rounds: 3, stop: 1e9,
	}
}

func (d *doubling) Agent() rl.Agent { return nil }

func (d *doubling) Train(run *rl.Run) error {
	for run.Next() {
		var last rl.Tensor
		if !rl.System.Fused(run, "doubling", []rl.Carried{rl.Carry(&last)}, func() { last = d.graph(run) }) {
			last = d.statements(run)
		}
		run.Log("last", last)
		d.scope.AddSteps(1)
	}
	return run.Err()
}

func (d *doubling) statements(run *rl.Run) rl.Tensor {
	x := d.memory.Get()
	for range d.rounds {
		run.Log("before", x)
		x = d.double.Call(rl.Key{}, x)
		run.Log("sum", rl.Mean(x))
		if run.Value(rl.Mean(x)) > d.stop {
			break
		}
	}
	d.memory.Set(rl.Map(x, func(t rl.Tensor) rl.Tensor { return t }))
	run.Log("before", rl.Mean(x))
	return x
}

func (d *doubling) graph(run *rl.Run) rl.Tensor {
	x := d.memory.Get()
	if d.extra != nil {
		x = d.extra()
	}
	rl.System.Until(run, d.rounds, []rl.Carried{rl.Carry(&x)}, func(rl.Int) rl.Tensor {
		run.Log("before", x)
		x = d.double.Call(rl.Key{}, x)
		run.Log("sum", rl.Mean(x))
		return edge.Calc(run, edge.Number(run, rl.Mean(x)), ">", d.stop)
	})
	d.memory.Set(x)
	run.Log("before", rl.Mean(x))
	return x
}

// told returns what a run logged, and how it went.
func (d *doubling) told(t *testing.T, fuse bool, iterations int64) (logs []string, calls int64, apart map[string]error) {
	t.Helper()
	run := rl.NewRun(d.scope, iterations, func(c rl.Cut) error {
		logs = append(logs, fmt.Sprint(c.Iter, c.Logs))
		return nil
	})
	if fuse {
		rl.System.Fuse(run)
	}
	if err := rl.Train(d, run); err != nil {
		t.Fatal(err)
	}
	calls, apart = rl.System.Fusing(run)
	return append(logs, fmt.Sprint(rl.Floats(d.memory.Get()))), calls, apart
}

// A graph does what statements do, logs of several shapes and of a loop that ends
// early included.
func TestFused(t *testing.T) {
	for _, stop := range []float64{1e9, 100, 3} {
		plain, graphs := newDoubling(t), newDoubling(t)
		plain.stop, graphs.stop = stop, stop
		want, none, _ := plain.told(t, false, 5)
		got, calls, apart := graphs.told(t, true, 5)
		if !slices.Equal(got, want) {
			t.Errorf("stop %v:\n%v\nwant\n%v", stop, got, want)
		}
		if none != 0 || calls != 4 || len(apart) > 0 {
			t.Errorf("stop %v: %d calls without fusion, %d with it, want 0 and 4; apart: %v", stop, none, calls, apart)
		}
	}
}

// Where a graph cannot be built, statements do the work, and why is known.
func TestFusedApart(t *testing.T) {
	d := newDoubling(t)
	d.extra = func() rl.Tensor {
		rl.Fail(fmt.Errorf("not here"))
		return rl.Tensor{}
	}
	want, _, _ := newDoubling(t).told(t, false, 3)
	got, calls, apart := d.told(t, true, 3)
	if !slices.Equal(got, want) || calls != 0 {
		t.Errorf("%d calls, %v, want %v", calls, got, want)
	}
	if why := apart["doubling"]; why == nil || !strings.Contains(why.Error(), "not here") {
		t.Errorf("apart: %v", why)
	}
}

// What is not a number in a graph was not done by it.
func TestFusedFailure(t *testing.T) {
	d := newDoubling(t)
	d.extra = func() rl.Tensor {
		x := d.memory.Get()
		d.scope.Lowering().Finite("x", []rl.Tensor{rl.Wrap(graph.Log(graph.Sub(x.Node(), graph.Const(x.Node().Graph(), []float32{9, 9, 9}))))})
		return x
	}
	want, _, _ := newDoubling(t).told(t, false, 4)
	got, calls, apart := d.told(t, true, 4)
	if !slices.Equal(got, want) || calls != 2 || len(apart) > 0 {
		t.Errorf("%d calls, %v, want 2, %v; %v", calls, got, want, apart)
	}
}
