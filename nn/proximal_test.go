package nn_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestValueLoss holds the clipped value loss against values computed by hand, for returns of 2: a
// value that moved from 0 to 1 counts as .2, one that moved by .1 as it is, and one that moved away
// from its return has its own, larger, loss.
func TestValueLoss(t *testing.T) {
	s := scope(t)
	p := nn.Proximal{Clip: .2, ClipValue: true}
	out := eval(s, func(_ *rl.Ctx, x []*node) []*node {
		free := nn.Proximal{Clip: .2}
		return []*node{p.ValueLoss(x[0], x[1], x[2], 0), free.ValueLoss(x[0], x[1], x[2], 0), p.ValueLoss(x[0], x[1], x[2], 1)}
	},
		rl.FromFlat(s, []float32{1, .1, -1}, 3), rl.FromFlat(s, make([]float32, 3), 3), rl.FromFlat(s, []float32{2, 2, 2}, 3))
	near(t, "clipped", out[0], []float64{1.62, 1.805, 4.5}, 1e-6)
	near(t, "free", out[1], []float64{.5, 1.805, 4.5}, 1e-6)
	near(t, "Huber's", out[2], []float64{1.3, 1.4, 2.5}, 1e-6)
}

func TestFits(t *testing.T) {
	p := nn.Proximal{Minibatches: 7}
	if err := p.Fits(7); err != nil {
		t.Error(err)
	}
	if err := p.Fits(6); err == nil || !strings.Contains(err.Error(), "minibatches: 7 are more than the 6 steps") {
		t.Errorf("7 minibatches of 6 steps: %v", err)
	}
}
