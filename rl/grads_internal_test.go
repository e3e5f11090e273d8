package rl

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// The sums and weights of two learners add up to those of one that has all
// rows, also if one of them has no row that counts.
func TestGradsAddUp(t *testing.T) {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	s := NewScope(NewDevice(b), 1)
	w := func(c *Ctx, sc *model.Scope) *graph.Node {
		return sc.VariableWithShape("w", shapes.Make(dtypes.Float32, 3)).NodeValue(c.graph)
	}
	p := NewParams(s, "net", func(c *Ctx, sc *model.Scope) { w(c, sc) })
	type batch struct{ X, W Tensor }
	l := NewLoss(s, "l", func(c *Ctx, in batch) (loss, weight Tensor, aux struct{}) {
		y := graph.Mul(in.X.Node(), graph.ExpandAxes(w(c, c.Scope(p)), 0))
		return Wrap(graph.Exp(graph.ReduceSum(y, 1))), in.W, aux
	}, p)
	const rows = 10
	x, weight := make([]float32, 3*rows), make([]float32, rows)
	for i := range x {
		x[i] = float32(NewKey(9).Uniform(0, i))
	}
	for i := range weight {
		weight[i] = float32(i % 4)
	}
	part := func(lo, hi int, weight []float32) Grads {
		g, _ := l.Grad(Key{}, batch{FromFlat(s, x[3*lo:3*hi], hi-lo, 3), FromFlat(s, weight[lo:hi], hi-lo)})
		return g
	}
	whole := part(0, rows, weight)
	for _, cut := range []int{1, 5, 9} {
		a, b := part(0, cut, weight), part(cut, rows, weight)
		if got, want := Floats(a.weight)[0]+Floats(b.weight)[0], Floats(whole.weight)[0]; got != want {
			t.Errorf("cut at %d: weights add up to %v, want %v", cut, got, want)
		}
		for i, want := range Floats(whole.sums[0]) {
			if got := Floats(a.sums[0])[i] + Floats(b.sums[0])[i]; math.Abs(got-want) > 1e-5*math.Abs(want) {
				t.Errorf("cut at %d: sums add up to %v, want %v", cut, got, want)
			}
		}
	}
	empty := part(0, 4, make([]float32, rows))
	if Floats(empty.weight)[0] != 0 || Floats(empty.sums[0])[0] != 0 {
		t.Errorf("rows that do not count have weight %v and sums %v", Floats(empty.weight), Floats(empty.sums[0]))
	}
}
