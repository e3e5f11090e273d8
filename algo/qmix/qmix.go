// Package qmix is deep Q-learning for a team: agents that share a recurrent network, each acting on
// what it sees itself, learn from whole episodes. A mixer joins the values of their actions into
// that of the joint action, which the team's rewards teach. QMIX's is a network that is monotonic
// in every agent's value (Rashid et al., 2018); VDN's is the sum (Sunehag et al., 2018). Without a
// mixer agents learn independently of each other (Tan, 1993). The three are this loop with other
// defaults.
//
// Tensors are [env, agent, ...], of sequences [rows, time, agent, ...].
package qmix

import (
	"errors"
	"fmt"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer fills a table with what its Actor does, and its Learner learns from episodes of it.
type Trainer struct {
	Config
	Env     env.Batch
	Memory  *rl.Slots[rl.Tensor] // memory of all agents, by environment; absent without
	Replay  *replay.Sequences[Step]
	Rewards *replay.Rollout[rl.Tensor] // rewards of an iteration
	Actor   *Actor
	Learner *Learner
}

// Train runs the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		t.Collect(run)
		t.Learner.Observe(t.Rewards.Drain())
		if run.Steps() >= t.LearningStarts && t.Replay.Ready(1) {
			t.Learn(run)
		}
	}
	return run.Err()
}

// Collect steps every environment TrainEvery times.
func (t *Trainer) Collect(run *rl.Run) {
	obs, memory := t.Env.Obs(), t.Memory.Get()
	epsilon := rl.Scalar(t.Epsilon(run.Progress()))
	for i := range t.TrainEvery {
		act := t.Actor.Act(run.Key("act", i), ActIn{obs, memory, epsilon})
		out := t.Env.Step(act.Action)
		t.Replay.Insert(Step{obs, act.Action, out.Reward, out.Final, out.Terminated, memory}, out.Over)
		t.Rewards.Insert(out.Reward)
		obs, memory = out.Obs, rl.Keep(act.Memory, out.Over)
	}
	t.Memory.Set(memory)
	run.Log("epsilon", epsilon)
}

// Learn makes Updates updates, each of a sample of episodes.
func (t *Trainer) Learn(run *rl.Run) {
	for u := range t.Updates {
		t.Learner.Update(run, u, t.Replay.Sample(run.Key("sample", u), t.Batch))
	}
	if run.Every(t.TargetEvery) {
		t.Learner.Follow()
	}
}

type (
	// ActIn is an observation, what is remembered of those before it, and how often to
	// act at random.
	ActIn struct {
		Obs             rl.Obs
		Memory, Epsilon rl.Tensor
	}
	// ActOut holds the agents' decisions, and their memory for the next step.
	ActOut struct {
		Action rl.Tree
		Memory rl.Tensor
	}
	// Step is one step of every environment. Next is where it led, before any reset;
	// Memory is that of the agents before it.
	Step struct {
		Obs        rl.Obs
		Action     rl.Tree
		Reward     rl.Tensor
		Next       rl.Obs
		Terminated rl.Tensor
		Memory     rl.Tensor `replay:"start"`
	}
	// Metrics report an update, by episode.
	Metrics struct{ Loss, Q rl.Tensor }
)

// Actor has every agent take what seems best to it, and now and then anything.
type Actor struct {
	act, greedy *rl.Func[ActIn, ActOut]
	scope       *rl.Scope
	cell        nn.Cell
}

// Act chooses an action for every agent of every environment.
func (a *Actor) Act(k rl.Key, in ActIn) ActOut { return a.act.Call(k, in) }

// Learner improves the weights.
type Learner struct {
	Config
	net, target *net
	opt         *rl.Opt
	loss        *rl.Loss[replay.Sample[Step], Metrics]
	rewards     *rl.Stats // statistics of the rewards that are learnt from
	earned      *rl.Func[rl.Tensor, rl.Tensor]
}

// Observe adds an iteration's rewards, [env, time, agent], to the statistics.
func (l *Learner) Observe(reward rl.Tensor) { l.rewards.Update(l.earned.Call(rl.Key{}, reward)) }

// Update makes update u of an iteration.
func (l *Learner) Update(run *rl.Run, u int, s replay.Sample[Step]) {
	g, m := l.loss.Grad(run.Key("loss", u), s)
	l.opt.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/td", m.Loss)
	run.Log("q", m.Q)
}

