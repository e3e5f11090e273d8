// Package iql is implicit Q-learning (Kostrikov et al., 2021): it learns from a data set without
// ever asking what an action that is not in the data would be worth. What a state is worth is an
// upper expectile of the values of the actions seen there, and the policy imitates the data, the
// better an action the more.
package iql

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer learns from a data set.
type Trainer struct {
	Config
	Data           *data.Set[Transition]
	Learner        *Learner
	sample, greedy *rl.Func[rl.Obs, rl.Tree]
}

// Train runs the algorithm. An iteration is an update of the values of states, of the policy and of
// the critics, in this order: the latter two see the new values of states.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		s := t.Data.Sample(run.Key("sample"), t.Batch)
		q := t.Learner.Value(run, s.Data)
		t.Learner.Improve(run, Choice{s.Data.Obs, s.Data.Action, q})
		t.Learner.Judge(run, s)
		t.Learner.slow.Blend(t.Learner.fast, t.Tau)
	}
	return run.Err()
}

type (
	// Transition is one step of the data.
	Transition replay.Transition
	// Valued reports an update of the values of states, by row: the loss, the state's value, and
	// what the target critics say of the action that was taken there.
	Valued struct{ Loss, V, Q rl.Tensor }
	// Choice is an action that was taken in a state, and its value.
	Choice struct {
		Obs    rl.Obs
		Action rl.Tree
		Q      rl.Tensor
	}
	// Improved reports an update of the policy, by row.
	Improved struct{ Loss, Advantage rl.Tensor }
)

// Learner improves the weights.
type Learner struct {
	Config
	fast, slow              *rl.Params // of critics
	value                   *rl.Loss[Transition, Valued]
	improve                 *rl.Loss[Choice, Improved]
	judge                   *rl.Loss[replay.Sample[Transition], rl.Tensor]
	values, policy, critics *rl.Opt
}

// Value makes an update of the values of states. It returns what the target critics say of the
// actions.
func (l *Learner) Value(run *rl.Run, s Transition) (q rl.Tensor) {
	g, m := l.value.Grad(rl.Key{}, s)
	l.values.Apply(g, l.LearningRate)
	run.Log("loss/values", m.Loss)
	run.Log("v", m.V)
	run.Log("q", m.Q)
	return m.Q
}

// Improve makes an update of the policy, whose step size alone follows a schedule.
func (l *Learner) Improve(run *rl.Run, s Choice) {
	g, m := l.improve.Grad(rl.Key{}, s)
	l.policy.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/policy", m.Loss)
	run.Log("advantage", m.Advantage)
}

// Judge makes an update of the critics.
func (l *Learner) Judge(run *rl.Run, s replay.Sample[Transition]) {
	g, loss := l.judge.Grad(rl.Key{}, s)
	l.critics.Apply(g, l.LearningRate)
	run.Log("loss/critics", loss)
}

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	return rl.NewAgent(t.sample, t.greedy, func(a rl.Tree) rl.Tree { return a })
}

// Config is its settings. The defaults are its authors' for MuJoCo's tasks, but for observations,
// which are standardised as CORL does. The sizes of HalfCheetah's numbers differ by a factor of
// ten, and without it the policy is slower than plain imitation by far.
type Config struct {
	data.From
	Batch     int     `default:"256" unit:"steps" range:"[1,)" doc:"steps of the data set in an update"`
	Gamma     float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	Expectile float64 `default:"0.7" range:"(0,1)" doc:"expectile of the actions' values that a state is worth: .5 is their mean, 1 their maximum"`
	Beta      float64 `default:"3" range:"[0,)" doc:"how much more an action is imitated if it is better: the weight is exp(beta advantage); 0 imitates all alike"`
	MaxWeight float64 `default:"100" range:"(0,)" doc:"bound of the weight of an action"`
	Scale     float64 `default:"0" range:"[0,)" doc:"factor of rewards; 0 is the steps of an episode over the distance between the highest and the lowest return of the data set, a random policy's return included where it is known, and else 0"`
	nn.Rate   `defaults:"anneal=cosine"`
	Tau       float64 `default:"0.005" range:"(0,1]" doc:"how far the target critics move after every update"`
	Critics   int     `default:"2" unit:"critics" range:"[1,)" doc:"critics, of which the lowest value counts"`

	nn.Standard `defaults:"normalize_obs=true"`
	nn.Layers   `defaults:"hidden=256,256 activation=relu"`
}

