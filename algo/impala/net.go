package impala

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
	pi, _ := n.Apply(c, c.Scope(n.params), obs)
	return n.out(pi, pi.Sample(c, "action"))
}

func (n *Net) greedyGraph(c *rl.Ctx, obs rl.Obs) ActOut {
	pi, _ := n.Apply(c, c.Scope(n.params), obs)
	return n.out(pi, pi.Mode())
}

func (n *Net) out(pi nn.Dist, raw rl.Tree) ActOut {
	return ActOut{Action: n.Head.Clip(raw), Raw: raw, LogProb: rl.Wrap(pi.LogProb(raw))}
}

func (n *Net) valueGraph(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	return rl.Wrap(n.Value(c, c.Scope(n.params), obs))
}

// lossGraph is the policy gradient by V-trace's advantages, the squared error
// against its targets and the entropy bonus, by row. Targets and advantages are
// numbers to be learnt from: no gradient flows through them.
func (n *Net) lossGraph(c *rl.Ctx, b Batch) (loss, weight rl.Tensor, m Metrics) {
	s, sc := b.Steps, c.Scope(n.params)
	pi, v := n.Apply(c, sc, s.Obs)
	logp := pi.LogProb(s.Act.Raw)
	logRatio := fixed(Sub(logp, s.Act.LogProb.Node()))
	values := fixed(v)
	next := rl.Select(s.Truncated, s.Cut, rl.Shift(values, fixed(n.Value(c, sc, b.Last))))
	target, adv := rl.VTrace(n.Gamma, n.Lambda, n.Rho, n.Trace, logRatio, s.Reward, values, next, s.Terminated, s.Over)

	policy := Neg(Mul(logp, adv.Node()))
	value := Square(Sub(v, target.Node()))
	entropy := pi.Entropy()
	total := Sub(Add(policy, MulScalar(value, n.ValueCoef)), MulScalar(entropy, n.EntropyCoef))
	return rl.Wrap(total), rl.Tensor{}, Metrics{
		Policy: rl.Wrap(policy), Value: rl.Wrap(value), Entropy: rl.Wrap(entropy), Ratio: rl.Wrap(Exp(logRatio.Node())),
	}
}

func fixed(x *Node) rl.Tensor { return rl.Wrap(StopGradient(x)) }
