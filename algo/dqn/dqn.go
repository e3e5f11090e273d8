// Package dqn is deep Q-learning (Mnih et al., 2015) and what has become usual with it, each a
// switch: double (van Hasselt et al., 2016) and dueling networks (Wang et al., 2016), prioritised
// replay (Schaul et al., 2016), rows of several steps, target networks that are copied now and then
// or follow slowly, distributions of returns in place of means (Bellemare et al., 2017; Dabney et
// al., 2018), noisy layers (Fortunato et al., 2018). C51, QR-DQN and Rainbow (Hessel et al., 2018)
// are this loop with other defaults, in family.go. Where collectors and the learner do not wait for
// each other, the prioritised loop is Ape-X.
package dqn

import (
	"errors"
	"fmt"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer fills a table with what its Actor does, and its Learner learns from
// samples of it.
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
		t.Collect(run)
		if run.Steps() >= t.LearningStarts {
			t.Learn(run)
		}
	}
	return run.Err()
}

// Collect steps every environment TrainEvery times.
func (t *Trainer) Collect(run *rl.Run) {
	obs := t.Env.Obs()
	epsilon := rl.Scalar(t.Epsilon(run.Progress()))
	for i := range t.TrainEvery {
		action := t.Actor.Act(run.Key("act", i), ActIn{obs, epsilon})
		out := t.Env.Step(action)
		row := Transition{obs, action, out.Reward, out.Final, out.Terminated}
		if t.ActorPriorities {
			t.Replay.InsertRanked(row, out.Over, t.Actor.Rank(row))
		} else {
			t.Replay.Insert(row, out.Over)
		}
		obs = out.Obs
	}
	run.Log("epsilon", epsilon)
}

// Learn makes Updates updates, each of a sample.
func (t *Trainer) Learn(run *rl.Run) {
	beta := rl.Scalar(t.BetaAt(run.Progress()))
	for u := range t.Updates {
		s := t.Replay.Sample(run.Key("sample", u), t.Batch)
		if n := t.DemoRows(t.Batch); n > 0 {
			s = t.Shown.Among(run.Key("demos", u), n, s)
		}
		priority := t.Learner.Update(run, u, Batch{s, beta})
		if t.Prioritised {
			t.Replay.Prioritise(s.Index, priority)
		}
	}
	if run.Every(t.TargetEvery) {
		t.Learner.target.params.Blend(t.Learner.net.params, t.Tau)
	}
}

type (
	// ActIn is an observation, and how often to act at random.
	ActIn struct {
		Obs     rl.Obs
		Epsilon rl.Tensor
	}
	// Transition is one step of every environment. Next is where it led, before any
	// reset.
	Transition struct {
		Obs        rl.Obs
		Action     rl.Tree
		Reward     rl.Tensor `replay:"sum"`
		Next       rl.Obs    `replay:"last"`
		Terminated rl.Tensor `replay:"last"`
	}
	// Batch is a sample, and how far its probabilities are corrected for.
	Batch struct {
		Sample replay.Sample[Transition]
		Beta   rl.Tensor
	}
	// Metrics reports on an update, by row. Priority is how much there is to
	// learn from a row.
	Metrics struct{ Priority, Loss, Q rl.Tensor }
)

// Actor takes what seems best, and now and then anything.
type Actor struct {
	act    *rl.Func[ActIn, rl.Tree]
	greedy *rl.Func[rl.Obs, rl.Tree]
	rank   *rl.Func[Transition, rl.Tensor]
}

// Act chooses an action for every environment.
func (a *Actor) Act(k rl.Key, in ActIn) rl.Tree { return a.act.Call(k, in) }

// Rank returns the priorities of steps by the actor's own weights.
func (a *Actor) Rank(step Transition) rl.Tensor { return a.rank.Call(rl.Key{}, step) }

// Learner improves the weights.
type Learner struct {
	Config
	net, target *net
	opt         *rl.Opt
	loss        *rl.Loss[Batch, Metrics]
	values      *rl.Func[rl.Obs, rl.Tensor]
}

