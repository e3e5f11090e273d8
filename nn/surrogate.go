package nn

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Clipped is PPO's clipped surrogate of a policy's improvement, by row.
type Clipped struct {
	Loss            *Node
	logRatio, ratio *Node
	clip            float64
}

// Surrogate returns the clipped surrogate (Schulman et al., 2017) of actions that had
// the log-probability old and have logProb now, with advantages adv.
func Surrogate(logProb, old, adv *Node, clip float64) Clipped {
	logRatio := Sub(logProb, old)
	ratio := Exp(logRatio)
	clipped := ClipScalar(ratio, 1-clip, 1+clip)
	return Clipped{Neg(Min(Mul(ratio, adv), Mul(clipped, adv))), logRatio, ratio, clip}
}

// KL returns Schulman's low-variance estimate of how far the policy has moved. It is no
// part of the loss: ask for it behind the loss, so that the two are not interleaved.
func (c Clipped) KL() *Node { return Sub(MinusOne(c.ratio), c.logRatio) }

// Outside returns 1 where the ratio is outside of its bounds, 0 elsewhere. Ask for it
// behind the loss, as for KL.
func (c Clipped) Outside() *Node {
	far := GreaterThan(Abs(MinusOne(c.ratio)), ConstAs(c.ratio, c.clip))
	return ConvertDType(far, dtypes.Float32)
}
