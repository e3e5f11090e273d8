// Package cql is conservative Q-learning (Kumar et al., 2020): the soft actor-critic on a data set,
// whose critics are taught to value actions that the data do not show below those that they do. So
// the policy finds no actions that are overrated because nobody has tried them. Actions are boxes
// or a single choice. Without the conservative term it is plain SAC on data, which fails.
package cql

import (
	"fmt"
	"math"

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

// Train runs the algorithm. An iteration is an update of the critics and one of the policy.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		s := t.Data.Sample(run.Key("sample"), t.Batch)
		t.Learner.Judge(run, s)
		t.Learner.Improve(run, s.Data.Obs)
		t.Learner.slow.Blend(t.Learner.fast, t.Tau)
	}
	return run.Err()
}

type (
	// Transition is one step of the data.
	Transition replay.Transition
	// Judged reports an update of the critics, by row: the loss, the first critic's value of the
	// data's action, and how far others are above it, summed over the critics.
	Judged struct{ Loss, Q, Gap rl.Tensor }
	// Improved reports an update of the policy, by row. The temperature is learnt from the
	// entropy.
	Improved struct{ Loss, Entropy rl.Tensor }
)

// Learner improves the weights.
type Learner struct {
	Config
	fast, slow               *rl.Params // of critics
	judge                    *rl.Loss[replay.Sample[Transition], Judged]
	improve                  *rl.Loss[rl.Obs, Improved]
	warm                     *rl.Loss[rl.Tensor, rl.Tensor]
	critics, policy, tempers *rl.Opt
}

// Judge makes an update of the critics.
func (l *Learner) Judge(run *rl.Run, s replay.Sample[Transition]) {
	g, m := l.judge.Grad(run.Key("judge"), s)
	l.critics.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/critics", m.Loss)
	run.Log("q", m.Q)
	run.Log("gap", m.Gap)
}

// Improve makes an update of the policy, and of the temperature if that is learnt.
func (l *Learner) Improve(run *rl.Run, obs rl.Obs) {
	lr := l.PolicyRate * l.Rate.At(run.Progress())
	g, m := l.improve.Grad(run.Key("improve"), obs)
	l.policy.Apply(g, lr)
	if l.Auto {
		h, temperature := l.warm.Grad(rl.Key{}, m.Entropy)
		l.tempers.Apply(h, lr)
		run.Log("temperature", temperature)
	}
	run.Log("loss/policy", m.Loss)
	run.Log("entropy", m.Entropy)
}

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	return rl.NewAgent(t.sample, t.greedy, func(a rl.Tree) rl.Tree { return a })
}

// Config is its settings. The defaults are those of CORL for MuJoCo's tasks.
type Config struct {
	data.From
	Batch   int     `default:"256" unit:"steps" range:"[1,)" doc:"steps of the data set in an update"`
	Gamma   float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	Alpha   float64 `default:"10" range:"[0,)" doc:"weight of the conservative term; 0 is plain SAC on data"`
	Actions int     `default:"10" unit:"actions" range:"[1,)" doc:"actions in boxes that the term compares by state: so many at random, of the policy, and of the policy in the next state"`

	nn.Rate
	PolicyRate float64 `default:"0.1" range:"(0,)" doc:"step size of the policy and the temperature, as a part of learning_rate"`
	Tau        float64 `default:"0.005" range:"(0,1]" doc:"how far the target critics move after every update"`
	Critics    int     `default:"2" unit:"critics" range:"[1,)" doc:"critics, of which the lowest value counts"`

	Auto          bool    `default:"true" doc:"learn the temperature, so that the policy keeps its entropy near a target"`
	Temperature   float64 `default:"1" range:"(0,)" doc:"what a nat of entropy is worth to the policy, or where learning it starts"`
	Entropy       float64 `default:"0" doc:"target of the entropy in nats; 0 is minus the numbers of an action, or .89 of the most there is for a choice"`
	BackupEntropy bool    `default:"false" doc:"count the entropy of the next state as a reward, as SAC does"`

	nn.Standard `defaults:"normalize_obs=true"`
	nn.Layers   `defaults:"hidden=256,256,256 activation=relu"`
}

