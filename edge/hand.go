package edge

import "github.com/weft-rl/weft/rl"

// hand returns what passes on. Its memory passes with it where the sender has no more
// use for it; elsewhere both read it. With the build tag weftscribble memory that
// has passed is overwritten, and the receiver has a copy, so that a sender that
// uses it after all is found out.
func hand[T any](x *X, edge int, v T) T {
	if !scribble || !x.top.Edges[edge].Given || !hasLeaves[T]() {
		return v
	}
	leaves := rl.Leaves(v)
	return rl.Rebuild(v, moved(leaves))
}

// moved returns copies of tensors whose own memory is overwritten.
func moved(tensors []rl.Tensor) []rl.Tensor {
	out := make([]rl.Tensor, len(tensors))
	for i, t := range tensors {
		if out[i] = t; t.Ok() {
			out[i] = rl.System.Clone(t)
		}
	}
	for _, t := range tensors {
		if t.Ok() {
			rl.System.Scribble(t)
		}
	}
	return out
}