// Follow moves the target networks towards the others.
func (l *Learner) Follow() {
	l.target.agents.Blend(l.net.agents, l.Tau)
	l.target.mixer.Blend(l.net.mixer, l.Tau)
}

// Agent returns the trained policy, for evaluation, export and serving. The mixer stays behind.
func (t *Trainer) Agent() rl.Agent {
	a := rl.Acting[ActIn, ActOut]{Sample: t.Actor.act, Greedy: t.Actor.greedy}
	a.In = func(obs rl.Obs, _ rl.Tree) ActIn { return ActIn{Obs: obs, Epsilon: rl.Scalar(t.EpsilonEnd)} }
	a.Out = func(out ActOut) (action, next rl.Tree) { return out.Action, rl.Tree{} }
	if t.Actor.cell != nil {
		a.In = func(obs rl.Obs, memory rl.Tree) ActIn { return ActIn{obs, memory.At(0), rl.Scalar(t.EpsilonEnd)} }
		a.Out = func(out ActOut) (action, next rl.Tree) { return out.Action, rl.One(out.Memory) }
		a.Fresh = func(n int) rl.Tree { return rl.One(nn.NewMemory(t.Actor.scope, t.Actor.cell, n)) }
	}
	return a
}

// Config is QMIX's settings. The defaults are EPyMARL's for particle environments, but for more of
// these, and fewer updates for each episode.
type Config struct {
	Envs           int   `default:"16" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	TrainEvery     int   `default:"25" unit:"steps" range:"[1,)" doc:"steps that every environment takes between updates"`
	Updates        int   `default:"4" unit:"updates" range:"[1,)" doc:"updates of an iteration"`
	Batch          int   `default:"32" unit:"episodes" range:"[1,)" doc:"episodes, or sequences, of an update"`
	Buffer         int   `default:"125000" unit:"steps" range:"[1,)" doc:"steps that are kept"`
	LearningStarts int64 `default:"4000" unit:"steps" range:"[1,)" doc:"steps taken before the first update"`
	Length         int   `default:"0" unit:"steps" range:"[0,)" doc:"steps of a sequence; 0 is the limit of an episode, so that sequences are whole episodes"`

	nn.Mixing
	Team    bool `default:"true" doc:"without a mixer, teach every agent the sum of all agents' rewards instead of its own; mixers learn the sum in any case"`
	AgentID bool `default:"true" doc:"tell the agents' network which of them it acts for"`

	nn.Rate     `defaults:"learning_rate=5e-4"`
	AdamEps     float64 `default:"1e-5" range:"(0,)" doc:"Adam's term for numerical stability"`
	MaxGradNorm float64 `default:"10" range:"[0,)" doc:"norm over all parameters to which gradients are clipped; 0 is no bound"`

	Gamma       float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	Lambda      float64 `default:"0" range:"[0,1]" doc:"weight of longer returns in the targets; 0 takes one reward and the value of the next state"`
	Standardise bool    `default:"true" doc:"learn from rewards that running statistics standardise"`
	Double      bool    `default:"true" doc:"let the network choose the actions whose values the target network gives"`
	TargetEvery int64   `default:"5000" unit:"steps" range:"[1,)" doc:"steps between two updates of the target networks"`
	Tau         float64 `default:"1" range:"(0,1]" doc:"how far the target networks then move; 1 is a copy"`

	nn.Exploring

	nn.Layers `defaults:"hidden=64 activation=relu"`
	Units     int `default:"64" unit:"units" range:"[0,)" doc:"recurrent units behind the hidden layers of the agents' network; 0 leaves them out"`
}

// Algorithm is QMIX for whoever runs it.
var Algorithm = algo.Define("qmix", "Q-learning for a team: values of agents mixed by a monotonic network", []algo.Preset{
	algo.For("mpe/simple_spread-v3", 2_000_000, "no memory, a shorter view, lambda-returns", func(c *Config) { spread(c) }),
	algo.ForKind(env.Teams, 2_000_000, "EPyMARL's recipe for particle environments", func(*Config) {}),
	algo.For("TwoStep-v0", 20_000, "finds the joint action that pays 8, from random actions", func(c *Config) { twoStep(c) }),
}, build)

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Batch(c.Envs)
	if err != nil {
		return nil, err
	}
	spec := e.Spec()
	length, err := c.length(spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spec.ID, err)
	}
	q, err := newNet(s, "", *c, spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: take mappo", spec.ID, err)
	}
	target, err := newNet(s, "target ", *c, spec)
	if err != nil {
		return nil, err
	}
	target.agents.Blend(q.agents, 1)
	target.mixer.Blend(q.mixer, 1)
	var memory rl.Tensor
	if c.Units > 0 {
		memory = nn.NewMemory(s, q.Cell(), spec.Rows)
	}
	return &Trainer{
		Config:  *c,
		Env:     e,
		Memory:  rl.NewSlots(s, "memory", memory),
		Replay:  replay.NewSequences[Step](s, "replay", c.Buffer, replay.SequenceOptions{Length: length}),
		Rewards: replay.NewRollout[rl.Tensor](s, "rewards"),
		Actor:   &Actor{rl.NewFunc(s, "act", q.act), rl.NewFunc(s, "greedy", q.greedy), s, q.Cell()},
		Learner: newLearner(s, *c, q, target),
	}, nil
}

// length returns the steps of a sequence, or what in the environment does not fit the settings.
func (c *Config) length(spec env.Spec) (int, error) {
	n := c.Length
	if n == 0 {
		n = spec.Limit
	}
	switch {
	case spec.Agents < 2:
		return 0, errors.New("it has one agent, and there is nothing to share or to mix: take dqn or r2d2")
	case n == 0:
		return 0, errors.New("its episodes have no limit, so that none is kept whole: set length to the steps of a sequence")
	case c.Buffer < n*c.Envs:
		return 0, fmt.Errorf("buffer: %d steps do not hold a sequence of %d in each of %d environments (envs): at least %d", c.Buffer, n, c.Envs, n*c.Envs)
	}
	return n, nil
}

func newLearner(s *rl.Scope, c Config, q, target *net) *Learner {
	l := &Learner{Config: c, net: q, target: target, rewards: rl.NewStats(s, "rewards' statistics", 0)}
	l.opt = rl.NewOpt(s, "adam", nn.ClipNorm{Max: c.MaxGradNorm, Rule: nn.Adam{Eps: c.AdamEps}}, q.agents, q.mixer)
	l.loss = rl.NewLoss(s, "td", l.lossGraph, q.agents, q.mixer)
	l.earned = rl.NewFunc(s, "earned", l.earn)
	return l
}

// net is the agents' values, which they act by, and the mixer of them. Their weights are apart,
// because actors have no use for the mixer's.
type net struct {
	nn.TeamValues
	nn.Mixing
	state         int // numbers of the environments' state; 0 is none
	agents, mixer *rl.Params
}

func newNet(s *rl.Scope, name string, c Config, spec env.Spec) (*net, error) {
	v, err := nn.NewValues(c.Layers, nn.Distributional{Distribution: "none"}, spec.Obs, spec.Action)
	if err != nil {
		return nil, err
	}
	n := &net{TeamValues: nn.TeamValues{Values: v, Agents: spec.Agents, Number: c.AgentID, Units: c.Units}, Mixing: c.Mixing, state: spec.State}
	n.agents = rl.NewParams(s, name+"agents", n.Init)
	n.mixer = rl.NewParams(s, name+"mixer", n.initMixer)
	return n, nil
}

func (n *net) initMixer(c *rl.Ctx, sc *model.Scope) {
	size := n.state
	if size == 0 {
		size = n.Agents * nn.Width(n.Space)
	}
	n.InitMixer(c, sc, n.Agents, size)
}

// seen returns the environments' state, or what all agents see where they have none.
func (n *net) seen(obs rl.Obs) *Node {
	if n.state > 0 {
		return obs.State.Node()
	}
	return nn.Together(nn.Features(n.Space, obs.X))
}

func (n *net) greedy(c *rl.Ctx, in ActIn) ActOut {
	q, memory := n.Recall(c, c.Scope(n.agents), in.Obs.X, in.Memory)
	return ActOut{n.Best(q, in.Obs), memory}
}

// act returns every agent's best legal action, or with probability epsilon any legal one.
func (n *net) act(c *rl.Ctx, in ActIn) ActOut {
	q, memory := n.Recall(c, c.Scope(n.agents), in.Obs.X, in.Memory)
	best, any := n.Best(q, in.Obs), n.Any(c, "any", q, in.Obs)
	explore := LessThan(c.Uniform("epsilon", q.Shape().Dimensions[:2]...), in.Epsilon.Node())
	action := Where(explore, any.Leaf("").Node(), best.Leaf("").Node())
	return ActOut{rl.One(rl.Wrap(action)), memory}
}

// along returns the values of all actions in the states of sequences and the ones that they end in,
// [rows, time+1, agent, actions].
func (n *net) along(c *rl.Ctx, d Step) *Node {
	q, _ := n.Recall(c, c.Scope(n.agents), nn.Visited(d.Obs.X, d.Next.X), d.Memory)
	return q
}

// joint returns the team's value of agents' actions, [..., 1], from those of each, [..., agent];
// without a mixer it returns these. Agents out of play are worth nothing to a team.
func (n *net) joint(c *rl.Ctx, q *Node, obs rl.Obs) *Node {
	if !n.Mixes() {
		return q
	}
	if obs.Alive.Ok() {
		q = Mul(q, number(obs.Alive.Node()))
	}
	return n.Joint(c, c.Scope(n.mixer), q, n.seen(obs))
}

// lossGraph returns the errors of values along episodes, [rows, time, 1] or without a mixer
// [rows, time, agent], against the rewards and the values of the best actions where they led, by
// the target networks. Steps behind the end of an episode weigh nothing, nor do those of agents out
// of play that learn for themselves.
func (l *Learner) lossGraph(c *rl.Ctx, s replay.Sample[Step]) (loss, weight rl.Tensor, m Metrics) {
	d := s.Data
	q := l.net.along(c, d)
	next := nn.ButFirst(l.target.along(c, d))
	chooser := next
	if l.Double {
		chooser = nn.ButFirst(q)
	}
	reached := l.target.joint(c, l.target.Of(next, l.net.Best(chooser, d.Next)), d.Next)
	value := l.net.joint(c, l.net.Of(nn.ButLast(q), d.Action), d.Obs)
	x := Square(Sub(value, StopGradient(l.goal(c, s, reached))))
	w := number(forEach(s.Valid.Node(), x))
	if !l.Mixes() && d.Obs.Alive.Ok() {
		w = Mul(w, number(d.Obs.Alive.Node()))
	}
	mean := func(x *Node) rl.Tensor {
		return rl.Wrap(Div(ReduceSum(Mul(x, w), 1, 2), MaxScalar(ReduceSum(w, 1, 2), 1)))
	}
	return rl.Wrap(x), rl.Wrap(w), Metrics{mean(x), mean(value)}
}

// goal returns what values should have been, given those of the states that were reached.
func (l *Learner) goal(c *rl.Ctx, s replay.Sample[Step], reached *Node) *Node {
	reward := l.earn(c, s.Data.Reward).Node()
	if l.Standardise {
		reward = l.rewards.Norm(c, reward)
	}
	term := s.Data.Terminated.Node()
	if l.Mixes() {
		term = ReduceAndKeep(term, ReduceLogicalAnd, -1)
	}
	done := LogicalOr(term, forEach(nn.LastTrue(s.Valid.Node()), term))
	reward = BroadcastToDims(reward, reached.Shape().Dimensions...)
	return rl.Lambda(l.Gamma, l.Lambda, rl.Wrap(reward), rl.Wrap(reached), rl.Wrap(term), rl.Wrap(done)).Node()
}

// earn returns the rewards that are learnt from: the sum of all agents', [..., 1], or each agent's
// own.
func (l *Learner) earn(_ *rl.Ctx, reward rl.Tensor) rl.Tensor {
	if l.Mixes() || l.Team {
		return rl.Wrap(ReduceAndKeep(reward.Node(), ReduceSum, -1))
	}
	return reward
}

// forEach returns x, [rows, time], for each of the last axis of y.
func forEach(x, y *Node) *Node { return BroadcastToDims(ExpandAxes(x, -1), y.Shape().Dimensions...) }

func number(x *Node) *Node { return ConvertDType(x, dtypes.Float32) }
