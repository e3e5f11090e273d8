// Package td3bc is TD3+BC (Fujimoto and Gu, 2021): TD3 on a data set, whose policy also stays near
// the actions of the data. One number weighs the two, in a unit that does not depend on the size of
// the rewards.
package td3bc

import (
	"fmt"

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
	Data    *data.Set[Transition]
	Learner *Learner
	act     *rl.Func[rl.Obs, rl.Tree]
}

// Train runs the algorithm. An iteration is an update of the critics. After every Delay of them the
// policy is updated, and the targets follow.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		s := t.Data.Sample(run.Key("sample"), t.Batch)
		t.Learner.Judge(run, s)
		if (int(run.Iter())+1)%t.Delay == 0 {
			t.Learner.Improve(run, s.Data)
			t.Learner.Follow()
		}
	}
	return run.Err()
}

type (
	// Transition is one step of the data.
	Transition replay.Transition
	// Judged reports an update of the critics, by row.
	Judged struct{ Loss, Q rl.Tensor }
	// Shown holds the input of an update of the policy: states, the data's actions there, and the
	// mean size of the values of the policy's own.
	Shown struct {
		Obs    rl.Obs
		Action rl.Tree
		Size   rl.Tensor
	}
	// Improved reports an update of the policy, by row: its loss, and how far its actions are from
	// the data's.
	Improved struct{ Loss, Distance rl.Tensor }
)

// Learner improves the weights.
type Learner struct {
	Config
	weights, targets networks
	judge            *rl.Loss[replay.Sample[Transition], Judged]
	size             *rl.Func[rl.Obs, rl.Tensor]
	improve          *rl.Loss[Shown, Improved]
	critics, policy  *rl.Opt
}

// networks are the weights of a policy and of its critics.
type networks struct{ policy, critics *rl.Params }

// Judge makes an update of the critics.
func (l *Learner) Judge(run *rl.Run, s replay.Sample[Transition]) {
	g, m := l.judge.Grad(run.Key("judge"), s)
	l.critics.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/critics", m.Loss)
	run.Log("q", m.Q)
}

// Improve makes an update of the policy. The mean size of its values needs all rows of a batch, so
// it is computed before the loss.
func (l *Learner) Improve(run *rl.Run, s Transition) {
	size := rl.Mean(l.size.Call(rl.Key{}, s.Obs))
	g, m := l.improve.Grad(rl.Key{}, Shown{s.Obs, s.Action, size})
	l.policy.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/policy", m.Loss)
	run.Log("distance", m.Distance)
}

// Follow moves the targets towards the weights.
func (l *Learner) Follow() {
	l.targets.policy.Blend(l.weights.policy, l.Tau)
	l.targets.critics.Blend(l.weights.critics, l.Tau)
}

// Agent returns the trained policy, for evaluation, export and serving. It has no chance in it.
func (t *Trainer) Agent() rl.Agent {
	return rl.NewAgent(t.act, t.act, func(a rl.Tree) rl.Tree { return a })
}

// Config is its settings. The defaults are its authors', but for Alpha, which is 2.5 with them: in
// the first 100,000 updates values are still far below what they will be and the policy follows
// their slope too far from the data. Noise is in units of half the distance between the bounds of
// an action.
type Config struct {
	data.From
	Batch int     `default:"256" unit:"steps" range:"[1,)" doc:"steps of the data set in an update"`
	Gamma float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	Alpha float64 `default:"1" range:"[0,)" doc:"weight of the critic's values, in units of their mean size; the distance from the data's actions has weight 1"`
	nn.Rate

	Tau         float64 `default:"0.005" range:"(0,1]" doc:"how far the targets move after an update of the policy"`
	Delay       int     `default:"2" unit:"updates" range:"[1,)" doc:"updates of the critics for one of the policy and the targets"`
	Critics     int     `default:"2" unit:"critics" range:"[1,)" doc:"critics, of which the lowest value counts; the policy follows the first"`
	TargetNoise float64 `default:"0.2" range:"[0,)" doc:"deviation of the noise that is added to the target policy's actions; 1 is half of an action's range"`
	TargetClip  float64 `default:"0.5" range:"[0,)" doc:"bound of that noise, in the same unit; 0 is no bound"`

	nn.Standard `defaults:"normalize_obs=true"`
	nn.Layers   `defaults:"hidden=256,256 activation=relu"`
}

// Algorithm is TD3+BC for whoever runs it.
var Algorithm = algo.DefineOffline("td3bc", "TD3 on a data set, near the actions of the data", []algo.Preset{
	{Name: "default", Doc: "its authors' recipe, nearer to the data", Steps: 1_000_000},
	{Name: "authors", Doc: "its authors' recipe", Steps: 1_000_000, Set: []string{"alpha=2.5"}},
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
		Config: *c, Data: set, act: rl.NewFunc(s, "act", n.act),
		Learner: &Learner{
			Config: *c, weights: n.weights, targets: n.targets,
			judge:   rl.NewLoss(s, "judge", n.judge, n.weights.critics),
			size:    rl.NewFunc(s, "size", n.size),
			improve: rl.NewLoss(s, "improve", n.improve, n.weights.policy),
			critics: rl.NewOpt(s, "critics' adam", nn.Adam{}, n.weights.critics),
			policy:  rl.NewOpt(s, "policy's adam", nn.Adam{}, n.weights.policy),
		},
	}, nil
}

