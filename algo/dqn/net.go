package dqn

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// Net is the values of all actions.
type Net struct {
	Config
	params  *rl.Params
	torso   nn.Torso
	actions rl.Discrete
}

func newNet(s *rl.Scope, name string, c Config, spec env.Spec) (*Net, error) {
	act, err := nn.ActivationNamed(c.Activation)
	if err != nil {
		return nil, err
	}
	n := &Net{Config: c, torso: nn.Torso{Space: spec.Obs, Hidden: c.Hidden, Act: act}, actions: spec.Action.(rl.Discrete)}
	n.params = rl.NewParams(s, name, func(c *rl.Ctx, sc *model.Scope) {
		n.forward(c, sc, rl.Obs{X: nn.Blank(c, spec.Obs)})
	})
	return n, nil
}

func (n *Net) forward(c *rl.Ctx, sc *model.Scope, obs rl.Obs) *Node {
	x := n.torso.Apply(c, sc.At("torso"), obs.X)
	q := nn.Dense(c, sc.At("out"), x, n.actions.N, 1)
	if !n.Dueling {
		return q
	}
	v := nn.Dense(c, sc.At("value"), x, 1, 1)
	return Add(v, Sub(q, ReduceAndKeep(q, ReduceMean, -1)))
}

// values are those of all actions, [rows, actions].
func (n *Net) values(c *rl.Ctx, obs rl.Obs) *Node { return n.forward(c, c.Scope(n.params), obs) }

// among is the distribution over the legal actions by scores.
func (n *Net) among(scores *Node, obs rl.Obs) *nn.Discrete {
	legal := rl.Tensor{}
	if obs.Legal.Has("") {
		legal = obs.Legal.Leaf("")
	}
	return nn.Categorical(scores, legal).From(n.actions.Start)
}

// of is the values of one action a row.
func (n *Net) of(q *Node, action rl.Tree) *Node {
	a := SubScalar(action.Leaf("").Node(), n.actions.Start)
	return ReduceSum(Mul(q, OneHot(a, n.actions.N, q.DType())), -1)
}

func (n *Net) valuesGraph(c *rl.Ctx, obs rl.Obs) rl.Tensor { return rl.Wrap(n.values(c, obs)) }

func (n *Net) greedyGraph(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.among(n.values(c, obs), obs).Mode()
}

// actGraph is the best legal action, or with probability epsilon any legal one.
func (n *Net) actGraph(c *rl.Ctx, in ActIn) rl.Tree {
	q := n.values(c, in.Obs)
	best, any := n.among(q, in.Obs).Mode(), n.among(ZerosLike(q), in.Obs).Sample(c, "any")
	u := c.Uniform("epsilon", q.Shape().Dimensions[0])
	explore := LessThan(u, in.Epsilon.Node())
	return rl.One(rl.Wrap(Where(explore, any.Leaf("").Node(), best.Leaf("").Node())))
}

// lossGraph is the error of one action's value against the reward and the best
// value of where it led, by the target network. The best action there is the
// target's, or with Double the network's own.
func (l *Learner) lossGraph(c *rl.Ctx, b Batch) (loss, weight rl.Tensor, m Metrics) {
	s := b.Sample
	d := s.Data
	next := l.target.values(c, d.Next)
	chooser := next
	if l.Double {
		chooser = l.net.values(c, d.Next)
	}
	reached := l.target.of(next, l.target.among(chooser, d.Next).Mode())
	open := OneMinus(ConvertDType(d.Terminated.Node(), dtypes.Float32))
	goal := Add(d.Reward.Node(), Mul(Mul(s.Discount.Node(), open), reached))

	q := l.net.of(l.net.values(c, d.Obs), d.Action)
	td := Sub(q, StopGradient(goal))
	x := Square(td)
	if l.Huber > 0 {
		x = nn.Huber(td, l.Huber)
	}
	if l.Prioritised {
		weight = rl.Wrap(Pow(s.Prob.Node(), Neg(b.Beta.Node())))
	}
	return rl.Wrap(x), weight, Metrics{Priority: rl.Wrap(l.priority(td)), Loss: rl.Wrap(x), Q: rl.Wrap(q)}
}

// priority is what a row's probability of being drawn will be proportional to.
func (l *Learner) priority(td *Node) *Node {
	size := AddScalar(Abs(td), l.PriorityEps)
	return Pow(size, ConstAs(size, l.Alpha))
}
