package edge

import "github.com/weft-rl/weft/rl"

// GradientOf returns a gradient as it crosses.
func GradientOf(g rl.Grads, weight rl.Tensor, sums []rl.Tensor) any {
	return gradient{rl.System.GradsOf(g), weight, sums}
}

// Detach returns detach.
func Detach[T any](v T) T { return detach(v) }