// Algorithm is implicit Q-learning for whoever runs it.
var Algorithm = algo.DefineOffline("iql", "implicit Q-learning: learns from a data set without leaving it", []algo.Preset{
	{Name: "default", Doc: "its authors' recipe for MuJoCo, with standardised observations as in CORL", Steps: 1_000_000},
	{Name: "authors", Doc: "its authors' recipe for MuJoCo", Steps: 1_000_000, Set: []string{"normalize_obs=false"}},
}, build)

func build(s *rl.Scope, _ algo.MakeEnv, c *Config) (rl.Trainer, error) {
	set, err := data.NewFrom[Transition](s, "data", c.From, data.Options{Discount: c.Gamma})
	if err != nil {
		return nil, err
	}
	n, err := newNet(s, *c, set)
	if err != nil {
		return nil, err
	}
	return &Trainer{
		Config: *c, Data: set,
		sample: rl.NewFunc(s, "sample", n.sample),
		greedy: rl.NewFunc(s, "greedy", n.greedy),
		Learner: &Learner{
			Config: *c, fast: n.fast, slow: n.slow,
			value:   rl.NewLoss(s, "value", n.value, n.v),
			improve: rl.NewLoss(s, "improve", n.improve, n.pi),
			judge:   rl.NewLoss(s, "judge", n.judge, n.fast),
			values:  rl.NewOpt(s, "values' adam", nn.Adam{}, n.v),
			policy:  rl.NewOpt(s, "policy's adam", nn.Adam{}, n.pi),
			critics: rl.NewOpt(s, "critics' adam", nn.Adam{}, n.fast),
		},
	}, nil
}

// net is the policy, the values of states, and the critics with their targets.
type net struct {
	Config
	view              nn.View
	torso             nn.Torso
	head              nn.Head
	critics           nn.Critics
	v, pi, fast, slow *rl.Params
}

func newNet(s *rl.Scope, c Config, set *data.Set[Transition]) (*net, error) {
	obs, action := set.Spaces()
	c.NormalizeObs = c.NormalizeObs && set.Meta().Norm != nil // pictures and choices stay as they are
	if c.Scale == 0 {
		c.Scale = scale(set.Meta())
	}
	view := c.View(s, "observations", obs)
	torso, err := c.Torso(view.Sees)
	if err != nil {
		return nil, err
	}
	critics, err := nn.NewCritics(c.Layers, view.Sees, action, c.Critics)
	if err != nil {
		return nil, err
	}
	n := &net{Config: c, view: view, torso: torso, head: nn.NewBoundedHead(action), critics: critics}
	n.v = rl.NewParams(s, "values", func(c *rl.Ctx, sc *model.Scope) { n.worth(c, sc, rl.Obs{X: nn.Blank(c, view.Sees)}) })
	n.pi = rl.NewParams(s, "policy", func(c *rl.Ctx, sc *model.Scope) { n.policy(c, sc, rl.Obs{X: nn.Blank(c, view.Sees)}).Mode() })
	n.fast = rl.NewParams(s, "critics", critics.Init)
	n.slow = rl.NewParams(s, "target critics", critics.Init)
	n.slow.Blend(n.fast, 1)
	return n, view.Know(set.Normalise)
}

