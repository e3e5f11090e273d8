//go:build xla

package device_test

import (
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

// On a device that is far a graph looks at what environments returned when its part
// of the loop is over: what is not a number was not done by it there either, and what
// is a number was.
func TestFusedXLA(t *testing.T) {
	dev, err := device.Open("xla:cpu")
	if err != nil {
		t.Fatal(err) // it says what to install
	}
	want, _, _ := doublingIn(rl.NewScope(dev, 1)).told(t, false, 4)
	for _, from := range []float32{0, 9} { // logarithms of numbers above 0, and of one below
		d := doublingIn(rl.NewScope(dev, 1))
		d.extra = func() rl.Tensor {
			x := d.memory.Get()
			d.scope.Lowering().FiniteStep("x", []rl.Tensor{rl.Wrap(graph.Log(graph.AddScalar(x.Node(), -from)))})
			return x
		}
		got, calls, apart := d.told(t, true, 4)
		fused := int64(3) // all but the first
		if from > 0 {
			fused = 2 // nor the second, which begins with 8, 16 and 24
		}
		if !slices.Equal(got, want) || calls != fused || len(apart) > 0 {
			t.Errorf("from %v: %d calls, %v, want %d, %v; %v", from, calls, got, fused, want, apart)
		}
	}
}

// A value is brought to a device once, whoever reads it there, and back once.
func TestCopiesXLA(t *testing.T) {
	dev, err := device.Open("xla:cpu")
	if err != nil {
		t.Fatal(err)
	}
	here := scope(t)
	double := func(s *rl.Scope) *rl.Func[rl.Tensor, rl.Tensor] {
		return rl.NewFunc(s, "double", func(_ *rl.Ctx, x rl.Tensor) rl.Tensor { return rl.Wrap(graph.MulScalar(x.Node(), 2)) })
	}
	on, off := double(rl.NewScope(dev, 1)), double(here)
	x := rl.FromFlat(here, []float32{1, 2, 3}, 3)
	for range 2 {
		y := on.Call(rl.Key{}, x)
		if got := rl.Floats(off.Call(rl.Key{}, y)); !slices.Equal(got, []float64{4, 8, 12}) {
			t.Errorf("there and back: %v", got)
		}
		if a, b := rl.Read[float32](y), rl.Read[float32](y); &a[0] != &b[0] {
			t.Error("it was read from the device twice")
		}
		steps := rl.Stack([]rl.Tensor{on.Call(rl.Key{}, x), on.Call(rl.Key{}, x)})
		if got := rl.Floats(rl.System.Concat([]rl.Tensor{steps, on.Call(rl.Key{}, steps)})); !slices.Equal(got, []float64{2, 2, 4, 4, 6, 6, 4, 4, 8, 8, 12, 12}) {
			t.Errorf("stacked there: %v", got)
		}
	}
}
