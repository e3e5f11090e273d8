package edge

import "github.com/weft-rl/weft/rl"

// GradientOf is a gradient as it crosses.
func GradientOf(g rl.Grads, weight rl.Tensor, sums []rl.Tensor) any {
	return gradient{g.Of(), weight, sums}
}