// scale returns the factor of rewards that puts 1 for every step between the lowest return and the
// highest; 1 where all returns are alike. A random policy's return counts as one of the set's where
// it is known, as it is for D4RL's tasks, whose episodes have up to 1000 steps. Elsewhere a return
// of 0 does: a set of one policy has no episode that failed, and by the distance between its own
// episodes the factor would be so large that nearly every weight is 0 or at its bound.
func scale(m data.Meta) float64 {
	low, high, steps := min(m.Returns.Min, 0), max(m.Returns.Max, 0), float64(m.Longest)
	if m.Bounds != nil {
		low, high, steps = min(m.Returns.Min, m.Bounds.Random), m.Returns.Max, 1000
	}
	if span := high - low; span > 0 {
		return steps / span
	}
	return 1
}

// policy returns the distributions of actions: of boxes, a Gaussian whose deviations do not depend
// on the state.
func (n *net) policy(c *rl.Ctx, sc *model.Scope, seen rl.Obs) nn.Dist {
	x := nn.Dense(c, sc.At("out"), n.torso.Apply(c, sc, seen.X), n.head.Units(), .01)
	return n.head.Dist(c, sc, x, seen.Legal)
}

func (n *net) sample(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.head.Clip(n.policy(c, c.Scope(n.pi), n.view.Of(c, obs)).Sample(c, "action"))
}

func (n *net) greedy(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.head.Clip(n.policy(c, c.Scope(n.pi), n.view.Of(c, obs)).Mode())
}

// worth returns the values of states, [rows...].
func (n *net) worth(c *rl.Ctx, sc *model.Scope, seen rl.Obs) *Node {
	return Squeeze(nn.Dense(c, sc.At("out"), n.torso.Apply(c, sc, seen.X), 1, 1), -1)
}

// value returns the loss of the values of states against the lowest value of the actions taken, by
// the target critics.
func (n *net) value(c *rl.Ctx, s Transition) (loss, weight rl.Tensor, m Valued) {
	obs := n.view.Of(c, s.Obs)
	q := nn.Least(n.critics.Apply(c, c.Scope(n.slow), obs, s.Action))
	v := n.worth(c, c.Scope(n.v), obs)
	loss = rl.Wrap(expectile(Sub(q, v), n.Expectile))
	return loss, rl.Tensor{}, Valued{loss, rl.Wrap(v), rl.Wrap(q)}
}

// expectile returns the loss whose minimum is the expectile of a part: squares, weighed by part
// where targets are above the prediction and by 1-part where they are below.
func expectile(x *Node, part float64) *Node {
	above := ConvertDType(GreaterThan(x, ZerosLike(x)), dtypes.Float32)
	return Mul(AddScalar(MulScalar(above, 2*part-1), 1-part), Square(x))
}

// improve returns the policy's loss: the negative logarithm of the probability of the action, by a
// weight that grows with its advantage.
func (n *net) improve(c *rl.Ctx, s Choice) (loss, weight rl.Tensor, m Improved) {
	obs := n.view.Of(c, s.Obs)
	adv := Sub(s.Q.Node(), n.worth(c, c.Scope(n.v), obs))
	logp := n.policy(c, c.Scope(n.pi), obs).LogProb(s.Action)
	loss = rl.Wrap(Neg(Mul(nn.AdvantageWeights(adv, n.Beta, n.MaxWeight), logp)))
	return loss, rl.Tensor{}, Improved{loss, rl.Wrap(adv)}
}

// judge returns the squared errors of all critics against the reward and what the next state is
// worth.
func (n *net) judge(c *rl.Ctx, s replay.Sample[Transition]) (loss, weight, report rl.Tensor) {
	next := n.worth(c, c.Scope(n.v), n.view.Of(c, s.Data.Next))
	q := n.critics.Apply(c, c.Scope(n.fast), n.view.Of(c, s.Data.Obs), s.Data.Action)
	reward := rl.Wrap(MulScalar(s.Data.Reward.Node(), n.Scale))
	loss = rl.Wrap(nn.SquaredErrors(q, nn.Goal(reward, s.Discount, s.Data.Terminated, next)))
	return loss, rl.Tensor{}, loss
}
