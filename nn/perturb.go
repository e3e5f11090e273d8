package nn

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// Perturb adds normal noise to numbers, and keeps them from -1 to 1. It bounds the noise unless
// bound is 0. Without a deviation it returns x and draws nothing.
//
//weft:draws
func Perturb(c *rl.Ctx, use string, x *Node, deviation, bound float64) *Node {
	if deviation == 0 {
		return x
	}
	noise := MulScalar(c.Normal(use, x.Shape().Dimensions...), deviation)
	if bound > 0 {
		noise = ClipScalar(noise, -bound, bound)
	}
	return ClipScalar(Add(x, noise), -1, 1)
}
