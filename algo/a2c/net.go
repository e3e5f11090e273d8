package a2c

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// Net is the policy and the value function.
type Net struct {
	Config
	params *rl.Params
	nn.ActorCritic
}

func newNet(s *rl.Scope, c Config, spec env.Spec) (*Net, error) {
	act, err := nn.ActivationNamed(c.Activation)
	if err != nil {
		return nil, err
	}
	torso := nn.Torso{Space: spec.Obs, Hidden: c.Hidden, Act: act}
	n := &Net{Config: c, ActorCritic: nn.ActorCritic{Torso: torso, Head: nn.NewHead(spec.Action), Shared: c.Shared}}
	n.params = rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) {
		pi, _ := n.Apply(c, sc, rl.Obs{X: nn.Blank(c, spec.Obs)})
		pi.Mode()
	})
	return n, nil
}

func (n *Net) actGraph(c *rl.Ctx, obs rl.Obs) ActOut {
	pi, v := n.Apply(c, c.Scope(n.params), obs)
	return n.out(pi.Sample(c, "action"), v)
}

func (n *Net) greedyGraph(c *rl.Ctx, obs rl.Obs) ActOut {
	pi, v := n.Apply(c, c.Scope(n.params), obs)
	return n.out(pi.Mode(), v)
}

func (n *Net) out(raw rl.Tree, v *Node) ActOut {
	return ActOut{Action: n.Head.Clip(raw), Raw: raw, Value: rl.Wrap(v)}
}

func (n *Net) valueGraph(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	return rl.Wrap(n.Value(c, c.Scope(n.params), obs))
}

// lossGraph is the policy gradient, the squared error of values and the entropy
// bonus, by row.
func (n *Net) lossGraph(c *rl.Ctx, s Sample) (loss, weight rl.Tensor, m Metrics) {
	pi, v := n.Apply(c, c.Scope(n.params), s.Obs)
	policy := Neg(Mul(pi.LogProb(s.Action), s.Adv.Node()))
	value := Square(Sub(v, s.Ret.Node()))
	entropy := pi.Entropy()
	total := Sub(Add(policy, MulScalar(value, n.ValueCoef)), MulScalar(entropy, n.EntropyCoef))
	return rl.Wrap(total), rl.Tensor{}, Metrics{rl.Wrap(policy), rl.Wrap(value), rl.Wrap(entropy)}
}
