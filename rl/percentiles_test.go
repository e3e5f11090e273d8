package rl_test

import (
	"testing"

	"github.com/weft-rl/weft/rl"
)

// TestPercentiles: the range of 0 to 20 between the percentiles 5 and 95 is 18, a second batch
// counts as much as the first while updates are few, and the floor is the least.
func TestPercentiles(t *testing.T) {
	s := scope(t)
	p := rl.NewPercentiles(s, "p", rl.PercentileOptions{Low: 5, High: 95, Decay: .75, Floor: 1})
	scale := rl.NewFunc(s, "scale", func(c *rl.Ctx, x rl.Tensor) rl.Tensor { return rl.Wrap(p.Scale(c, x.Node())) })
	divisor := func(what string, want float64) {
		t.Helper()
		near(t, what, rl.Floats(scale.Call(rl.Key{}, floats(s, []float64{want, 0}, 1, 2))), []float64{1, 0}, 1e-6)
	}
	divisor("before any", 1)
	x := make([]float64, 21)
	for i := range x {
		x[i] = float64((8 * i) % 21) // in no order
	}
	p.Update(floats(s, x, 3, 7))
	divisor("range", 18)
	p.Update(floats(s, []float64{2, 2, 2}, 3))
	divisor("mean of 18 and 0", 9)
	p.Update(floats(s, []float64{0, 1}, 2)) // .05 and .95: a third of it
	divisor("mean of 18, 0 and .9", 6.3)
	saved := rl.NewState(s)
	p.Save(saved)
	for range 8 {
		p.Update(floats(s, []float64{5}, 1))
	}
	divisor("floor", 1)
	if err := p.Load(saved); err != nil {
		t.Fatal(err)
	}
	divisor("as saved", 6.3)
	p.Update(floats(s, []float64{5}, 1))
	p.Update(floats(s, []float64{5}, 1))
	divisor("decay", 6.3*.75*.75)
	fails(t, func() { rl.NewPercentiles(s, "q", rl.PercentileOptions{Low: 95, High: 5, Floor: 1}) }, "the low one first")
}
