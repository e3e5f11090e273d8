package nn

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Mixed returns the logarithms of the probabilities of logits, [..., options], mixed with a part of
// equal ones, so that no option is ever impossible.
func Mixed(logits *Node, part float64) *Node {
	if part == 0 {
		return LogSoftmax(logits, -1)
	}
	return Log(AddScalar(MulScalar(Softmax(logits, -1), 1-part), part/float64(lastDim(logits))))
}

// Codes are latent states made of categorical variables (Hafner et al., 2021): Groups of them with
// Classes values each, independent of each other, whose distributions have a part Mix of equal
// probabilities. Distributions are logarithms of probabilities, [..., Groups, Classes].
type Codes struct {
	Groups, Classes int
	Mix             float64
}

// Size returns the numbers of a state, one-hot.
func (k Codes) Size() int { return k.Groups * k.Classes }

// Dist returns the distributions by a network's outputs, [..., Size].
func (k Codes) Dist(outputs *Node) *Node {
	return Mixed(Reshape(outputs, append(leadDims(outputs), k.Groups, k.Classes)...), k.Mix)
}

// Sample draws states, one-hot and flat, [..., Size], by Gumbel noise like the distributions. The
// values are exactly 0 and 1; gradients are those of the probabilities, straight through.
func (k Codes) Sample(logp, gumbel *Node) *Node { return k.hot(logp, Add(logp, gumbel)) }

// Mode returns the likeliest states in the form of Sample.
func (k Codes) Mode(logp *Node) *Node { return k.hot(logp, logp) }

// hot returns the classes with the greatest scores, with the gradients of probabilities.
func (k Codes) hot(logp, score *Node) *Node {
	p := Exp(logp)
	out := Add(OneHot(ArgMax(score, -1, dtypes.Int32), k.Classes, dtypes.Float32), Sub(p, StopGradient(p)))
	lead := out.Shape().Dimensions[:out.Rank()-2]
	return Reshape(out, append(append([]int(nil), lead...), k.Size())...)
}

// Divergence returns the divergence of q from p in nats, summed over the groups, [...].
func (k Codes) Divergence(p, q *Node) *Node {
	return ReduceSum(Mul(Exp(p), Sub(p, q)), -1, -2)
}

// Balanced returns the two halves of the divergence of a prior from a posterior, [...], for a loss
// with weights of its own for each: dyn moves the prior alone and rep the posterior alone. Of a
// divergence below free nats neither has a gradient.
func (k Codes) Balanced(post, prior *Node, free float64) (dyn, rep *Node) {
	dyn = k.Divergence(StopGradient(post), prior)
	rep = k.Divergence(post, StopGradient(prior))
	return MaxScalar(dyn, free), MaxScalar(rep, free)
}
