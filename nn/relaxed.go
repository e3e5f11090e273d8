package nn

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// Relaxed draws options as Sample does and returns them one-hot, [rows..., options] or [rows...,
// numbers, options], for a loss that is differentiated by what was chosen (Gumbel-softmax, Jang et
// al., 2017). The values are exactly 0 and 1; gradients are those of the softmax of the noisy
// logits at a temperature, straight through. Low temperatures make gradients truer and noisier.
//
//weft:draws
func (d *Discrete) Relaxed(c *rl.Ctx, use string, temperature float64) *Node {
	score := Add(d.logp, c.Gumbel(use, d.logp.Shape().Dimensions...))
	soft := newDiscrete(DivScalar(score, temperature), d.open).probs()
	best := d.best(score)
	hard := OneHot(best, lastDim(score), dtypes.Float32)
	out := Add(hard, Sub(soft, StopGradient(soft)))
	if d.one {
		return Squeeze(out, -2)
	}
	return out
}