// Algorithm is CQL for whoever runs it.
var Algorithm = algo.DefineOffline("cql", "conservative Q-learning: values what the data do not show below what they do", []algo.Preset{
	{Name: "default", Doc: "CORL's recipe for MuJoCo", Steps: 1_000_000},
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
			judge:   rl.NewLoss(s, "judge", n.judge, n.fast),
			improve: rl.NewLoss(s, "improve", n.improve, n.pi),
			warm:    rl.NewLoss(s, "warm", n.warm, n.warmth),
			critics: rl.NewOpt(s, "critics' adam", nn.Adam{}, n.fast),
			policy:  rl.NewOpt(s, "policy's adam", nn.Adam{}, n.pi),
			tempers: rl.NewOpt(s, "temperature's adam", nn.Adam{}, n.warmth),
		},
	}, nil
}

// net is the policy, the critics with their targets, and the temperature.
type net struct {
	Config
	view                   nn.View
	torso                  nn.Torso
	head                   nn.Head
	critics                nn.Critics
	temperature            nn.Temperature
	pi, fast, slow, warmth *rl.Params
}

func newNet(s *rl.Scope, c Config, set *data.Set[Transition]) (*net, error) {
	obs, action := set.Spaces()
	target, ok := nn.TargetEntropy(action)
	if !ok {
		return nil, fmt.Errorf("cql acts in boxes or makes single choices, and actions of the data set are %s: take iql", action)
	}
	if c.Entropy != 0 {
		target = c.Entropy
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
	n := &net{Config: c, view: view, torso: torso, head: nn.NewSquashedHead(action), critics: critics}
	n.temperature = nn.Temperature{Start: c.Temperature, Target: target}
	n.pi = rl.NewParams(s, "policy", func(c *rl.Ctx, sc *model.Scope) { n.policy(c, sc, rl.Obs{X: nn.Blank(c, view.Sees)}, 0) })
	n.warmth = rl.NewParams(s, "temperature", n.temperature.Init)
	n.fast = rl.NewParams(s, "critics", critics.Init)
	n.slow = rl.NewParams(s, "target critics", critics.Init)
	n.slow.Blend(n.fast, 1)
	return n, view.Know(set.Normalise)
}

// choices reports whether actions are single choices.
func (n *net) choices() bool {
	_, ok := n.critics.Action.(rl.Discrete)
	return ok
}

// policy returns the distributions of actions, [rows], or each of them k times, [rows, k].
func (n *net) policy(c *rl.Ctx, sc *model.Scope, seen rl.Obs, k int) nn.Dist {
	x := nn.Dense(c, sc.At("out"), n.torso.Apply(c, sc, seen.X), n.head.Units(), .01)
	if k > 0 {
		x = times(x, k)
	}
	return n.head.Dist(c, sc, x, seen.Legal)
}

// times returns every row k times, [rows, k, ...].
func times(x *Node, k int) *Node {
	dims := x.Shape().Dimensions
	return BroadcastToDims(ExpandAxes(x, 1), append([]int{dims[0], k}, dims[1:]...)...)
}

func (n *net) sample(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.policy(c, c.Scope(n.pi), n.view.Of(c, obs), 0).Sample(c, "action")
}

func (n *net) greedy(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.policy(c, c.Scope(n.pi), n.view.Of(c, obs), 0).Mode()
}

// worth returns the values of states by the lowest of critics, without the policy's entropy, and
// the entropy: in expectation over choices, or by a sample.
func (n *net) worth(c *rl.Ctx, critics *rl.Params, seen rl.Obs, use string) (value, entropy *Node) {
	pi := n.policy(c, c.Scope(n.pi), seen, 0)
	if n.choices() {
		q := nn.Least(n.critics.All(c, c.Scope(critics), seen))
		return ReduceSum(Mul(pi.(*nn.Discrete).Probs(), q), -1), pi.Entropy()
	}
	action := pi.Sample(c, use)
	return nn.Least(n.critics.Apply(c, c.Scope(critics), seen, action)), Neg(pi.LogProb(action))
}

// judge returns the squared errors of all critics against the reward and what the next state is
// worth, and the conservative term of each, alpha times.
func (n *net) judge(c *rl.Ctx, s replay.Sample[Transition]) (loss, weight rl.Tensor, m Judged) {
	obs, after := n.view.Of(c, s.Data.Obs), n.view.Of(c, s.Data.Next)
	next, entropy := n.worth(c, n.slow, after, "next")
	if n.BackupEntropy {
		next = Add(next, Mul(n.temperature.Value(c, c.Scope(n.warmth)), entropy))
	}
	q, gaps := n.compared(c, obs, after, s.Data.Action)
	total, gap := nn.SquaredErrors(q, nn.Goal(s.Data.Reward, s.Discount, s.Data.Terminated, next)), ZerosLike(q[0])
	for _, x := range gaps {
		gap = Add(gap, x)
	}
	loss = rl.Wrap(Add(total, MulScalar(gap, n.Alpha)))
	return loss, rl.Tensor{}, Judged{loss, rl.Wrap(q[0]), rl.Wrap(gap)}
}

// compared returns every critic's values of the data's actions, and how far the soft maximum over
// all actions is above them; nothing of that if alpha is 0. In boxes it is estimated by actions
// that are drawn evenly, from the policy, and from the policy in the next state, each corrected by
// the density it was drawn with.
func (n *net) compared(c *rl.Ctx, obs, after rl.Obs, action rl.Tree) (q, gaps []*Node) {
	if n.Alpha == 0 {
		return n.critics.Apply(c, c.Scope(n.fast), obs, action), nil
	}
	if n.choices() {
		q = n.critics.Apply(c, c.Scope(n.fast), obs, action)
		for i, x := range n.critics.All(c, c.Scope(n.fast), obs) {
			gaps = append(gaps, Sub(soft(x), q[i]))
		}
		return q, gaps
	}
	drawn, density := n.drawn(c, obs, after)
	all := Concatenate([]*Node{ExpandAxes(action.Leaf("").Node(), 1), drawn}, 1)
	obs.X = rl.Map(obs.X, func(x rl.Tensor) rl.Tensor { return rl.Wrap(times(x.Node(), all.Shape().Dimensions[1])) })
	for _, x := range n.critics.Apply(c, c.Scope(n.fast), obs, rl.One(rl.Wrap(all))) {
		own := Squeeze(SliceAxis(x, 1, AxisElem(0)), 1)
		q = append(q, own)
		gaps = append(gaps, Sub(soft(Sub(SliceAxis(x, 1, AxisRangeToEnd(1)), density)), own))
	}
	return q, gaps
}

// drawn returns actions to compare the data's with, [rows, 3 Actions, ...], and the logarithms of
// the densities that they were drawn with.
func (n *net) drawn(c *rl.Ctx, obs, after rl.Obs) (actions, density *Node) {
	here, there := n.policy(c, c.Scope(n.pi), obs, n.Actions), n.policy(c, c.Scope(n.pi), after, n.Actions)
	a, b := here.Sample(c, "here"), there.Sample(c, "there")
	p, box := here.LogProb(a), n.critics.Action.(rl.Box)
	size, volume := box.Shape().Size(), 0.0
	for i := range size {
		lo, hi := box.Bounds(i)
		volume += math.Log(hi - lo)
	}
	any := nn.Unscaled(box, AddScalar(MulScalar(c.Uniform("any", p.Shape().Dimensions[0], n.Actions, size), 2), -1))
	actions = Concatenate([]*Node{any.Leaf("").Node(), a.Leaf("").Node(), b.Leaf("").Node()}, 1)
	return actions, Concatenate([]*Node{AddScalar(ZerosLike(p), -volume), p, there.LogProb(b)}, 1)
}

// soft returns the logarithm of the sum of exponentials over the last axis.
func soft(x *Node) *Node {
	most := StopGradient(ReduceMax(x, -1))
	return Add(most, Log(ReduceSum(Exp(Sub(x, ExpandAxes(most, -1))), -1)))
}

// improve returns the policy's loss: what states are worth to it and its entropy, negated.
func (n *net) improve(c *rl.Ctx, obs rl.Obs) (loss, weight rl.Tensor, m Improved) {
	value, entropy := n.worth(c, n.fast, n.view.Of(c, obs), "action")
	loss = rl.Wrap(Neg(Add(value, Mul(n.temperature.Value(c, c.Scope(n.warmth)), entropy))))
	return loss, rl.Tensor{}, Improved{loss, rl.Wrap(entropy)}
}

// warm returns the temperature's loss.
func (n *net) warm(c *rl.Ctx, entropy rl.Tensor) (loss, weight, temperature rl.Tensor) {
	x, value := n.temperature.Loss(c, c.Scope(n.warmth), entropy.Node())
	return rl.Wrap(x), rl.Tensor{}, rl.Wrap(value)
}
