package nn_test

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestBounded: means are squashed into the bounds and the Gaussian around them is not; densities
// are in the units of the box, and an action on a bound counts as one just inside.
func TestBounded(t *testing.T) {
	s := scope(t)
	box := rl.Box{Low: []float64{-1, 2}, High: []float64{3, 12}, Dims: []int{2}}
	h := nn.NewBoundedHead(box)
	outputs := rl.FromFlat(s, []float32{0, 0, .5, -1, 9, 9}, 3, 2)
	actions := rl.FromFlat(s, []float32{2, 4, 0, 5, 3, 12}, 3, 2)
	p := rl.NewParams(s, "p", func(c *rl.Ctx, sc *model.Scope) {
		h.Dist(c, sc, graph.Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, 2)), rl.Tree{})
	})
	type out struct{ LogP, Mode rl.Tensor }
	got := rl.NewFunc(s, "bounded", func(c *rl.Ctx, x []rl.Tensor) out {
		d := h.Dist(c, c.Scope(p), x[0].Node(), rl.Tree{})
		return out{rl.Wrap(d.LogProb(rl.One(x[1]))), d.Mode().Leaf("")}
	}).Call(rl.Key{}, []rl.Tensor{outputs, actions})
	density := func(x, mean, std float64) float64 {
		return -(x-mean)*(x-mean)/(2*std*std) - math.Log(std) - .5*math.Log(2*math.Pi)
	}
	middle, half := []float64{1, 7}, []float64{2, 5}
	var mode, logp []float64
	for i, x := range rl.Floats(outputs) {
		k := i % 2
		mean := middle[k] + half[k]*math.Tanh(x)
		a := min(rl.Floats(actions)[i], middle[k]+half[k]*(1-1e-5))
		mode = append(mode, mean)
		if k == 0 {
			logp = append(logp, 0)
		}
		logp[i/2] += density(a, mean, half[k])
	}
	near(t, "mode", rl.Floats(got.Mode), mode, 1e-5)
	near(t, "log-probability", rl.Floats(got.LogP), logp, 1e-5)
}
