package rl_test

import (
	"testing"

	"github.com/weft-rl/weft/rl"
)

// TestNarrow: what is done with the rows of some environments is done to these alone.
func TestNarrow(t *testing.T) {
	type memory struct{ X, Absent, Scalar rl.Tensor }
	s := scope(t)
	m := rl.NewSlots(s, "memory", memory{X: rl.FromFlat(s, []float32{0, 1, 2, 3, 4}, 5), Scalar: rl.Scalar(7)})
	for _, c := range []struct {
		to   []rl.Span
		want []float64 // rows that are seen, then set to 10 more
		all  []float64
	}{
		{[]rl.Span{{Lo: 0, Hi: 2, Of: 5}}, []float64{0, 1}, []float64{10, 11, 2, 3, 4}},
		{[]rl.Span{{Lo: 1, Hi: 2, Of: 5}, {Lo: 4, Hi: 5, Of: 5}}, []float64{11, 4}, []float64{10, 21, 2, 3, 14}},
		{[]rl.Span{{Lo: 2, Hi: 3, Of: 5}, {Lo: 3, Hi: 5, Of: 5}}, []float64{2, 3, 14}, []float64{10, 21, 12, 13, 24}},
	} {
		m.Narrow(c.to)
		v := m.Get()
		equal(t, "rows", rl.Floats(v.X), c.want)
		next := make([]float32, len(c.want))
		for i, x := range c.want {
			next[i] = float32(x) + 10
		}
		m.Set(memory{X: rl.FromFlat(s, next, len(next)), Scalar: v.Scalar})
		m.Widen()
		equal(t, "all", rl.Floats(m.Get().X), c.all)
		equal(t, "scalar", rl.Floats(m.Get().Scalar), []float64{7})
	}
}
