// Package sac is the soft actor-critic (Haarnoja et al., 2018): a policy that earns much while it
// decides as little as it can, learnt from a table of what it did. Actions are boxes, of which the
// policy is a squashed Gaussian, or a single choice (Christodoulou, 2019), over which it takes
// exact expectations instead of samples. The temperature, what a nat of entropy is worth, is learnt
// too.
package sac

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer fills a table with what its Actor does, and its Learner learns from samples of it.
type Trainer struct {
	Config
	Env     env.Batch
	Replay  *replay.Table[Transition]
	Shown   *data.Set[Transition] // demonstrations; nil without
	Actor   *Actor
	Learner *Learner
}

// Train runs the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Collect(run)
		if run.Steps() >= t.LearningStarts {
			t.Learn(run)
		}
		t.Learner.Observe(obs)
	}
	return run.Err()
}

// Collect steps every environment TrainEvery times, at random before anything was learnt, and
// returns what was observed last.
func (t *Trainer) Collect(run *rl.Run) rl.Obs {
	obs := t.Env.Obs()
	random := rl.Scalar(t.Random(run.Steps()))
	for i := range t.TrainEvery {
		action := t.Actor.Act(run.Key("act", i), ActIn{obs, random})
		out := t.Env.Step(action)
		t.Replay.Insert(Transition{obs, action, out.Reward, out.Final, out.Terminated}, out.Over)
		obs = out.Obs
	}
	return obs
}

// Learn makes Updates updates of the critics, and one of the policy after every Delay of them.
func (t *Trainer) Learn(run *rl.Run) {
	for u := range t.Updates {
		s := t.Replay.Sample(run.Key("sample", u), t.Batch)
		if n := t.DemoRows(t.Batch); n > 0 {
			s = t.Shown.Among(run.Key("demos", u), n, s)
		}
		t.Learner.Judge(run, u, s)
		if (int(run.Iter())*t.Updates+u)%t.Delay == 0 {
			for d := range t.Delay { // as many as were left out
				t.Learner.Improve(run, u, d, s.Data.Obs)
			}
		}
		t.Learner.slow.Blend(t.Learner.fast, t.Tau)
	}
}

type (
	// ActIn is an observation, and 1 if any action is to be taken, 0 if the policy's.
	ActIn struct {
		Obs    rl.Obs
		Random rl.Tensor
	}
	// Transition is one step of every environment.
	Transition replay.Transition
	// Judged reports an update of the critics, by row.
	Judged struct{ Loss, Q rl.Tensor }
	// Improved reports an update of the policy, by row. The temperature is learnt from the
	// entropy.
	Improved struct{ Loss, Entropy rl.Tensor }
)

// Actor chooses actions.
type Actor struct{ act, greedy *rl.Func[ActIn, rl.Tree] }

// Act samples an action of the policy for every environment, or returns any action.
func (a *Actor) Act(k rl.Key, in ActIn) rl.Tree { return a.act.Call(k, in) }

// Learner improves the weights.
type Learner struct {
	Config
	fast, slow               *rl.Params // parameters of the critics
	judge                    *rl.Loss[replay.Sample[Transition], Judged]
	improve                  *rl.Loss[rl.Obs, Improved]
	warm                     *rl.Loss[rl.Tensor, rl.Tensor]
	critics, policy, tempers *rl.Opt
	norm                     *rl.Stats // statistics of observations; nil without normalisation
	features                 *rl.Func[rl.Obs, rl.Tensor]
}

// Judge makes update u of the critics.
func (l *Learner) Judge(run *rl.Run, u int, s replay.Sample[Transition]) {
	g, m := l.judge.Grad(run.Key("judge", u), s)
	l.critics.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/critics", m.Loss)
	run.Log("q", m.Q)
}

// Improve makes an update of the policy, and of the temperature if that is learnt.
func (l *Learner) Improve(run *rl.Run, u, d int, obs rl.Obs) {
	lr := l.Rate.At(run.Progress())
	g, m := l.improve.Grad(run.Key("improve", u, d), obs)
	l.policy.Apply(g, lr)
	if l.Auto {
		h, alpha := l.warm.Grad(rl.Key{}, m.Entropy)
		l.tempers.Apply(h, lr)
		run.Log("temperature", alpha)
	}
	run.Log("loss/policy", m.Loss)
	run.Log("entropy", m.Entropy)
}

// Observe updates the statistics of observations, once an iteration and after learning, so that
// acting and learning normalise alike.
func (l *Learner) Observe(obs rl.Obs) {
	if l.NormalizeObs {
		l.norm.Update(l.features.Call(rl.Key{}, obs))
	}
}

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	return rl.Acting[ActIn, rl.Tree]{
		Sample: t.Actor.act, Greedy: t.Actor.greedy,
		In:  func(obs rl.Obs, _ rl.Tree) ActIn { return ActIn{obs, rl.Scalar(0)} },
		Out: func(a rl.Tree) (action, next rl.Tree) { return a, rl.Tree{} },
	}
}

