// Package dreamer learns a model of its environment and acts by what it learnt in the model's
// imagination (DreamerV3; Hafner et al., 2023 and 2025). The model remembers by a recurrent unit,
// adds a categorical latent state of what it observes, and predicts observations, rewards and
// whether episodes go on. An actor and a critic learn from paths that it makes up, which start
// where replayed sequences have been.
//
// The memory before a step is what the unit made of the step before it: rewards and the ends of
// episodes, which are a step's own, are predicted from the memory after it.
package dreamer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/activation"
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
	Replay  *replay.Table[Step]
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
	for i := range t.TrainEvery {
		act := t.Actor.Act(run.Key("act", i), ActIn{obs, memory})
		out := t.Env.Step(act.Action)
		t.Replay.Insert(Step{obs, act.Action, out.Reward, out.Terminated, out.Over, memory}, out.Over)
		obs, memory = out.Obs, rl.Keep(act.Memory, out.Over)
	}
	t.Memory.Set(memory)
}

// Learn makes the updates that the train ratio asks for. Each improves the model on a sample of
// sequences, whose memory it refreshes, and then the actor and the critic on paths from there.
func (t *Trainer) Learn(run *rl.Run) {
	for u := range t.Updates() {
		s := t.Replay.Sample(run.Key("sample", u), t.Batch)
		post := t.Learner.Model(run, u, s)
		t.Replay.Patch(s.Index, post.Memory)
		t.Learner.Behave(run, u, Start{s, post})
	}
}

type (
	// ActIn is an observation, and the memory of those before it.
	ActIn struct {
		Obs    rl.Obs
		Memory rl.Tensor
	}
	// ActOut holds an actor's decisions, and its memory for the next step.
	ActOut struct {
		Action rl.Tree
		Memory rl.Tensor
	}
	// Step is one step of every environment. Memory is that of the actor before it, which the
	// learner brings up to date.
	Step struct {
		Obs                      rl.Obs
		Action                   rl.Tree
		Reward, Terminated, Over rl.Tensor
		Memory                   rl.Tensor `replay:"patch"`
	}
	// Posterior holds the states of sequences, [rows, time, ...], and the losses of what the model
	// predicts there, [rows, time].
	Posterior struct {
		Memory, State                        rl.Tensor
		Observed, Reward, Continue, Dynamics rl.Tensor
	}
	// Start is where imagined paths start: in every state of sequences.
	Start struct {
		Sample    replay.Sample[Step]
		Posterior Posterior
	}
	// Dream holds paths, [rows, time, imagine, ...]: states, returns, how likely a path got there,
	// and the actor's entropy. Replayed are the returns of the sequences themselves, [rows, time].
	Dream struct{ State, Return, Weight, Entropy, Replayed rl.Tensor }
)

// Actor chooses actions.
type Actor struct {
	act, greedy *rl.Func[ActIn, ActOut]
	scope       *rl.Scope
}

// Act chooses an action for every environment.
func (a *Actor) Act(k rl.Key, in ActIn) ActOut { return a.act.Call(k, in) }

// Learner improves the weights.
type Learner struct {
	Config
	modelLoss            *rl.Loss[replay.Sample[Step], Posterior]
	actorLoss            *rl.Loss[Start, Dream]
	criticLoss           *rl.Loss[Dream, rl.Tensor]
	model, actor, critic *rl.Opt
	fast, slow           *rl.Params // parameters of the critic
	scale                *rl.Percentiles
}

// Model makes update u of the model and returns the states of the sequences.
func (l *Learner) Model(run *rl.Run, u int, s replay.Sample[Step]) Posterior {
	g, post := l.modelLoss.Grad(run.Key("model", u), s)
	l.model.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/observation", post.Observed)
	run.Log("loss/reward", post.Reward)
	run.Log("loss/continue", post.Continue)
	run.Log("loss/dynamics", post.Dynamics)
	return post
}

