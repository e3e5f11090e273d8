// Package r2d2 is deep Q-learning with memory, in the words of R2D2 (Kapturowski et al., 2019): a
// recurrent network learns from overlapping sequences of past episodes, each of which begins with
// the memory that the actor had there and a burn-in that brings it up to date. Double Q-learning,
// returns of several steps, values on a compressed scale and priorities of sequences are settings.
package r2d2

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

// Trainer fills a table with what its Actor does, and its Learner learns from sequences of it.
type Trainer struct {
	Config
	Env     env.Batch
	Memory  *rl.Slots[rl.Tensor] // memory of the actor, by environment
	Replay  *replay.Sequences[Step]
	Actor   *Actor
	Learner *Learner
}

// Train runs the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		t.Collect(run)
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
		obs, memory = out.Obs, rl.Keep(act.Memory, out.Over)
	}
	t.Memory.Set(memory)
	run.Log("epsilon", epsilon)
}

// Learn makes Updates updates, each of a sample of sequences.
func (t *Trainer) Learn(run *rl.Run) {
	beta := rl.Scalar(t.BetaAt(run.Progress()))
	for u := range t.Updates {
		s := t.Replay.Sample(run.Key("sample", u), t.Batch)
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
	// ActIn is an observation, what is remembered of those before it, and how often to
	// act at random.
	ActIn struct {
		Obs             rl.Obs
		Memory, Epsilon rl.Tensor
	}
	// ActOut holds an actor's decisions, and its memory for the next step.
	ActOut struct {
		Action rl.Tree
		Memory rl.Tensor
	}
	// Step is one step of every environment. Next is where it led, before any reset;
	// Memory is that of the actor before it.
	Step struct {
		Obs        rl.Obs
		Action     rl.Tree
		Reward     rl.Tensor
		Next       rl.Obs
		Terminated rl.Tensor
		Memory     rl.Tensor `replay:"start"`
	}
	// Batch is a sample of sequences, and how far their probabilities are corrected for.
	Batch struct {
		Sample replay.Sample[Step]
		Beta   rl.Tensor
	}
	// Metrics report an update, by sequence. Priority is the priority that the
	// sequence gets in the replay.
	Metrics struct{ Priority, Loss, Q rl.Tensor }
)

// Actor takes what seems best, and now and then anything.
type Actor struct {
	act, greedy *rl.Func[ActIn, ActOut]
	scope       *rl.Scope
	cell        nn.Cell
}

// Act chooses an action for every environment.
func (a *Actor) Act(k rl.Key, in ActIn) ActOut { return a.act.Call(k, in) }

// Learner improves the weights.
type Learner struct {
	Config
	net, target *net
	opt         *rl.Opt
	loss        *rl.Loss[Batch, Metrics]
}

// Update makes update u of an iteration and returns the sequences' priorities.
func (l *Learner) Update(run *rl.Run, u int, b Batch) rl.Tensor {
	g, m := l.loss.Grad(run.Key("loss", u), b)
	l.opt.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/td", m.Loss)
	run.Log("q", m.Q)
	return m.Priority
}

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	return rl.Acting[ActIn, ActOut]{
		Sample: t.Actor.act, Greedy: t.Actor.greedy,
		In:    func(obs rl.Obs, memory rl.Tree) ActIn { return ActIn{obs, memory.At(0), rl.Scalar(t.EpsilonEnd)} },
		Out:   func(out ActOut) (action, next rl.Tree) { return out.Action, rl.One(out.Memory) },
		Fresh: func(n int) rl.Tree { return rl.One(nn.NewMemory(t.Actor.scope, t.Actor.cell, n)) },
	}
}

