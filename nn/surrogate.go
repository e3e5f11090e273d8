package nn

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Clipped is PPO's clipped surrogate of a policy's improvement, by row, with what
// tells how far the policy has moved.
type Clipped struct {
	Loss    *Node
	KL      *Node // Schulman's low-variance estimate of the divergence
	Clipped *Node // 1 where the ratio is outside of its bounds, 0 elsewhere
}

// Surrogate returns the clipped surrogate (Schulman et al., 2017) of actions that had
// the log-probability old and have logProb now, with advantages adv.
func Surrogate(logProb, old, adv *Node, clip float64) Clipped {
	logRatio := Sub(logProb, old)
	ratio := Exp(logRatio)
	clipped := ClipScalar(ratio, 1-clip, 1+clip)
	outside := GreaterThan(Abs(MinusOne(ratio)), ConstAs(ratio, clip))
	return Clipped{
		Loss:    Neg(Min(Mul(ratio, adv), Mul(clipped, adv))),
		KL:      Sub(MinusOne(ratio), logRatio),
		Clipped: ConvertDType(outside, dtypes.Float32),
	}
}
