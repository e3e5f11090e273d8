package nn_test

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// The gradient of the first layer goes through the input of the second, whose
// kernel has an even size: by finite differences on the first layer's own input.
func TestCNNGradient(t *testing.T) {
	s := scope(t)
	net := nn.CNN{Layers: []nn.Conv{{2, 3, 1}, {3, 4, 2}, {2, 2, 1}}, Gain: 1, Act: must(nn.ActivationNamed("tanh"))}
	row := []int{1, 11, 10, 2}
	p := build(s, net, dtypes.Float32, row...)
	x := wave(size(row), 0)
	loss := func(c *rl.Ctx, x *node) *node { return ReduceAllSum(Square(net.Apply(c, c.Scope(p), x))) }
	got := eval(s, func(c *rl.Ctx, in []*node) []*node {
		return Gradient(loss(c, in[0]), in[0])
	}, rl.FromFlat(s, x, row...))[0]
	at := func(i int, d float32) float64 {
		moved := append([]float32(nil), x...)
		moved[i] += d
		return float64(eval(s, func(c *rl.Ctx, in []*node) []*node { return []*node{loss(c, in[0])} }, rl.FromFlat(s, moved, row...))[0][0])
	}
	const h = 1e-2
	largest := 0.0
	for i := 0; i < len(x); i += 7 {
		want := (at(i, h) - at(i, -h)) / (2 * h)
		largest = max(largest, math.Abs(want))
		if math.Abs(float64(got[i])-want) > 2e-3 {
			t.Errorf("element %d: gradient %v, finite difference %v", i, got[i], want)
		}
	}
	if largest < 1e-2 {
		t.Errorf("the largest difference is %v: nothing was tested", largest)
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
