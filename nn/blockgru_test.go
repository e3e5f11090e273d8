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

// TestBlockGRU: a step is that of its formulas in plain Go, and a block's new memory depends on the
// layers that all blocks see and on its own memory.
func TestBlockGRU(t *testing.T) {
	const units, blocks, hidden, features = 4, 2, 3, 2
	s := scope(t)
	cell := nn.BlockGRU{Units: units, Blocks: blocks, Hidden: hidden}
	p := rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) {
		cell.Step(c, sc, cell.Inputs(c, sc, graph.Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, features))), graph.Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, units)))
	})
	x, h := []float64{.5, -1}, []float64{.1, -.2, .3, .4}
	out := eval(s, func(c *rl.Ctx, in []*node) []*node {
		y, next := cell.Step(c, c.Scope(p), cell.Inputs(c, c.Scope(p), in[0]), in[1])
		return []*node{y, next}
	}, rl.FromFlat(s, []float32{.5, -1}, 1, features), rl.FromFlat(s, []float32{.1, -.2, .3, .4}, 1, units))
	w := weights(p)
	layer := func(x []float64) []float64 { // silu of what is divided by its root mean square
		mean := 0.
		for _, v := range x {
			mean += v * v / float64(len(x))
		}
		return each(x, func(v float64) float64 { v /= math.Sqrt(mean + 1e-4); return v / (1 + math.Exp(-v)) })
	}
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	seen := append(layer(affine(h, w["memory/weights"], w["memory/biases"])), layer(affine(x, w["input/weights"], w["input/biases"]))...)
	const own, in = units / blocks, units/blocks + 2*hidden
	var mixed []float64
	for b := range blocks {
		row := append(append([]float64(nil), h[b*own:(b+1)*own]...), seen...)
		mixed = append(mixed, affine(row, w["mix/weights"][b*in*own:(b+1)*in*own], w["mix/biases"][b*own:(b+1)*own])...)
	}
	mixed = layer(mixed)
	var want []float64
	for b := range blocks {
		g := affine(mixed[b*own:(b+1)*own], w["gates/weights"][b*own*3*own:(b+1)*own*3*own], w["gates/biases"][b*3*own:(b+1)*3*own])
		for i := range own {
			update := sigmoid(g[2*own+i] - 1)
			want = append(want, update*math.Tanh(sigmoid(g[i])*g[own+i])+(1-update)*h[b*own+i])
		}
	}
	near(t, "memory", out[1], want, 1e-5)
	near(t, "output", out[0], out[1], 0)
	if one := (nn.BlockGRU{Units: 4, Hidden: 3}); one.StateSize() != 4 {
		t.Error("the memory is not the units")
	}
}
