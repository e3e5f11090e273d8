package rl_test

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// tilted adds numbers that all rows share to those that every row has for itself.
func tilted(c *rl.Ctx, x rl.Tensor) rl.Tensor {
	n := x.Rows()
	return rl.Wrap(graph.Add(graph.Add(x.Node(), graph.Squeeze(c.Uniform("own", n, 1), 1)), c.SharedUniform("shared")))
}

// TestSharedDraws: all rows have the same numbers, those of row 0 of the use, and so has every
// replica, also one with a single row.
func TestSharedDraws(t *testing.T) {
	const n = 11
	root := replicas(t, n, 1)[0]
	x := rl.FromFlat(root, make([]float32, n), n)
	key := func(s *rl.Scope) rl.Key { return rl.NewRun(s, 1, nil).Key("act", 1) }
	want := rl.Read[float32](rl.NewFunc(root, "tilted", tilted).Call(key(root), x))
	k := key(root)
	for i, got := range want {
		near(t, "sum", []float64{float64(got)}, []float64{k.Use("own").Uniform(i, 0) + k.Use("shared").Uniform(0, 0)}, 1e-6)
	}
	for _, parts := range []int{2, 5, n} {
		for _, s := range replicas(t, n, parts) {
			own := s.Envs()
			part := rl.FromFlat(s, make([]float32, own.Len()), own.Len())
			equal(t, "part", rl.Read[float32](rl.NewFunc(s, "tilted", tilted).Call(key(s), part)), want[own.Lo:own.Hi])
		}
	}
}

// TestSharedLoss: several learners may share out any rows of a loss whose rows share their draws,
// and not those of one that draws by row.
func TestSharedLoss(t *testing.T) {
	grad := func(shared bool) func() {
		s := replicas(t, 8, 2)[0]
		p := params(s, "net", 2, 1)
		l := rl.NewLoss(s, "fit", func(c *rl.Ctx, x rl.Tensor) (loss, weight, aux rl.Tensor) {
			y := linear(c, p, x.Node(), 1)
			if shared {
				y = graph.Add(y, graph.ExpandLeftToRank(c.SharedNormal("noise", 1), 2))
			} else {
				y = graph.Add(y, c.Normal("noise", x.Rows(), 1))
			}
			return rl.Wrap(graph.Squeeze(graph.Square(y), 1)), rl.Tensor{}, rl.Tensor{}
		}, p)
		return func() { l.Grad(rl.NewRun(s, 1, nil).Key("loss", 0), floats(s, make([]float64, 6), 3, 2)) }
	}
	grad(true)()
	fails(t, grad(false), `loss "fit" draws random numbers for rows of a minibatch`)
}

// TestSharedNormal: mean 0, variance 1, and other numbers by another key.
func TestSharedNormal(t *testing.T) {
	s := scope(t)
	draw := func(k rl.Key) []float64 {
		return rl.Floats(compute(s, k, func(c *rl.Ctx, _ []*node) *node { return c.SharedNormal("z", 100, 300) }))
	}
	x := draw(s.Key("a"))
	var mean, square float64
	for _, v := range x {
		mean, square = mean+v/float64(len(x)), square+v*v/float64(len(x))
	}
	near(t, "moments", []float64{mean, square}, []float64{0, 1}, .03)
	if y := draw(s.Key("b")); math.Abs(x[0]-y[0]) < 1e-9 {
		t.Error("two keys draw the same")
	}
}