// Config is SAC's settings. The defaults are those that MuJoCo's tasks are published with.
type Config struct {
	replay.Experience
	data.Demonstrated
	nn.Rate `defaults:"learning_rate=1e-3"`
	Tau     float64 `default:"0.005" range:"(0,1]" doc:"how far the target critics move after every update"`
	Delay   int     `default:"1" unit:"updates" range:"[1,)" doc:"updates of the critics after which the policy has as many"`
	Critics int     `default:"2" unit:"critics" range:"[1,)" doc:"critics, of which the lowest value counts"`

	Auto    bool    `default:"true" doc:"learn the temperature, so that the policy keeps its entropy near a target"`
	Alpha   float64 `default:"1" range:"(0,)" doc:"temperature, or where learning it starts: what a nat of entropy is worth"`
	Entropy float64 `default:"0" doc:"target of the entropy in nats; 0 is minus the numbers of an action, or .89 of the most there is for a choice"`

	nn.Standard
	nn.Layers `defaults:"hidden=256,256 activation=relu"`
}

// Algorithm is SAC for whoever runs it.
var Algorithm = algo.Define("sac", "soft actor-critic with a learnt temperature", []algo.Preset{
	algo.For("Pendulum-v1", 20_000, "RL Zoo's recipe", func(c *Config) { c.LearningStarts, c.Buffer = 100, 20_000 }),
	algo.For("CartPole-v1", 50_000, "an update a step, a temperature learnt for half a nat of entropy", func(c *Config) {
		c.Envs, c.Updates, c.LearningStarts, c.Buffer = 4, 4, 1000, 50_000
		c.LearningRate, c.Entropy, c.Hidden = 3e-4, .5, []int{128, 128}
	}),
	algo.ForKind(env.Continuous, 1_000_000, "Tianshou's recipe for MuJoCo", func(*Config) {}),
	algo.ForKind(env.Control, 100_000, "a small fixed temperature", func(c *Config) {
		c.LearningStarts, c.Buffer, c.Auto, c.Alpha = 1000, 100_000, false, .05
	}),
	algo.For("IdentityContinuous-v0", 10_000, "solved in seconds", func(c *Config) {
		c.Envs, c.TrainEvery, c.Updates, c.Batch, c.LearningStarts, c.Buffer = 8, 2, 2, 64, 512, 10_000
		c.LearningRate, c.Gamma, c.Hidden = 3e-3, .5, []int{32, 32}
	}),
}, build)

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Batch(c.Envs)
	if err != nil {
		return nil, err
	}
	spec := e.Spec()
	if spec.Agents > 1 {
		return nil, fmt.Errorf("%s has %d agents, this algorithm trains one: use one for several", spec.ID, spec.Agents)
	}
	sees := c.Sees(spec.Obs)
	torso, err := c.Torso(sees)
	if err != nil {
		return nil, err
	}
	critics, err := nn.NewCritics(c.Layers, sees, spec.Action, c.Critics)
	if err != nil {
		return nil, err
	}
	n := &net{Config: *c, torso: torso, head: nn.NewSquashedHead(spec.Action), critics: critics, space: spec.Obs}
	if err := n.target(spec); err != nil {
		return nil, err
	}
	if c.NormalizeObs {
		n.norm = rl.NewStats(s, "observations", c.ClipObs, nn.Width(spec.Obs))
	}
	n.pi = rl.NewParams(s, "policy", func(c *rl.Ctx, sc *model.Scope) { n.policy(c, sc, rl.Obs{X: nn.Blank(c, sees)}) })
	n.alpha = rl.NewParams(s, "temperature", n.temperature.Init)
	n.fast = rl.NewParams(s, "critics", critics.Init)
	n.slow = rl.NewParams(s, "target critics", critics.Init)
	n.slow.Blend(n.fast, 1)
	t := &Trainer{
		Config: *c,
		Env:    e,
		Replay: replay.NewTable[Transition](s, "replay", c.Buffer, c.Options()),
		Actor:  &Actor{rl.NewFunc(s, "act", n.act), rl.NewFunc(s, "greedy", n.greedy)},
		Learner: &Learner{
			Config: *c, fast: n.fast, slow: n.slow,
			judge:   rl.NewLoss(s, "judge", n.judge, n.fast),
			improve: rl.NewLoss(s, "improve", n.improve, n.pi),
			warm:    rl.NewLoss(s, "warm", n.warm, n.alpha),
			critics: rl.NewOpt(s, "critics' adam", nn.Adam{}, n.fast),
			policy:  rl.NewOpt(s, "policy's adam", nn.Adam{}, n.pi),
			tempers: rl.NewOpt(s, "temperature's adam", nn.Adam{}, n.alpha),
			norm:    n.norm, features: rl.NewFunc(s, "features", n.features),
		},
	}
	if c.Demos != "" {
		t.Shown, err = data.NewShown[Transition](s, c.Demonstrated, spec.Obs, spec.Action, data.Options{NStep: c.NStep, Discount: c.Gamma})
	}
	return t, err
}