// Config is R2D2's settings.
type Config struct {
	Envs           int   `default:"8" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	TrainEvery     int   `default:"8" unit:"steps" range:"[1,)" doc:"steps that every environment takes between updates"`
	Updates        int   `default:"4" unit:"updates" range:"[1,)" doc:"updates of an iteration"`
	Batch          int   `default:"32" unit:"sequences" range:"[1,)" doc:"sequences of an update"`
	Buffer         int   `default:"300000" unit:"steps" range:"[1,)" doc:"steps that are kept"`
	LearningStarts int64 `default:"2000" unit:"steps" range:"[1,)" doc:"steps taken before the first update"`

	Length int `default:"16" unit:"steps" range:"[1,)" doc:"steps of a sequence, the burn-in included"`
	BurnIn int `default:"4" unit:"steps" range:"[0,)" doc:"steps at the beginning of a sequence that bring its stored memory up to date and are not learned from; sequences that begin an episode need none"`
	Stride int `default:"6" unit:"steps" range:"[1,)" doc:"steps from the start of a sequence to that of the next in an episode"`

	nn.Rate     `defaults:"learning_rate=1e-3 anneal=linear"`
	AdamEps     float64 `default:"1e-5" range:"(0,)" doc:"Adam's term for numerical stability"`
	MaxGradNorm float64 `default:"10" range:"[0,)" doc:"norm over all parameters to which gradients are clipped; 0 is no bound"`
	Huber       float64 `default:"0" range:"[0,)" doc:"size of an error from which it counts linearly and no longer squared; 0 is always squared"`

	Gamma       float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	NStep       int     `default:"3" unit:"steps" range:"[1,)" doc:"rewards that are added up before a value is asked for; fewer where the sequence or the episode ends"`
	Rescale     bool    `default:"true" doc:"learn values on a compressed scale, about the square root of their size"`
	Double      bool    `default:"true" doc:"let the network choose the action whose value the target network gives"`
	Dueling     bool    `default:"false" doc:"split values into that of the state and the actions' advantages"`
	TargetEvery int64   `default:"2048" unit:"steps" range:"[1,)" doc:"steps between two updates of the target network"`
	Tau         float64 `default:"1" range:"(0,1]" doc:"how far the target network then moves; 1 is a copy"`

	nn.Exploring `defaults:"epsilon_end=0.02 exploration=0.2"`

	nn.Prioritising `defaults:"prioritised=true"`
	Eta             float64 `default:"0.9" range:"[0,1]" doc:"weight of a sequence's largest error in its priority; the rest is that of the mean"`

	nn.Layers `defaults:"hidden=64 activation=relu"`
	Cell      string `default:"gru" oneof:"gru lstm" doc:"recurrent unit behind the hidden layers"`
	Units     int    `default:"64" unit:"units" range:"[1,)" doc:"size of the recurrent unit"`
}

// Validate finds settings that do not go together.
func (c *Config) Validate() error {
	var errs []error
	if c.BurnIn >= c.Length {
		errs = append(errs, fmt.Errorf("burn_in: %d steps leave nothing to learn from in sequences of length=%d", c.BurnIn, c.Length))
	} else if most := c.Length - c.BurnIn; c.Stride > most {
		errs = append(errs, fmt.Errorf("stride: %d leaves steps out that no sequence is learned from: at most %d, length less burn_in", c.Stride, most))
	}
	if steps := c.Length * c.Envs; c.Buffer < steps {
		errs = append(errs, fmt.Errorf("buffer: %d steps do not hold a sequence of length=%d in each of %d environments (envs): at least %d", c.Buffer, c.Length, c.Envs, steps))
	}
	return errors.Join(errs...)
}

// Algorithm is R2D2 for whoever runs it.
var Algorithm = algo.Define("r2d2", "deep Q-learning with memory, from sequences with stored memory and burn-in", []algo.Preset{
	algo.For("CartPolePositions-v1", 300_000, "velocities from memory", func(*Config) {}),
	algo.ForKind(env.Control, 500_000, "as for CartPolePositions-v1", func(*Config) {}),
	algo.ForKind(env.Images, 10_000_000, "R2D2's sequences of 80 steps and 40 of burn-in, in an LSTM of 512", func(c *Config) {
		c.TrainEvery, c.Updates, c.LearningStarts, c.LearningRate, c.Gamma, c.NStep = 4, 1, 80_000, 1e-4, .997, 5
		c.Length, c.BurnIn, c.Stride, c.Cell, c.Units, c.Dueling = 120, 40, 40, "lstm", 512, true
	}),
	algo.For("Memory-v0", 60_000, "solved in seconds", func(c *Config) {
		c.Length, c.BurnIn, c.Stride, c.NStep, c.LearningStarts, c.Units, c.Hidden = 8, 0, 8, 1, 1000, 32, []int{16}
		c.LearningRate, c.TargetEvery = 3e-3, 500
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
	q, err := newNet(s, "q", *c, spec)
	if err != nil {
		return nil, err
	}
	target, err := newNet(s, "target", *c, spec)
	if err != nil {
		return nil, err
	}
	target.params.Blend(q.params, 1)
	how := replay.SequenceOptions{Length: c.Length, Stride: c.Stride, BurnIn: c.BurnIn, Priority: c.Prioritised}
	return &Trainer{
		Config:  *c,
		Env:     e,
		Memory:  rl.NewSlots(s, "memory", nn.NewMemory(s, q.cell, spec.Rows)),
		Replay:  replay.NewSequences[Step](s, "replay", c.Buffer, how),
		Actor:   &Actor{rl.NewFunc(s, "act", q.act), rl.NewFunc(s, "greedy", q.greedy), s, q.cell},
		Learner: newLearner(s, *c, q, target),
	}, nil
}

func newLearner(s *rl.Scope, c Config, q, target *net) *Learner {
	l := &Learner{Config: c, net: q, target: target}
	l.opt = rl.NewOpt(s, "adam", nn.ClipNorm{Max: c.MaxGradNorm, Rule: nn.Adam{Eps: c.AdamEps}}, q.params)
	l.loss = rl.NewLoss(s, "td", l.lossGraph, q.params)
	return l
}

// net is the values of all actions, with memory between the hidden layers and the last.
type net struct {
	nn.Values
	params *rl.Params
	cell   nn.Cell
	burnIn int
}

func newNet(s *rl.Scope, name string, c Config, spec env.Spec) (*net, error) {
	v, err := nn.NewValues(c.Layers, nn.Distributional{Distribution: "none"}, spec.Obs, spec.Action)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: take ppo", spec.ID, err)
	}
	v.Dueling = c.Dueling
	n := &net{Values: v, cell: nn.GRU{Units: c.Units}, burnIn: c.BurnIn}
	if c.Cell == "lstm" {
		n.cell = nn.LSTM{Units: c.Units}
	}
	n.params = rl.NewParams(s, name, func(c *rl.Ctx, sc *model.Scope) { n.recall(c, sc, nn.Blank(c, spec.Obs), nil) })
	return n, nil
}

// recall returns the values of all actions in observations [rows, ...], and the next memory.
func (n *net) recall(c *rl.Ctx, sc *model.Scope, obs rl.Tree, memory *Node) (q, next *Node) {
	x := n.Torso.Apply(c, sc.At("torso"), obs)
	y, next := nn.Unroll(c, sc.At("memory"), n.cell, x, memory, nil)
	return n.Choices(c, sc, y), next
}

// along returns the values of all actions in observations [rows, time, ...] from the memory before
// them. No gradient flows from after the burn-in into it, but in the rows that need none: there,
// where exact is true, [rows], it is part of what is learned from.
func (n *net) along(c *rl.Ctx, obs rl.Tree, memory, exact *Node) *Node {
	sc := c.Scope(n.params)
	if n.burnIn == 0 {
		q, _ := n.recall(c, sc, obs, memory)
		return q
	}
	x, cell := n.Torso.Apply(c, sc.At("torso"), obs), sc.At("memory")
	warm, memory := nn.Unroll(c, cell, n.cell, SliceAxis(x, 1, AxisRange(0, n.burnIn)), memory, nil)
	memory = Where(exact, memory, StopGradient(memory))
	rest, _ := nn.Unroll(c, cell, n.cell, SliceAxis(x, 1, AxisRangeToEnd(n.burnIn)), memory, nil)
	return n.Choices(c, sc, Concatenate([]*Node{warm, rest}, 1))
}

func (n *net) greedy(c *rl.Ctx, in ActIn) ActOut {
	q, memory := n.recall(c, c.Scope(n.params), in.Obs.X, in.Memory.Node())
	return ActOut{n.Best(q, in.Obs), rl.Wrap(memory)}
}

// act returns the best legal action, or with probability epsilon any legal one.
func (n *net) act(c *rl.Ctx, in ActIn) ActOut {
	q, memory := n.recall(c, c.Scope(n.params), in.Obs.X, in.Memory.Node())
	best, any := n.Best(q, in.Obs), n.Any(c, "any", q, in.Obs)
	explore := LessThan(c.Uniform("epsilon", q.Shape().Dimensions[0]), in.Epsilon.Node())
	action := Where(explore, any.Leaf("").Node(), best.Leaf("").Node())
	return ActOut{rl.One(rl.Wrap(action)), rl.Wrap(memory)}
}

// lossGraph returns the errors of values along sequences, [rows, time], against the rewards of
// NStep steps and the best value of where they led, by the target network. Both networks go through
// all states of a sequence and the one that it ends in.
func (l *Learner) lossGraph(c *rl.Ctx, b Batch) (loss, weight rl.Tensor, m Metrics) {
	s := b.Sample
	d := s.Data
	learn := ConvertDType(s.Learn.Node(), dtypes.Float32)
	exact := Squeeze(SliceAxis(s.Learn.Node(), 1, AxisElem(0)), 1) // no burn-in: the first step is learned from
	states := nn.Visited(d.Obs.X, d.Next.X)
	q := l.net.along(c, states, d.Memory.Node(), exact)
	next := nn.ButFirst(l.target.along(c, states, d.Memory.Node(), exact))
	chooser := next
	if l.Double {
		chooser = nn.ButFirst(q)
	}
	reached := l.target.Of(next, l.net.Best(chooser, d.Next))
	value := l.net.Of(nn.ButLast(q), d.Action)
	td := Sub(value, StopGradient(l.goal(s, reached)))
	x := Square(td)
	if l.Huber > 0 {
		x = nn.Huber(td, l.Huber)
	}
	w := learn
	if l.Prioritised {
		w = Mul(w, ExpandAxes(Pow(s.Prob.Node(), Neg(b.Beta.Node())), 1))
	}
	mean := func(x *Node) *Node { return Div(ReduceSum(Mul(x, learn), 1), ReduceSum(learn, 1)) }
	most := ReduceMax(Mul(Abs(td), learn), 1)
	m = Metrics{Priority: rl.Wrap(l.priority(most, mean(Abs(td)))), Loss: rl.Wrap(mean(x)), Q: rl.Wrap(mean(value))}
	return rl.Wrap(x), rl.Wrap(w), m
}

// goal returns what values should have been, given those of the states that were reached.
func (l *Learner) goal(s replay.Sample[Step], reached *Node) *Node {
	if l.Rescale {
		reached = nn.Unscale(reached)
	}
	last := nn.LastTrue(s.Valid.Node()) // of the episode, or of the sequence
	ret := rl.NStep(l.Gamma, l.NStep, s.Data.Reward, rl.Wrap(reached), s.Data.Terminated, rl.Wrap(last)).Node()
	if l.Rescale {
		ret = nn.Rescale(ret)
	}
	return ret
}

// priority returns the priorities of sequences with these largest and mean errors.
func (l *Learner) priority(most, mean *Node) *Node {
	return l.Priority(Add(MulScalar(most, l.Eta), MulScalar(mean, 1-l.Eta)))
}
