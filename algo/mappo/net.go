package mappo

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// Net is the policy of a kind of agents and its critic.
type Net struct {
	Config
	spec    env.Spec
	params  *rl.Params
	returns *rl.Stats // nil without normalisation
	head    nn.Head
	act     nn.Activation
}

func newNet(s *rl.Scope, name string, c Config, spec env.Spec) (*Net, error) {
	act, err := nn.ActivationNamed(c.Activation)
	if err != nil {
		return nil, err
	}
	n := &Net{Config: c, spec: spec, head: nn.NewHead(spec.Action), act: act}
	if c.NormalizeValue {
		n.returns = rl.NewStats(s, name+" returns", 0)
	}
	n.params = rl.NewParams(s, name+" net", func(c *rl.Ctx, sc *model.Scope) {
		obs := n.blank(c)
		n.policy(c, sc, obs).Mode()
		n.value(c, sc, obs)
	})
	return n, nil
}

// blank is what the agents of one environment see, all zero.
func (n *Net) blank(c *rl.Ctx) rl.Obs {
	x := nn.Blank(c, n.spec.Obs)
	leaves := make([]rl.Tensor, x.Len())
	for i := range leaves {
		leaves[i] = rl.Wrap(n.each(x.At(i).Node(), 1))
	}
	return rl.Obs{
		X:     rl.NewTree(x.Names(), leaves),
		State: rl.Wrap(Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, n.spec.State))),
	}
}

// each is x with an axis of agents inserted: the same for all of them. A single
// agent has no such axis.
func (n *Net) each(x *Node, axis int) *Node {
	if n.spec.Agents <= 1 {
		return x
	}
	x = ExpandAxes(x, axis)
	dims := append([]int(nil), x.Shape().Dimensions...)
	dims[axis] = n.spec.Agents
	return BroadcastToDims(x, dims...)
}

// named is features [..., agent, features] with the agent's number beside them,
// one-hot: what lets agents that share a network do different things where they
// see the same.
func (n *Net) named(x *Node) *Node {
	if n.spec.Agents <= 1 || !n.AgentID {
		return x
	}
	dims := append([]int(nil), x.Shape().Dimensions...)
	dims[x.Rank()-1] = n.spec.Agents
	id := ConvertDType(Diagonal(x.Graph(), n.spec.Agents), dtypes.Float32)
	return Concatenate([]*Node{x, BroadcastToDims(ExpandLeftToRank(id, x.Rank()), dims...)}, -1)
}

func (n *Net) mlp(c *rl.Ctx, sc *model.Scope, x *Node, out int, gain float64) *Node {
	return nn.MLP{Hidden: n.Hidden, Act: n.act, Out: out, OutGain: gain}.Apply(c, sc, n.named(x))
}

// policy is the distribution of every agent's actions.
func (n *Net) policy(c *rl.Ctx, sc *model.Scope, obs rl.Obs) nn.Dist {
	sc = sc.At("policy")
	out := n.mlp(c, sc, nn.Features(n.spec.Obs, obs.X), n.head.Units(), .01)
	return n.head.Dist(c, sc, out, obs.Legal)
}

// value is the critic's output for every agent.
func (n *Net) value(c *rl.Ctx, sc *model.Scope, obs rl.Obs) *Node {
	var x *Node
	if n.Central && n.spec.State > 0 {
		x = obs.State.Node()
		x = n.each(x, x.Rank()-1)
	} else {
		x = nn.Features(n.spec.Obs, obs.X)
	}
	return Squeeze(n.mlp(c, sc.At("value"), x, 1, 1), -1)
}

func (n *Net) actGraph(c *rl.Ctx, obs rl.Obs) ActOut {
	sc := c.Scope(n.params)
	pi := n.policy(c, sc, obs)
	raw := pi.Sample(c, "action")
	out := ActOut{Action: n.head.Clip(raw), Raw: raw, LogProb: rl.Wrap(pi.LogProb(raw)), Value: rl.Wrap(n.value(c, sc, obs))}
	if n.spec.Mortal {
		out.Weight = rl.Wrap(ConvertDType(obs.Alive.Node(), dtypes.Float32))
	}
	return out
}

func (n *Net) sampleGraph(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.head.Clip(n.policy(c, c.Scope(n.params), obs).Sample(c, "action"))
}

func (n *Net) greedyGraph(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.head.Clip(n.policy(c, c.Scope(n.params), obs).Mode())
}

func (n *Net) valueGraph(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	return rl.Wrap(n.value(c, c.Scope(n.params), obs))
}

func (n *Net) worthGraph(c *rl.Ctx, v Values) Values {
	if n.returns == nil {
		return v
	}
	return Values{rl.Wrap(n.returns.Restore(c, v.State.Node())), rl.Wrap(n.returns.Restore(c, v.Next.Node()))}
}

// lossGraph is the clipped surrogate, the clipped value loss and the entropy
// bonus, by row and agent. Agents out of play weigh nothing.
func (n *Net) lossGraph(c *rl.Ctx, s Sample) (loss, weight rl.Tensor, m Metrics) {
	sc := c.Scope(n.params)
	pi, adv := n.policy(c, sc, s.Obs), s.Adv.Node()

	logRatio := Sub(pi.LogProb(s.Action), s.LogProb.Node())
	ratio := Exp(logRatio)
	clipped := ClipScalar(ratio, 1-n.Clip, 1+n.Clip)
	policy := Neg(Min(Mul(ratio, adv), Mul(clipped, adv)))
	value := n.valueLoss(c, n.value(c, sc, s.Obs), s)
	entropy := pi.Entropy()

	total := Sub(Add(policy, MulScalar(value, n.ValueCoef)), MulScalar(entropy, n.EntropyCoef))
	outside := ConvertDType(GreaterThan(Abs(MinusOne(ratio)), ConstAs(ratio, n.Clip)), dtypes.Float32)
	return rl.Wrap(total), s.Weight, Metrics{
		Policy: rl.Wrap(policy), Value: rl.Wrap(value), Entropy: rl.Wrap(entropy),
		KL:      rl.Wrap(Sub(MinusOne(ratio), logRatio)), // Schulman's low-variance estimate
		Clipped: rl.Wrap(outside),
	}
}

// valueLoss is the error of values against returns, in the critic's unit.
func (n *Net) valueLoss(c *rl.Ctx, v *Node, s Sample) *Node {
	ret, old := s.Ret.Node(), s.Value.Node()
	if n.returns != nil {
		ret = n.returns.Norm(c, ret)
	}
	loss := n.distance(v, ret)
	if n.ClipValue {
		near := Add(old, ClipScalar(Sub(v, old), -n.Clip, n.Clip))
		loss = Max(loss, n.distance(near, ret))
	}
	return loss
}

func (n *Net) distance(a, b *Node) *Node {
	d := Sub(a, b)
	if n.Huber > 0 {
		return nn.Huber(d, n.Huber)
	}
	return MulScalar(Square(d), .5)
}