// net is the policy, the critics and the temperature.
type net struct {
	Config
	torso                 nn.Torso
	head                  nn.Head
	critics               nn.Critics
	pi, fast, slow, alpha *rl.Params
	temperature           nn.Temperature
	choices               bool      // actions are single choices
	space                 rl.Space  // space of observations
	norm                  *rl.Stats // statistics of observations; nil without normalisation
}

// target sets what entropy the policy is to keep.
func (n *net) target(spec env.Spec) error {
	entropy, ok := nn.TargetEntropy(spec.Action)
	if !ok {
		return fmt.Errorf("sac acts in boxes or makes single choices, and actions of %s are %s: take ppo", spec.ID, spec.Action)
	}
	if n.Entropy != 0 {
		entropy = n.Entropy
	}
	n.temperature = nn.Temperature{Start: n.Alpha, Target: entropy}
	_, n.choices = spec.Action.(rl.Discrete)
	return nil
}

func (n *net) features(_ *rl.Ctx, obs rl.Obs) rl.Tensor {
	return rl.Wrap(nn.Features(n.space, obs.X))
}

// seen returns observations as the networks see them.
func (n *net) seen(c *rl.Ctx, obs rl.Obs) rl.Obs {
	if n.norm != nil {
		obs.X = rl.One(rl.Wrap(n.norm.Norm(c, nn.Features(n.space, obs.X))))
	}
	return obs
}

func (n *net) policy(c *rl.Ctx, sc *model.Scope, obs rl.Obs) nn.Dist {
	x := nn.Dense(c, sc.At("out"), n.torso.Apply(c, sc, obs.X), n.head.Units(), .01)
	return n.head.Dist(c, sc, x, obs.Legal)
}

// act samples actions of the policy, or of all actions alike.
func (n *net) act(c *rl.Ctx, in ActIn) rl.Tree {
	sampled := n.policy(c, c.Scope(n.pi), n.seen(c, in.Obs)).Sample(c, "action").Leaf("").Node()
	any := n.head.Uniform(c, "any", sampled.Shape().Dimensions[0], in.Obs.Legal).Leaf("").Node()
	random := BroadcastToDims(GreaterThan(in.Random.Node(), ScalarZero(c.Graph(), dtypes.Float32)), sampled.Shape().Dimensions...)
	return rl.One(rl.Wrap(Where(random, any, sampled)))
}

func (n *net) greedy(c *rl.Ctx, in ActIn) rl.Tree {
	return n.policy(c, c.Scope(n.pi), n.seen(c, in.Obs)).Mode()
}

// worth returns what states are worth to the policy by critics, its entropy included, and the
// entropy: in expectation over choices, or by a sample.
func (n *net) worth(c *rl.Ctx, critics *rl.Params, obs rl.Obs, use string) (value, entropy *Node) {
	obs = n.seen(c, obs)
	pi := n.policy(c, c.Scope(n.pi), obs)
	alpha := n.temperature.Value(c, c.Scope(n.alpha))
	if n.choices {
		p := pi.(*nn.Discrete).Probs()
		q := nn.Least(n.critics.All(c, c.Scope(critics), obs))
		entropy = pi.Entropy()
		return Add(ReduceSum(Mul(p, q), -1), Mul(alpha, entropy)), entropy
	}
	action := pi.Sample(c, use)
	entropy = Neg(pi.LogProb(action))
	return Add(nn.Least(n.critics.Apply(c, c.Scope(critics), obs, action)), Mul(alpha, entropy)), entropy
}

// judge returns the squared errors of all critics against the reward and what the next state is
// worth.
func (n *net) judge(c *rl.Ctx, s replay.Sample[Transition]) (loss, weight rl.Tensor, m Judged) {
	next, _ := n.worth(c, n.slow, s.Data.Next, "next")
	q := n.critics.Apply(c, c.Scope(n.fast), n.seen(c, s.Data.Obs), s.Data.Action)
	loss = rl.Wrap(nn.SquaredErrors(q, nn.Goal(s.Data.Reward, s.Discount, s.Data.Terminated, next)))
	return loss, rl.Tensor{}, Judged{loss, rl.Wrap(q[0])}
}

// improve returns the policy's loss: what states are worth to it, negated.
func (n *net) improve(c *rl.Ctx, obs rl.Obs) (loss, weight rl.Tensor, m Improved) {
	value, entropy := n.worth(c, n.fast, obs, "action")
	return rl.Wrap(Neg(value)), rl.Tensor{}, Improved{rl.Wrap(Neg(value)), rl.Wrap(entropy)}
}

// warm returns the temperature's loss.
func (n *net) warm(c *rl.Ctx, entropy rl.Tensor) (loss, weight, alpha rl.Tensor) {
	x, value := n.temperature.Loss(c, c.Scope(n.alpha), entropy.Node())
	return rl.Wrap(x), rl.Tensor{}, rl.Wrap(value)
}