// net is the policy and the critics, and the targets of both.
type net struct {
	Config
	view             nn.View
	torso            nn.Torso
	head             nn.Head
	critics          nn.Critics
	weights, targets networks
}

func newNet(s *rl.Scope, c Config, set *data.Set[Transition]) (*net, error) {
	obs, action := set.Spaces()
	for _, l := range action.Leaves() {
		if _, ok := l.Space.(rl.Box); !ok {
			return nil, fmt.Errorf("a deterministic policy acts in boxes, and actions of the data set are %s: take iql or cql", action)
		}
	}
	c.NormalizeObs = c.NormalizeObs && set.Meta().Norm != nil // pictures and choices stay as they are
	view := c.View(s, "observations", obs)
	torso, err := c.Torso(view.Sees)
	if err != nil {
		return nil, err
	}
	critics, err := nn.NewCritics(c.Layers, view.Sees, action, c.Critics)
	if err != nil {
		return nil, err
	}
	n := &net{Config: c, view: view, torso: torso, head: nn.NewHead(action), critics: critics}
	policy := func(c *rl.Ctx, sc *model.Scope) { n.policy(c, sc, rl.Obs{X: nn.Blank(c, view.Sees)}) }
	n.weights = networks{rl.NewParams(s, "policy", policy), rl.NewParams(s, "critics", critics.Init)}
	n.targets = networks{rl.NewParams(s, "target policy", policy), rl.NewParams(s, "target critics", critics.Init)}
	n.targets.policy.Blend(n.weights.policy, 1)
	n.targets.critics.Blend(n.weights.critics, 1)
	return n, view.Know(set.Normalise)
}

// policy returns actions as numbers from -1 to 1, [rows..., numbers], for what is seen.
func (n *net) policy(c *rl.Ctx, sc *model.Scope, seen rl.Obs) *Node {
	return Tanh(nn.Dense(c, sc.At("out"), n.torso.Apply(c, sc, seen.X), n.head.Units(), .01))
}

// action returns the actions that numbers from -1 to 1 stand for, between their bounds.
func (n *net) action(x *Node) rl.Tree { return nn.Unscaled(n.critics.Action, x) }

func (n *net) act(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.action(n.policy(c, c.Scope(n.weights.policy), n.view.Of(c, obs)))
}

// judge returns the squared errors of all critics against the reward and the lowest value, by the
// targets, of a noisy action in the next state.
func (n *net) judge(c *rl.Ctx, s replay.Sample[Transition]) (loss, weight rl.Tensor, m Judged) {
	obs, after := n.view.Of(c, s.Data.Obs), n.view.Of(c, s.Data.Next)
	x := nn.Perturb(c, "noise", n.policy(c, c.Scope(n.targets.policy), after), n.TargetNoise, n.TargetClip)
	next := nn.Least(n.critics.Apply(c, c.Scope(n.targets.critics), after, n.action(x)))
	q := n.critics.Apply(c, c.Scope(n.weights.critics), obs, s.Data.Action)
	loss = rl.Wrap(nn.SquaredErrors(q, nn.Goal(s.Data.Reward, s.Discount, s.Data.Terminated, next)))
	return loss, rl.Tensor{}, Judged{loss, rl.Wrap(q[0])}
}

// value returns the policy's actions as numbers from -1 to 1, and their values by the first critic.
func (n *net) value(c *rl.Ctx, obs rl.Obs) (x, q *Node) {
	obs = n.view.Of(c, obs)
	x = n.policy(c, c.Scope(n.weights.policy), obs)
	return x, n.critics.First().Apply(c, c.Scope(n.weights.critics), obs, n.action(x))[0]
}

// size returns the sizes of the values of the policy's actions.
func (n *net) size(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	_, q := n.value(c, obs)
	return rl.Wrap(Abs(q))
}

// improve returns the policy's loss: the mean squared distance of the numbers of its actions from
// the data's, less the values of its actions in units of their mean size, alpha times.
func (n *net) improve(c *rl.Ctx, s Shown) (loss, weight rl.Tensor, m Improved) {
	x, q := n.value(c, s.Obs)
	distance := ReduceMean(Square(Sub(x, nn.Scaled(n.critics.Action, s.Action))), -1)
	lambda := MulScalar(Inverse(MaxScalar(s.Size.Node(), 1e-8)), n.Alpha)
	loss = rl.Wrap(Sub(distance, Mul(lambda, q)))
	return loss, rl.Tensor{}, Improved{loss, rl.Wrap(distance)}
}
