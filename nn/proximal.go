package nn

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// Proximal holds the settings that PPO and MAPPO share, for an algorithm to embed.
type Proximal struct {
	Epochs      int `default:"4" unit:"passes" range:"[1,)" doc:"passes over the steps of an iteration"`
	Minibatches int `default:"4" unit:"minibatches" range:"[1,)" doc:"minibatches of a pass"`

	Rate        `defaults:"learning_rate=2.5e-4 anneal=linear"`
	AdamEps     float64 `default:"1e-5" range:"(0,)" doc:"Adam's term for numerical stability"`
	MaxGradNorm float64 `default:"0.5" range:"(0,)" doc:"norm over all parameters to which gradients are clipped"`

	Gamma     float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	Lambda    float64 `default:"0.95" range:"[0,1]" doc:"weight of longer advantage estimates"`
	Clip      float64 `default:"0.2" range:"(0,)" doc:"largest distance of the probability ratio from 1"`
	ClipValue bool    `default:"true" doc:"clip the value loss likewise"`
	Terms
}

// Fits returns an error if an iteration has too few steps for the minibatches.
func (p *Proximal) Fits(steps int) error {
	if p.Minibatches > steps {
		return fmt.Errorf("minibatches: %d are more than the %d steps of an iteration (envs x horizon)", p.Minibatches, steps)
	}
	return nil
}

// Rule returns Adam behind a clipped norm.
//
//weft:pure
func (p *Proximal) Rule() rl.Rule {
	return ClipNorm{Max: p.MaxGradNorm, Rule: Adam{Eps: p.AdamEps}}
}

// ValueLoss returns half the squared distance of values v from returns ret, by row, or Huber's loss
// of it if huber is not 0. With ClipValue a value that moved further than Clip from its old one has
// no less loss than one that moved as far as that.
func (p *Proximal) ValueLoss(v, old, ret *Node, huber float64) *Node {
	loss := distance(v, ret, huber)
	if p.ClipValue {
		near := Add(old, ClipScalar(Sub(v, old), -p.Clip, p.Clip))
		loss = Max(loss, distance(near, ret, huber))
	}
	return loss
}

func distance(a, b *Node, huber float64) *Node {
	d := Sub(a, b)
	if huber > 0 {
		return Huber(d, huber)
	}
	return MulScalar(Square(d), .5)
}

// Total returns the loss by row, a surrogate, a value loss and an entropy bonus by their weights,
// and the metrics of it.
func (p *Proximal) Total(policy Clipped, value, entropy *Node) (rl.Tensor, ProximalMetrics) {
	return p.Sum(policy.Loss, value, entropy), ProximalMetrics{
		rl.Wrap(policy.Loss), rl.Wrap(value), rl.Wrap(entropy), rl.Wrap(policy.KL()), rl.Wrap(policy.Outside()),
	}
}

// ProximalMetrics are reported of every minibatch, by row.
type ProximalMetrics struct{ Policy, Value, Entropy, KL, Clipped rl.Tensor }