// Behave makes update u of the actor, on paths that it imagines, and of the critic on the same
// paths.
func (l *Learner) Behave(run *rl.Run, u int, from Start) {
	rate := l.Rate.At(run.Progress()) * l.Behaviour
	g, dream := l.actorLoss.Grad(run.Key("imagine", u), from)
	l.actor.Apply(g, rate)
	l.scale.Update(dream.Return)
	h, missed := l.criticLoss.Grad(run.Key("critic", u), dream)
	l.critic.Apply(h, rate)
	l.slow.Blend(l.fast, 1-l.SlowDecay)
	run.Log("loss/critic", missed)
	run.Log("entropy", dream.Entropy)
	run.Log("imagined_return", dream.Return)
}

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	return rl.Acting[ActIn, ActOut]{
		Sample: t.Actor.act, Greedy: t.Actor.greedy,
		In:    func(obs rl.Obs, memory rl.Tree) ActIn { return ActIn{obs, memory.At(0)} },
		Out:   func(out ActOut) (action, next rl.Tree) { return out.Action, rl.One(out.Memory) },
		Fresh: func(n int) rl.Tree { return rl.One(nn.NewMemory(t.Actor.scope, t.Cell(), n)) },
	}
}

// Config is Dreamer's settings. The sizes are those of the smallest published model, size1m.
type Config struct {
	Envs           int     `default:"4" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	TrainEvery     int     `default:"1" unit:"steps" range:"[1,)" doc:"steps that every environment takes between updates"`
	TrainRatio     float64 `default:"1024" unit:"steps" range:"(0,)" doc:"replayed steps that are learned from for every step of an environment; batch times length of them are an update"`
	Batch          int     `default:"16" unit:"sequences" range:"[1,)" doc:"sequences of an update"`
	Length         int     `default:"64" unit:"steps" range:"[2,)" doc:"steps of a sequence"`
	Buffer         int     `default:"500000" unit:"steps" range:"[1,)" doc:"steps that are kept"`
	LearningStarts int64   `default:"1024" unit:"steps" range:"[1,)" doc:"steps taken before the first update"`

	Units  int     `default:"64" unit:"units" range:"[1,)" doc:"units of the layers of every network"`
	Layers int     `default:"3" unit:"layers" range:"[1,)" doc:"layers of encoder, decoder, actor and critic; other networks have one"`
	Bins   int     `default:"255" unit:"values" range:"[3,)" doc:"values that predicted rewards and returns are distributed over, an odd number"`
	Reach  float64 `default:"20" range:"(0,)" doc:"greatest of them on the scale of symlog: 20 is 485 million, 10 is 22,000. Nearer values predict small rewards better"`

	nn.StateSpace
	nn.Rate     `defaults:"learning_rate=1e-4"`
	Behaviour   float64 `default:"0.3" range:"(0,)" doc:"step size of actor and critic, as a part of learning_rate"`
	AdamEps     float64 `default:"1e-8" range:"(0,)" doc:"Adam's term for numerical stability"`
	MaxGradNorm float64 `default:"100" range:"[0,)" doc:"norm to which the gradients of model, actor and critic are clipped, each over its own parameters; 0 is no bound"`
	FreeNats    float64 `default:"1" unit:"nats" range:"[0,)" doc:"divergence of the predicted from the observed latent states below which neither is moved"`
	DynScale    float64 `default:"1" range:"[0,)" doc:"weight of the divergence for the prediction"`
	RepScale    float64 `default:"0.1" range:"[0,)" doc:"weight of the divergence for what is predicted"`

	Imagine     int     `default:"15" unit:"steps" range:"[1,)" doc:"steps of an imagined path"`
	Gamma       float64 `default:"0.997" range:"[0,1]" doc:"discount of a reward one step later"`
	Lambda      float64 `default:"0.95" range:"[0,1]" doc:"weight of longer returns"`
	EntropyCoef float64 `default:"3e-4" range:"[0,)" doc:"weight of the actor's entropy bonus"`
	SlowDecay   float64 `default:"0.98" range:"[0,1]" doc:"part of the slow critic that an update leaves"`
	SlowCoef    float64 `default:"1" range:"[0,)" doc:"weight of the slow critic's predictions in the critic's loss"`
	ReplayCoef  float64 `default:"0.3" range:"[0,)" doc:"weight of the returns of replayed sequences in the critic's loss"`
	ReturnDecay float64 `default:"0.99" range:"[0,1)" doc:"part of the returns' percentiles, 5 and 95, that an update leaves"`
	ReturnFloor float64 `default:"1" range:"(0,)" doc:"least range of returns that advantages are divided by"`
}

// Updates returns the updates of an iteration.
func (c *Config) Updates() int {
	return int(c.TrainRatio*float64(c.Envs*c.TrainEvery)/float64(c.Batch*c.Length) + 1e-9)
}

// Validate finds settings that do not go together.
func (c *Config) Validate() error {
	errs := []error{c.StateSpace.Validate()}
	if c.Updates() < 1 {
		errs = append(errs, fmt.Errorf("train_ratio: %g is less than an update (batch * length = %d steps) for the %d steps of an iteration (envs * train_every): raise train_every or train_ratio, or make batch or length smaller", c.TrainRatio, c.Batch*c.Length, c.Envs*c.TrainEvery))
	}
	if least := c.Length * c.Envs; c.Buffer < least || c.LearningStarts < int64(least) {
		errs = append(errs, fmt.Errorf("buffer=%d, learning_starts=%d: sequences of %d steps (length) in %d environments (envs) need at least %d of both", c.Buffer, c.LearningStarts, c.Length, c.Envs, least))
	}
	if c.Bins%2 == 0 {
		errs = append(errs, fmt.Errorf("bins: %d is even, and one of them is 0: choose an odd number", c.Bins))
	}
	return errors.Join(errs...)
}

// small makes model and batches small enough for one core of a CPU.
func (c *Config) small() {
	c.TrainEvery, c.TrainRatio, c.Batch, c.Length, c.Imagine = 8, 32, 8, 16, 10
	c.Units, c.Layers, c.Deter, c.Blocks, c.Hidden, c.Groups, c.Classes = 64, 2, 128, 1, 64, 8, 8
	c.Bins, c.Reach, c.Buffer, c.LearningRate = 63, 10, 100_000, 1e-3
}

// Algorithm is Dreamer for whoever runs it.
var Algorithm = algo.Define("dreamer", "actor and critic in the imagination of a learnt model (DreamerV3)", []algo.Preset{
	algo.For("CartPole-v1", 30_000, "a small model and few updates, for one core of a CPU", (*Config).small),
	algo.For("Pendulum-v1", 30_000, "the same", (*Config).small),
	algo.For("suite/CartPoleSwingUp-v0", 100_000, "the same with twice the updates, on longer sequences and paths", func(c *Config) {
		c.small()
		c.TrainRatio, c.Length, c.Imagine = 64, 32, 15
	}),
	algo.ForKind(env.Control, 50_000, "a small model and few updates, for one core of a CPU", (*Config).small),
	algo.ForKind(env.Continuous, 100_000, "the same", (*Config).small),
	algo.ForKind(env.Images, 400_000, "the smallest published model and its train ratio", func(*Config) {}),
	algo.ForKind(env.Control, 100_000, "the same", func(*Config) {}).Named("size1m"),
	algo.ForKind(env.Continuous, 100_000, "the same", func(*Config) {}).Named("size1m"),
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
	n, rule := newNet(s, *c, spec), nn.ClipNorm{Max: c.MaxGradNorm, Rule: nn.Adam{Eps: c.AdamEps}}
	l := &Learner{Config: *c, fast: n.critic, slow: n.slow, scale: n.scale}
	l.model, l.modelLoss = rl.NewOpt(s, "model's adam", rule, n.model), rl.NewLoss(s, "model", n.modelLoss, n.model)
	l.actor, l.actorLoss = rl.NewOpt(s, "actor's adam", rule, n.actor), rl.NewLoss(s, "actor", n.actorLoss, n.actor)
	l.critic, l.criticLoss = rl.NewOpt(s, "critic's adam", rule, n.critic), rl.NewLoss(s, "critic", n.criticLoss, n.critic)
	how := replay.Options{Sequence: c.Length, Ratio: float64(c.Updates()*c.Batch) / float64(c.TrainEvery*c.Envs)}
	return &Trainer{
		Config:  *c,
		Env:     e,
		Memory:  rl.NewSlots(s, "memory", nn.NewMemory(s, c.Cell(), spec.Rows)),
		Replay:  replay.NewTable[Step](s, "replay", c.Buffer, how),
		Actor:   &Actor{rl.NewFunc(s, "act", n.act), rl.NewFunc(s, "greedy", n.greedy), s},
		Learner: l,
	}, nil
}

// net is the model, the actor and the critic.
type net struct {
	Config
	obs, action                rl.Space
	head                       nn.Head
	codes                      nn.Codes
	bins                       nn.Bins
	model, actor, critic, slow *rl.Params
	scale                      *rl.Percentiles
}

func newNet(s *rl.Scope, c Config, spec env.Spec) *net {
	n := &net{Config: c, obs: spec.Obs, action: spec.Action, head: nn.NewSpreadHead(spec.Action, c.Unimix), codes: c.Codes(), bins: nn.Bins{N: c.Bins, Max: c.Reach}}
	n.model = rl.NewParams(s, "model", n.init)
	n.actor = rl.NewParams(s, "actor", func(c *rl.Ctx, sc *model.Scope) { n.policy(c, sc, n.blank(c), rl.Tree{}).Mode() })
	n.critic = rl.NewParams(s, "critic", func(c *rl.Ctx, sc *model.Scope) { n.value(c, sc, n.blank(c)) })
	n.slow = rl.NewParams(s, "slow critic", func(c *rl.Ctx, sc *model.Scope) { n.value(c, sc, n.blank(c)) })
	n.slow.Blend(n.critic, 1)
	n.scale = rl.NewPercentiles(s, "returns", rl.PercentileOptions{Low: 5, High: 95, Decay: c.ReturnDecay, Floor: c.ReturnFloor})
	return n
}

// init makes the model's parameters.
func (n *net) init(c *rl.Ctx, sc *model.Scope) {
	state := n.blank(c)
	memory, _ := n.Split(state)
	n.Observed(c, sc, memory, n.encode(c, sc, nn.Blank(c, n.obs)))
	n.Predicted(c, sc, memory)
	n.Next(c, sc, state, nn.Scaled(n.action, nn.Blank(c, n.action)))
	n.outcome(c, sc, memory)
	n.decode(c, sc, state)
}

// blank returns one state of zeros.
func (n *net) blank(c *rl.Ctx) *Node {
	return Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, n.Size()))
}

// layers returns x behind some normalised layers.
func (n *net) layers(c *rl.Ctx, sc *model.Scope, x *Node, layers int) *Node {
	return nn.MLP{Hidden: slices.Repeat([]int{n.Units}, layers), Act: activation.TypeSilu, Gain: 1, Norm: true}.Apply(c, sc, x)
}

// out returns a last layer of units behind some layers. A gain of 0 starts it at 0.
func (n *net) out(c *rl.Ctx, sc *model.Scope, x *Node, layers, units int, gain float64) *Node {
	return nn.Dense(c, sc.At("out"), n.layers(c, sc, x, layers), units, gain)
}

// seen returns the numbers of observations that the model reads and predicts: those of vectors by
// Symlog, pictures from 0 to 1.
func (n *net) seen(x rl.Tree) *Node {
	if rl.IsImage(n.obs) {
		return nn.Features(n.obs, x)
	}
	return nn.Symlog(nn.Features(n.obs, x))
}

// encode returns features of observations.
func (n *net) encode(c *rl.Ctx, sc *model.Scope, x rl.Tree) *Node {
	if rl.IsImage(n.obs) {
		return nn.Torso{Space: n.obs}.Apply(c, sc.At("encoder"), x)
	}
	return n.layers(c, sc.At("encoder"), n.seen(x), n.Layers)
}

// decode returns predictions of what is seen in states.
func (n *net) decode(c *rl.Ctx, sc *model.Scope, state *Node) *Node {
	return n.out(c, sc.At("decoder"), state, n.Layers, nn.Width(n.obs), 1)
}

// outcome returns what steps led to by the memory after them: rewards as logits over bins, and the
// logits of going on.
func (n *net) outcome(c *rl.Ctx, sc *model.Scope, memory *Node) (reward, goesOn *Node) {
	reward = n.out(c, sc.At("reward"), memory, 1, n.bins.N, 0)
	return reward, Squeeze(n.out(c, sc.At("continue"), memory, 1, 1, 1), -1)
}

// policy returns the actor's distributions in states.
func (n *net) policy(c *rl.Ctx, sc *model.Scope, state *Node, legal rl.Tree) nn.Dist {
	return n.head.Dist(c, sc, n.out(c, sc, state, n.Layers, n.head.Units(), .01), legal)
}

// value returns the critic's predictions in states, as logits over bins.
func (n *net) value(c *rl.Ctx, sc *model.Scope, state *Node) *Node {
	return n.out(c, sc, state, n.Layers, n.bins.N, 0)
}

// act samples a latent and an action.
func (n *net) act(c *rl.Ctx, in ActIn) ActOut { return n.decide(c, in, false) }

// greedy takes the likeliest latent and action.
func (n *net) greedy(c *rl.Ctx, in ActIn) ActOut { return n.decide(c, in, true) }

func (n *net) decide(c *rl.Ctx, in ActIn, greedy bool) ActOut {
	sc, memory := c.Scope(n.model), in.Memory.Node()
	logp := n.Observed(c, sc, memory, n.encode(c, sc, in.Obs.X))
	z := n.codes.Mode(logp)
	if !greedy {
		z = n.codes.Sample(logp, c.Gumbel("latent", logp.Shape().Dimensions...))
	}
	x := n.Join(memory, z)
	action := n.head.Clip(nn.Choose(c, n.policy(c, c.Scope(n.actor), x, in.Obs.Legal), greedy))
	return ActOut{action, rl.Wrap(n.Next(c, sc, x, nn.Scaled(n.action, action)))}
}

// modelLoss follows sequences, from the stored memory of their first step on, and returns how far
// the model's predictions are from what happened. Where an episode is over the memory of the next
// begins empty.
func (n *net) modelLoss(c *rl.Ctx, s replay.Sample[Step]) (loss, weight rl.Tensor, past Posterior) {
	d, sc := s.Data, c.Scope(n.model)
	encoded, action := n.encode(c, sc, d.Obs.X), nn.Scaled(n.action, d.Action)
	noise := c.Gumbel("latent", encoded.Shape().Dimensions[0], n.Length, n.Groups, n.Classes)
	memory := column(d.Memory.Node(), 0)
	var path, after, posts []*Node
	for t := range n.Length {
		post := n.Observed(c, sc, memory, column(encoded, t))
		x := n.Join(memory, n.codes.Sample(post, column(noise, t)))
		next := n.Next(c, sc, x, column(action, t))
		path, after, posts = append(path, x), append(after, next), append(posts, post)
		memory = Where(column(d.Over.Node(), t), ZerosLike(next), next)
	}
	states, post := Stack(path, 1), Stack(posts, 1)
	memories, _ := n.Split(states)
	dyn, rep := n.codes.Balanced(post, n.Predicted(c, sc, memories), n.FreeNats)
	observed := ReduceSum(Square(Sub(n.decode(c, sc, states), n.seen(d.Obs.X))), -1)
	reward, goesOn := n.outcome(c, sc, Stack(after, 1))
	rewards := n.bins.Miss(d.Reward.Node(), reward)
	on := OneMinus(ConvertDType(d.Terminated.Node(), dtypes.Float32))
	goes := Sub(Softplus(goesOn), Mul(on, goesOn))
	divergence := Add(MulScalar(dyn, n.DynScale), MulScalar(rep, n.RepScale))
	past = Posterior{
		Memory: rl.Wrap(memories), State: rl.Wrap(states),
		Observed: rl.Wrap(observed), Reward: rl.Wrap(rewards), Continue: rl.Wrap(goes), Dynamics: rl.Wrap(dyn),
	}
	return rl.Wrap(Add(Add(observed, rewards), Add(goes, divergence))), rl.Tensor{}, past
}

// imagine returns the states of paths in the model from all states of sequences on, [rows, time,
// imagine+1, ...], and the actor's actions. No gradient flows through either.
func (n *net) imagine(c *rl.Ctx, from *Node) (states *Node, actions rl.Tree) {
	sc, lead := c.Scope(n.model), from.Shape().Dimensions[:2]
	x := Reshape(from, lead[0]*lead[1], -1)
	path, acts := []*Node{x}, []rl.Tree(nil)
	for t := range n.Imagine {
		act := n.policy(c, c.Scope(n.actor), x, rl.Tree{}).Sample(c, fmt.Sprint("action", t))
		memory := n.Next(c, sc, x, nn.Scaled(n.action, n.head.Clip(act)))
		logp := n.Predicted(c, sc, memory)
		x = n.Join(memory, n.codes.Sample(logp, c.Gumbel(fmt.Sprint("latent", t), logp.Shape().Dimensions...)))
		path, acts = append(path, x), append(acts, act)
	}
	split := func(x rl.Tensor) rl.Tensor {
		return rl.Wrap(StopGradient(Reshape(x.Node(), append(slices.Clone(lead), x.Shape().Dimensions[1:]...)...)))
	}
	return split(rl.Wrap(Stack(path, 1))).Node(), rl.Map(nn.StackTrees(acts, 1), split)
}

// actorLoss returns REINFORCE's loss of imagined actions, with the critic for a baseline and
// advantages in units of the range of returns.
func (n *net) actorLoss(c *rl.Ctx, from Start) (loss, weight rl.Tensor, d Dream) {
	states, actions := n.imagine(c, from.Posterior.State.Node())
	value := n.bins.Mean(n.value(c, c.Scope(n.critic), states))
	part := func(x *Node, from int) *Node { return SliceAxis(x, 2, AxisRange(from, from+n.Imagine)) }
	memory, _ := n.Split(part(states, 1))
	reward, goesOn := n.outcome(c, c.Scope(n.model), memory)
	discount := MulScalar(Sigmoid(goesOn), n.Gamma)
	ret := nn.LambdaReturns(n.bins.Mean(reward), discount, part(value, 1), n.Lambda)
	advantage := n.scale.Scale(c, Sub(ret, part(value, 0)))
	states = part(states, 0)
	pi := n.policy(c, c.Scope(n.actor), states, rl.Tree{})
	entropy := pi.Entropy()
	weight = rl.Wrap(nn.Reached(discount))
	past := from.Sample.Data
	replayed := nn.ReplayedReturns(n.Gamma, n.Lambda, past.Reward.Node(), Squeeze(SliceAxis(ret, 2, AxisElem(0)), 2), past.Terminated.Node(), past.Over.Node())
	d = Dream{rl.Wrap(states), rl.Wrap(ret), weight, rl.Wrap(entropy), rl.Wrap(replayed)}
	return rl.Wrap(Neg(Add(Mul(advantage, pi.LogProb(actions)), MulScalar(entropy, n.EntropyCoef)))), weight, d
}

// criticLoss returns how far predictions in imagined states are from the returns there, and from
// what the slow critic predicts; and those in replayed states, where paths start, from the returns
// of the sequences.
func (n *net) criticLoss(c *rl.Ctx, d Dream) (loss, weight, missed rl.Tensor) {
	states := d.State.Node()
	z := n.value(c, c.Scope(n.critic), states)
	x := n.bins.Miss(d.Return.Node(), z)
	slow := n.bins.Miss(n.bins.Mean(n.value(c, c.Scope(n.slow), states)), z)
	first := n.bins.Miss(d.Replayed.Node(), Squeeze(SliceAxis(z, 2, AxisElem(0)), 2))
	again := GrowRight(ExpandAxes(MulScalar(first, n.ReplayCoef*float64(n.Imagine)), 2), 2, n.Imagine-1, 0)
	return rl.Wrap(Add(Add(x, MulScalar(slow, n.SlowCoef)), again)), d.Weight, rl.Wrap(x)
}

// column returns step t of sequences [rows, steps, ...].
func column(x *Node, t int) *Node { return Squeeze(SliceAxis(x, 1, AxisElem(t)), 1) }
