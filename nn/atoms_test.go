package nn_test

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestProject: distributions over -2, -1, 0, 1, 2, moved by a reward and drawn together by a
// discount.
func TestProject(t *testing.T) {
	s := scope(t)
	for _, c := range []struct {
		name             string
		p                []float32
		reward, discount float32
		want             []float64
	}{
		{"nothing moves", []float32{.1, .2, .3, .2, .2}, 0, 1, []float64{.1, .2, .3, .2, .2}},
		{"all hit the next atom", []float32{.1, .2, .3, .2, .2}, 1, 1, []float64{0, .1, .2, .3, .4}},
		{"between atoms", []float32{0, 0, 1, 0, 0}, .25, 1, []float64{0, 0, .75, .25, 0}},
		{"some hit, some fall between", []float32{.5, 0, 0, .5, 0}, 0, .5, []float64{0, .5, .25, .25, 0}},
		{"beyond the upper end", []float32{0, 0, .5, .5, 0}, 7, 1, []float64{0, 0, 0, 0, 1}},
		{"beyond the lower end", []float32{.2, .2, .2, .2, .2}, -3.5, 1, []float64{.9, .1, 0, 0, 0}},
		{"terminal, on an atom", []float32{.1, .2, .3, .2, .2}, -1, 0, []float64{0, 1, 0, 0, 0}},
		{"terminal, between atoms", []float32{.1, .2, .3, .2, .2}, 1.5, 0, []float64{0, 0, 0, .5, .5}},
		{"terminal, on the last atom", []float32{1, 0, 0, 0, 0}, 2, 0, []float64{0, 0, 0, 0, 1}},
	} {
		out := eval(s, func(_ *rl.Ctx, x []*node) []*node {
			return []*node{nn.Atoms{N: 5, Min: -2, Max: 2}.Project(x[0], x[1], x[2])}
		}, rl.FromFlat(s, c.p, 1, 5), rl.FromFlat(s, []float32{c.reward}, 1), rl.FromFlat(s, []float32{c.discount}, 1))
		near(t, c.name, out[0], c.want, 1e-6)
	}
}

// TestProjectKeeps: what is projected is a distribution with the mean that it should have, as long
// as nothing is cut off at the ends; rows have rewards and discounts of their own.
func TestProjectKeeps(t *testing.T) {
	s := scope(t)
	const rows, n = 7, 51
	a := nn.Atoms{N: n, Min: -10, Max: 10}
	reward, discount := wave(rows, 1), make([]float32, rows)
	for i := range discount {
		discount[i] = float32(i) / 8
	}
	out := eval(s, func(_ *rl.Ctx, x []*node) []*node {
		m := a.Project(graph.Softmax(x[0], -1), x[1], x[2])
		return []*node{graph.ReduceSum(m, -1), a.Mean(graph.Log(m)), a.Mean(x[0])}
	}, rl.FromFlat(s, wave(rows*n, 0), rows, n), rl.FromFlat(s, reward, rows), rl.FromFlat(s, discount, rows))
	for i := range rows {
		near(t, "total", out[0][i:i+1], []float64{1}, 1e-5)
		near(t, "mean", out[1][i:i+1], []float64{float64(reward[i]) + float64(discount[i])*out[2][i]}, 1e-4)
	}
}

func TestKL(t *testing.T) {
	s := scope(t)
	p := []float32{.5, .5, 0, 0, 0, 1}
	logits := []float32{0, 0, 0, 1, 2, 3} // the first row is uniform
	out := eval(s, func(_ *rl.Ctx, x []*node) []*node { return []*node{nn.KL(x[0], x[1])} },
		rl.FromFlat(s, p, 2, 3), rl.FromFlat(s, logits, 2, 3))
	e := math.E
	near(t, "divergence", out[0], []float64{math.Log(1.5), math.Log(1 + 1/e + 1/(e*e))}, 1e-6)
	checkGrad(t, "divergence", func(_ *rl.Ctx, x []*node) *node {
		return nn.KL(graph.Const(x[0].Graph(), [][]float32{{.5, .25, 0, .25}}), x[0])
	}, []float32{-1, 2, .5, 0})
}