// Values returns those of all actions, [rows, actions].
func (l *Learner) Values(obs rl.Obs) rl.Tensor { return l.values.Call(rl.Key{}, obs) }

// Update makes update u of an iteration and returns the rows' priorities.
func (l *Learner) Update(run *rl.Run, u int, b Batch) rl.Tensor {
	g, m := l.loss.Grad(run.Key("loss", u), b)
	l.opt.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/td", m.Loss)
	run.Log("q", m.Q)
	return m.Priority
}

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent { return agent{t.Actor, t.EpsilonEnd} }

type agent struct {
	actor   *Actor
	epsilon float64
}

func (a agent) Memory(int) rl.Tree { return rl.Tree{} }

func (a agent) Act(k rl.Key, obs rl.Obs, _ rl.Tree, greedy bool) (action, next rl.Tree) {
	if greedy {
		return a.actor.greedy.Call(k, obs), rl.Tree{}
	}
	return a.actor.Act(k, ActIn{obs, rl.Scalar(a.epsilon)}), rl.Tree{}
}

// Config is DQN's settings. The defaults are CleanRL's for classic control.
type Config struct {
	Envs           int   `default:"1" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	TrainEvery     int   `default:"10" unit:"steps" range:"[1,)" doc:"steps that every environment takes between updates"`
	Updates        int   `default:"1" unit:"updates" range:"[1,)" doc:"updates of an iteration"`
	Batch          int   `default:"128" unit:"rows" range:"[1,)" doc:"rows of an update"`
	Buffer         int   `default:"10000" unit:"rows" range:"[1,)" doc:"rows that are kept"`
	LearningStarts int64 `default:"10000" unit:"steps" range:"[1,)" doc:"steps taken before the first update"`
	data.Demonstrated

	nn.Rate     `defaults:"learning_rate=2.5e-4"`
	AdamEps     float64 `default:"1e-8" range:"(0,)" doc:"Adam's term for numerical stability"`
	MaxGradNorm float64 `default:"0" range:"[0,)" doc:"norm over all parameters to which gradients are clipped; 0 is no bound"`
	Huber       float64 `default:"0" range:"[0,)" doc:"size of an error from which it counts linearly and no longer squared; 0 is always squared, or with quantiles never"`

	Gamma       float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	NStep       int     `default:"1" unit:"steps" range:"[1,)" doc:"steps of a row: rewards that are added up before a value is asked for"`
	TargetEvery int64   `default:"500" unit:"steps" range:"[1,)" doc:"steps between two updates of the target network"`
	Tau         float64 `default:"1" range:"(0,1]" doc:"how far the target network then moves; 1 is a copy"`

	nn.Exploring

	Double  bool `default:"false" doc:"let the network choose the action whose value the target network gives"`
	Dueling bool `default:"false" doc:"split values into that of the state and the actions' advantages"`
	nn.Prioritising

	ActorPriorities bool `default:"false" doc:"with prioritised, insert rows with the priorities of their first steps by the actor's weights; without it a row has the largest until it is drawn"`

	nn.Distributional
	Noisy bool    `default:"false" doc:"explore by noise on the weights of dense layers, whose size is learnt; greedy actions have none"`
	Sigma float64 `default:"0.5" range:"(0,)" doc:"size of that noise at the start, times the square root of a layer's inputs"`

	nn.Layers `defaults:"hidden=120,84 activation=relu"`
}

// Validate finds settings that do not go together.
func (c *Config) Validate() error {
	errs := []error{c.Distributional.Validate()}
	if rows := c.NStep * c.Envs; c.Buffer < rows {
		errs = append(errs, fmt.Errorf("buffer: %d rows do not hold the %d steps of a row (n_step) in each of %d environments (envs)", c.Buffer, c.NStep, c.Envs))
	}
	if least := int64(c.NStep * c.Envs); c.LearningStarts < least {
		errs = append(errs, fmt.Errorf("learning_starts: after %d steps there is no row of n_step=%d steps in %d environments; at least %d are needed", c.LearningStarts, c.NStep, c.Envs, least))
	}
	if c.Prioritised && c.Demos != "" {
		errs = append(errs, errors.New("demos: demonstrations are drawn evenly and have no priorities: set prioritised=false"))
	}
	if c.ActorPriorities && !c.Prioritised {
		errs = append(errs, errors.New("actor_priorities: rows are drawn uniformly: set prioritised=true as well"))
	}
	return errors.Join(errs...)
}

// Algorithm is DQN for whoever runs it.
var Algorithm = algo.Define("dqn", "deep Q-learning: double, dueling, prioritised, noisy, distributional", []algo.Preset{
	algo.For("CartPole-v1", 500_000, "Double DQN that stays where it gets: a memory of all steps, rows of three, a target that follows slowly", func(c *Config) {
		c.Double, c.Envs, c.TrainEvery, c.Updates, c.Buffer, c.LearningStarts = true, 8, 8, 16, 500_000, 2000
		c.LearningRate, c.Anneal, c.Exploration = 1e-3, "cosine", .2
		c.NStep, c.TargetEvery, c.Tau = 3, 64, .05
	}),
	algo.For("CartPole-v1", 500_000, "CleanRL's recipe", func(*Config) {}).Named("cleanrl"),
	algo.ForKind(env.Control, 500_000, "CleanRL's recipe for classic control", func(*Config) {}),
	algo.ForKind(env.Images, 10_000_000, "CleanRL's recipe for Atari, with a tenth of the memory", func(c *Config) {
		c.TrainEvery, c.Batch, c.Buffer, c.LearningStarts, c.TargetEvery = 4, 32, 100_000, 80_000, 1000
		c.LearningRate, c.EpsilonEnd, c.Exploration = 1e-4, .01, .1
	}),
	algo.ForKind(env.Images, 1_000_000, "MinAtar's recipe, with Adam, for pictures of 10x10", minatar).Named("minatar"),
	algo.For("Identity-v0", 20_000, "solved in a second", func(c *Config) {
		c.Envs, c.TrainEvery, c.Batch, c.LearningStarts, c.TargetEvery = 8, 4, 64, 1000, 500
		c.LearningRate, c.Gamma = 1e-3, .9
	}),
}, build)

// minatar sets what Young and Tian (2019) train DQN with on MinAtar, but for the optimiser.
func minatar(c *Config) {
	c.TrainEvery, c.Batch, c.Buffer, c.LearningStarts, c.TargetEvery = 1, 32, 100_000, 5000, 1000
	c.AdamEps, c.Huber, c.EpsilonEnd, c.Exploration = 3.125e-4, 1, .1, .1
}

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Batch(c.Envs)
	if err != nil {
		return nil, err
	}
	q, err := newNet(s, "q", *c, e.Spec())
	if err != nil {
		return nil, err
	}
	target, err := newNet(s, "target", *c, e.Spec())
	if err != nil {
		return nil, err
	}
	target.params.Blend(q.params, 1)
	how := replay.Options{
		NStep: c.NStep, Discount: c.Gamma, Priority: c.Prioritised,
		Ratio: float64(c.Updates*c.Batch) / float64(c.TrainEvery*c.Envs),
	}
	t := &Trainer{
		Config:  *c,
		Env:     e,
		Replay:  replay.NewTable[Transition](s, "replay", c.Buffer, how),
		Actor:   &Actor{act: rl.NewFunc(s, "act", q.act), greedy: rl.NewFunc(s, "greedy", q.greedy)},
		Learner: newLearner(s, *c, q, target),
	}
	t.Actor.rank = rl.NewFunc(s, "rank", ranker{*c, q}.rank)
	if c.Demos != "" {
		spec := e.Spec()
		t.Shown, err = data.NewShown[Transition](s, c.Demonstrated, spec.Obs, spec.Action, data.Options{NStep: c.NStep, Discount: c.Gamma})
	}
	return t, err
}

func newLearner(s *rl.Scope, c Config, q, target *net) *Learner {
	l := &Learner{Config: c, net: q, target: target}
	l.opt = rl.NewOpt(s, "adam", nn.ClipNorm{Max: c.MaxGradNorm, Rule: nn.Adam{Eps: c.AdamEps}}, q.params)
	l.loss = rl.NewLoss(s, "td", l.lossGraph, q.params)
	l.values = rl.NewFunc(s, "values", q.values)
	return l
}

// net predicts the returns of all actions.
type net struct {
	nn.Values
	params *rl.Params
}

func newNet(s *rl.Scope, name string, c Config, spec env.Spec) (*net, error) {
	v, err := nn.NewValues(c.Layers, c.Distributional, spec.Obs, spec.Action)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: take ppo or sac", spec.ID, err)
	}
	v.Dueling = c.Dueling
	if c.Noisy {
		v.Noise.Sigma = c.Sigma
	}
	return &net{v, rl.NewParams(s, name, v.Init)}, nil
}

// returns predicts what all actions return. noise names the draws of noisy layers.
func (n *net) returns(c *rl.Ctx, obs rl.Obs, noise string) *Node {
	return n.Apply(c, c.Scope(n.params), obs, noise)
}

func (n *net) values(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	return rl.Wrap(n.Mean(n.returns(c, obs, "")))
}

func (n *net) greedy(c *rl.Ctx, obs rl.Obs) rl.Tree { return n.Best(n.returns(c, obs, ""), obs) }

// act returns the best legal action, or with probability epsilon any legal one.
func (n *net) act(c *rl.Ctx, in ActIn) rl.Tree {
	z := n.returns(c, in.Obs, "noise")
	best, any := n.Best(z, in.Obs), n.Any(c, "any", z, in.Obs)
	u := c.Uniform("epsilon", z.Shape().Dimensions[0])
	explore := LessThan(u, in.Epsilon.Node())
	return rl.One(rl.Wrap(Where(explore, any.Leaf("").Node(), best.Leaf("").Node())))
}

// lossGraph returns how far the prediction for an action is from the reward and the prediction for
// the best action where it led, by the target network. The best action there is the target's, or
// with Double the network's own.
func (l *Learner) lossGraph(c *rl.Ctx, b Batch) (loss, weight rl.Tensor, m Metrics) {
	s := b.Sample
	d := s.Data
	next := l.target.returns(c, d.Next, "noise")
	chooser := next
	if l.Double {
		chooser = l.net.returns(c, d.Next, "choice")
	}
	reached := l.target.Of(next, l.net.Best(chooser, d.Next))
	open := OneMinus(ConvertDType(d.Terminated.Node(), dtypes.Float32))

	z := l.net.Of(l.net.returns(c, d.Obs, "noise"), d.Action)
	x, size := l.Loss(z, d.Reward.Node(), Mul(s.Discount.Node(), open), reached, l.Huber)
	if l.Prioritised {
		weight = rl.Wrap(Pow(s.Prob.Node(), Neg(b.Beta.Node())))
	}
	return rl.Wrap(x), weight, Metrics{Priority: rl.Wrap(l.Priority(size)), Loss: rl.Wrap(x), Q: rl.Wrap(l.net.Mean(z))}
}

// ranker gives steps priorities with the network alone, of which actors have a copy, and without
// its noise.
type ranker struct {
	Config
	net *net
}

func (r ranker) rank(c *rl.Ctx, d Transition) rl.Tensor {
	next := r.net.returns(c, d.Next, "")
	open := OneMinus(ConvertDType(d.Terminated.Node(), dtypes.Float32))
	z := r.net.Of(r.net.returns(c, d.Obs, ""), d.Action)
	_, size := r.Loss(z, d.Reward.Node(), MulScalar(open, r.Gamma), r.net.Of(next, r.net.Best(next, d.Next)), r.Huber)
	return rl.Wrap(r.Priority(size))
}
