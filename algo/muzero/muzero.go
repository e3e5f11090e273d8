// Package muzero learns a model of its environment and searches in it (Schrittwieser et al., 2020):
// a representation makes a latent state of an observation, dynamics move it by an action and
// predict the reward, and a prediction says what to do there and what it is worth. All three are
// learnt by what they predict several steps ahead. Old sequences are searched again with newer
// weights (reanalyse), and games of two players are learnt by self-play. Gumbel search (Danihelka
// et al., 2022) is a setting.
package muzero

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/game"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
	"github.com/weft-rl/weft/search"
)

// Trainer acts by searches in its model, and its Learner learns from what they led to.
type Trainer struct {
	Config
	Env        env.Batch
	Replay     *replay.Table[Step]
	Actor      *Actor
	Reanalyser *Reanalyser
	Learner    *Learner
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
	obs := t.Env.Obs()
	temperature := rl.Scalar(t.Heat(run.Progress()))
	for i := range t.TrainEvery {
		act := t.Actor.Act(run.Key("act", i), In{obs, temperature})
		out := t.Env.Step(act.Action)
		t.Replay.Insert(Step{obs, act.Action, act.Policy, out.Reward, out.Final, out.Terminated}, out.Over)
		obs = out.Obs
		run.Log("search/value", act.Value)
	}
	run.Log("temperature", temperature)
	run.Log("per_step/simulations", rl.Scalar(float64(t.Simulations)))
}

// Learn makes Updates updates, each of a sample of sequences. The searches of one in Reanalyse are
// made again, with the latest weights.
func (t *Trainer) Learn(run *rl.Run) {
	beta := rl.Scalar(t.BetaAt(run.Progress()))
	for u := range t.Updates {
		s := t.Replay.Sample(run.Key("sample", u), t.Batch)
		if t.Reanalyse > 0 && u%t.Reanalyse == 0 {
			s.Data.Policy = t.Reanalyser.Search(run.Key("reanalyse", u), s.Data)
		}
		priority := t.Learner.Update(run, u, Batch{s, beta})
		if t.Prioritised {
			t.Replay.Prioritise(s.Index, priority)
		}
	}
	if run.Every(t.TargetEvery) {
		t.Learner.net.slow.Blend(t.Learner.net.params, 1)
	}
}

type (
	// In is an observation, and the temperature at which actions are drawn.
	In struct {
		Obs         rl.Obs
		Temperature rl.Tensor
	}
	// Chosen holds actions, with the improved policies and the values of the searches.
	Chosen struct {
		Action        rl.Tree
		Policy, Value rl.Tensor
	}
	// Step is one step of every environment, and what the search found at its start. Next is
	// where it led, before any reset.
	Step struct {
		Obs            rl.Obs
		Action         rl.Tree
		Policy, Reward rl.Tensor
		Next           rl.Obs
		Terminated     rl.Tensor
	}
	// Batch is a sample of sequences, and how far their probabilities are corrected for.
	Batch struct {
		Sample replay.Sample[Step]
		Beta   rl.Tensor
	}
	// Metrics report an update, by sequence. Priority is the priority that the sequence gets in
	// the replay.
	Metrics struct{ Policy, Value, Reward, Priority rl.Tensor }
)

// Actor chooses actions by search, or by the prediction alone.
type Actor struct {
	act, search, look *rl.Func[In, Chosen]
}

// Act chooses the actions of training.
func (a *Actor) Act(k rl.Key, in In) Chosen { return a.act.Call(k, in) }

// Reanalyser searches again where searches were made with older weights.
type Reanalyser struct{ search *rl.Func[Step, rl.Tensor] }

// Search returns the policies of sequences, [rows, time, actions], those that are learnt from
// improved by new searches.
func (r *Reanalyser) Search(k rl.Key, s Step) rl.Tensor { return r.search.Call(k, s) }

// Learner improves the model.
type Learner struct {
	Config
	net  *net
	opt  *rl.Opt
	loss *rl.Loss[Batch, Metrics]
}

// Update makes update u of an iteration and returns the sequences' priorities.
func (l *Learner) Update(run *rl.Run, u int, b Batch) rl.Tensor {
	g, m := l.loss.Grad(run.Key("loss", u), b)
	l.opt.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/policy", m.Policy)
	run.Log("loss/value", m.Value)
	run.Log("loss/reward", m.Reward)
	return m.Priority
}

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	greedy := t.Actor.search
	if t.ActBy == "network" {
		greedy = t.Actor.look
	}
	return rl.Acting[In, Chosen]{
		Sample: t.Actor.act, Greedy: greedy,
		In:  func(obs rl.Obs, _ rl.Tree) In { return In{obs, rl.Scalar(t.TemperatureEnd)} },
		Out: func(c Chosen) (action, next rl.Tree) { return c.Action, rl.Tree{} },
		Why: func(c Chosen) rl.Thoughts { return rl.Thoughts{Policy: c.Policy, Value: c.Value} },
	}
}

// Config is MuZero's settings.
type Config struct {
	Envs           int   `default:"16" unit:"environments" range:"[1,)" doc:"environments stepped together, each with a tree of its own"`
	TrainEvery     int   `default:"8" unit:"steps" range:"[1,)" doc:"steps that every environment takes between updates"`
	Updates        int   `default:"16" unit:"updates" range:"[1,)" doc:"updates of an iteration"`
	Batch          int   `default:"128" unit:"sequences" range:"[1,)" doc:"sequences of an update"`
	Buffer         int   `default:"50000" unit:"steps" range:"[1,)" doc:"steps that are kept"`
	LearningStarts int64 `default:"2000" unit:"steps" range:"[1,)" doc:"steps taken before the first update"`

	search.Settings `defaults:"simulations=25 normalise=true"`
	Temperature     float64 `default:"1" range:"[0,)" doc:"puct: actions are drawn in proportion to visits to the power of 1/temperature, at the start"`
	TemperatureEnd  float64 `default:"0.25" range:"[0,)" doc:"the same at the end"`
	ActBy           string  `default:"search" oneof:"search network" doc:"how the trained agent acts greedily: by a search without noise, or by the prediction alone"`

	Unroll      int     `default:"5" unit:"steps" range:"[1,)" doc:"steps that the model predicts ahead in an update"`
	TDSteps     int     `default:"50" unit:"steps" range:"[1,)" doc:"rewards that are added up before a value is asked for"`
	Gamma       float64 `default:"0.997" range:"[0,1]" doc:"discount of a reward one step later"`
	TargetEvery int64   `default:"800" unit:"steps" range:"[1,)" doc:"steps between two copies of the weights for the values that are asked for"`
	Reanalyse   int     `default:"0" unit:"updates" range:"[0,)" doc:"one in so many updates searches its sequences again with the latest weights; 0 is none"`
	nn.Prioritising

	nn.Rate     `defaults:"learning_rate=5e-3 anneal=linear"`
	AdamEps     float64 `default:"1e-8" range:"(0,)" doc:"Adam's term for numerical stability"`
	MaxGradNorm float64 `default:"5" range:"[0,)" doc:"norm over all parameters to which gradients are clipped; 0 is no bound"`
	ValueCoef   float64 `default:"1" range:"[0,)" doc:"weight of the value loss"`
	Support     int     `default:"20" range:"[1,)" doc:"greatest value and reward that can be predicted, on a compressed scale of about the square root"`

	nn.Layers `defaults:"hidden=64 activation=relu"`
	Latent    int `default:"32" unit:"numbers" range:"[1,)" doc:"numbers of a latent state"`
}

// Heat returns the temperature when a part of the budget is done.
func (c Config) Heat(progress float64) float64 {
	return c.Temperature + (c.TemperatureEnd-c.Temperature)*progress
}

// Validate finds settings that do not go together.
func (c *Config) Validate() error {
	if err := c.Settings.Validate(); err != nil {
		return err
	}
	if least := c.length() * c.Envs; c.Buffer < least || c.LearningStarts < int64(least) {
		return fmt.Errorf("buffer=%d, learning_starts=%d: sequences of %d steps (unroll + td_steps) in %d environments (envs) need at least %d of both", c.Buffer, c.LearningStarts, c.length(), c.Envs, least)
	}
	return nil
}

// length returns the steps of a sequence.
func (c *Config) length() int { return c.Unroll + c.TDSteps }

// Algorithm is MuZero for whoever runs it.
var Algorithm = algo.Define("muzero", "tree search in a learnt model, for single discrete actions: PUCT or Gumbel", []algo.Preset{
	algo.For("CartPole-v1", 80_000, "10,000 updates", func(*Config) {}),
	algo.ForKind(env.Control, 200_000, "as for CartPole-v1", func(*Config) {}),
	algo.For("board/TicTacToe-v0", 100_000, "self-play, values from the ends of games", func(c *Config) {
		c.Envs, c.Updates, c.Gamma, c.Unroll, c.TDSteps, c.NoiseAlpha, c.Support = 64, 32, 1, 5, 9, 1, 2
		c.Temperature, c.TemperatureEnd, c.Hidden, c.Latent, c.Reanalyse = 1, .5, []int{128}, 64, 4
	}),
	algo.For("Identity-v0", 10_000, "solved in seconds", func(c *Config) {
		c.Simulations, c.Unroll, c.TDSteps, c.Updates, c.LearningStarts, c.Gamma = 8, 2, 2, 8, 500, .5
	}),
}, build)

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Single(c.Envs)
	if err != nil {
		return nil, err
	}
	n, err := newNet(s, *c, e)
	if err != nil {
		return nil, err
	}
	how := replay.Options{Sequence: c.length(), Priority: c.Prioritised, Ratio: float64(c.Updates*c.Batch) / float64(c.TrainEvery*c.Envs)}
	a := &Actor{act: rl.NewFunc(s, "act", n.act), search: rl.NewFunc(s, "search", n.search), look: rl.NewFunc(s, "look", n.look)}
	a.act.Apart()
	a.search.Apart()
	r := &Reanalyser{rl.NewFunc(s, "reanalyse", n.reanalyse)}
	r.search.Apart()
	l := &Learner{Config: *c, net: n}
	l.opt = rl.NewOpt(s, "adam", nn.ClipNorm{Max: c.MaxGradNorm, Rule: nn.Adam{Eps: c.AdamEps}}, n.params)
	l.loss = rl.NewLoss(s, "loss", l.lossGraph, n.params)
	return &Trainer{Config: *c, Env: e, Replay: replay.NewTable[Step](s, "replay", c.Buffer, how), Actor: a, Reanalyser: r, Learner: l}, nil
}

// net is the model: representation, dynamics and prediction.
type net struct {
	Config
	nn.Torso
	action       rl.Discrete
	atoms        nn.Atoms
	discount     float64 // of a value one step later: negative where the other player moves there
	params, slow *rl.Params
}

func newNet(s *rl.Scope, c Config, e env.Batch) (*net, error) {
	spec := e.Spec()
	action, ok := spec.Action.(rl.Discrete)
	if !ok || spec.Agents > 1 {
		return nil, fmt.Errorf("%s: it is for one agent with single discrete actions, not for %d with %s: take ppo or sac", spec.ID, max(1, spec.Agents), spec.Action)
	}
	torso, err := c.Torso(spec.Obs)
	if err != nil {
		return nil, err
	}
	most := float64(c.Support)
	n := &net{Config: c, Torso: torso, action: action, atoms: nn.Atoms{N: 2*c.Support + 1, Min: -most, Max: most}, discount: c.Gamma}
	if g, ok := game.Of(e); ok {
		if r := g.Rules(); r.Hidden || r.InRow > 1 {
			return nil, fmt.Errorf("%s: a search looks ahead in games whose players take turns and see everything: use ppo", spec.ID)
		}
		n.discount = -c.Gamma
	}
	n.params, n.slow = rl.NewParams(s, "net", n.init), rl.NewParams(s, "slow", n.init)
	n.slow.Blend(n.params, 1)
	return n, nil
}

func (n *net) init(c *rl.Ctx, sc *model.Scope) {
	latent := n.represent(c, sc, nn.Blank(c, n.Space))
	n.dynamics(c, sc, latent, Zeros(c.Graph(), shapes.Make(dtypes.Int32, 1)))
	n.predict(c, sc, latent)
}

// represent returns the latent states of observations.
func (n *net) represent(c *rl.Ctx, sc *model.Scope, x rl.Tree) *Node {
	return unit(nn.Dense(c, sc.At("latent"), n.Torso.Apply(c, sc.At("torso"), x), n.Latent, 1))
}

// dynamics returns the latent states that actions lead to, and the rewards as logits over atoms.
func (n *net) dynamics(c *rl.Ctx, sc *model.Scope, latent, action *Node) (next, reward *Node) {
	hot := OneHot(action, n.action.N, dtypes.Float32)
	x := nn.MLP{Hidden: n.Hidden, Act: n.Act}.Apply(c, sc.At("dynamics"), Concatenate([]*Node{latent, hot}, -1))
	next = unit(Add(latent, nn.Dense(c, sc.At("next"), x, n.Latent, 1)))
	return next, nn.Dense(c, sc.At("reward"), x, n.atoms.N, .01)
}

// predict returns the policy and the value of latent states, as logits.
func (n *net) predict(c *rl.Ctx, sc *model.Scope, latent *Node) (policy, value *Node) {
	x := nn.MLP{Hidden: n.Hidden, Act: n.Act}.Apply(c, sc.At("prediction"), latent)
	return nn.Dense(c, sc.At("policy"), x, n.action.N, .01), nn.Dense(c, sc.At("value"), x, n.atoms.N, .01)
}

// unit returns rows whose numbers go from 0 to 1.
func unit(x *Node) *Node {
	low, high := ReduceAndKeep(x, ReduceMin, -1), ReduceAndKeep(x, ReduceMax, -1)
	return Div(Sub(x, low), AddScalar(Sub(high, low), 1e-5))
}

// number returns what logits over atoms mean.
func (n *net) number(logits *Node) *Node { return nn.Unscale(n.atoms.Mean(logits)) }

// root returns what the model says of observations.
func (n *net) root(c *rl.Ctx, obs rl.Obs) search.Leaf {
	obs = mover(obs)
	leaf := n.leaf(c, n.represent(c, c.Scope(n.params), obs.X))
	if obs.Legal.Len() > 0 {
		leaf.Legal = obs.Legal.At(0).Node()
	}
	return leaf
}

// mover returns the observation of the agent that moves, where two agents take turns.
func mover(obs rl.Obs) rl.Obs {
	if !obs.Turn.Ok() {
		return obs
	}
	first := rl.Wrap(column(obs.Turn.Node(), 0))
	own := func(x rl.Tensor) rl.Tensor {
		return rl.Select(first, rl.Wrap(column(x.Node(), 0)), rl.Wrap(column(x.Node(), 1)))
	}
	return rl.Obs{X: rl.Map(obs.X, own), Legal: rl.Map(obs.Legal, own)}
}

// leaf returns what the model says of latent states.
func (n *net) leaf(c *rl.Ctx, latent *Node) search.Leaf {
	policy, value := n.predict(c, c.Scope(n.params), latent)
	return search.Leaf{State: rl.One(rl.Wrap(latent)), Logits: policy, Value: n.number(value)}
}

// step moves latent states by actions.
func (n *net) step(c *rl.Ctx, state rl.Tree, action *Node) search.Next {
	next, reward := n.dynamics(c, c.Scope(n.params), state.Leaf("").Node(), action)
	r := n.number(reward)
	return search.Next{Leaf: n.leaf(c, next), Reward: r, Discount: BroadcastToShape(ConstAs(r, n.discount), r.Shape())}
}

// act chooses the actions of training.
func (n *net) act(c *rl.Ctx, in In) Chosen {
	found := n.Run(c, n.root(c, in.Obs), n.step)
	action := found.Best
	if n.Search == "puct" {
		action = found.Draw(c, "action", in.Temperature.Node())
	}
	return n.chosen(in, action, found.Policy, found.Value)
}

// search chooses the actions that a search without noise takes for the best.
func (n *net) search(c *rl.Ctx, in In) Chosen {
	found := n.Still(c, n.root(c, in.Obs), n.step)
	return n.chosen(in, found.Best, found.Policy, found.Value)
}

// look chooses the actions that the prediction takes for the best.
func (n *net) look(c *rl.Ctx, in In) Chosen {
	leaf := n.root(c, in.Obs)
	z := leaf.Logits
	if leaf.Legal != nil {
		z = Where(leaf.Legal, z, BroadcastToShape(ConstAs(z, -1e9), z.Shape()))
	}
	return n.chosen(in, ArgMax(z, -1, dtypes.Int32), Softmax(z, -1), leaf.Value)
}

// chosen returns actions with what led to them. Where two agents take turns, the one that does not
// move takes the first action.
func (n *net) chosen(in In, action, policy, value *Node) Chosen {
	if turn := in.Obs.Turn; turn.Ok() {
		both := BroadcastToShape(ExpandAxes(action, 1), turn.Shape())
		action = Where(turn.Node(), both, ZerosLike(both))
	}
	return Chosen{rl.One(rl.Wrap(AddScalar(action, n.action.Start))), rl.Wrap(policy), rl.Wrap(value)}
}

// reanalyse returns the policies of sequences, where they are learnt from by new searches.
func (n *net) reanalyse(c *rl.Ctx, s Step) rl.Tensor {
	old := s.Policy.Node()
	rows, steps := old.Shape().Dimensions[0], n.Unroll+1
	flat := func(x rl.Tensor) rl.Tensor {
		part := SliceAxis(x.Node(), 1, AxisRange(0, steps))
		return rl.Wrap(Reshape(part, append([]int{rows * steps}, part.Shape().Dimensions[2:]...)...))
	}
	found := n.Still(c, n.root(c, rl.Obs{X: rl.Map(s.Obs.X, flat), Legal: rl.Map(s.Obs.Legal, flat)}), n.step)
	return rl.Wrap(Concatenate([]*Node{Reshape(found.Policy, rows, steps, -1), SliceAxis(old, 1, AxisRangeToEnd(steps))}, 1))
}

// lossGraph follows the actions of sequences in the model, and returns how far its predictions are
// from what the searches and the environment said.
func (l *Learner) lossGraph(c *rl.Ctx, b Batch) (loss, weight rl.Tensor, m Metrics) {
	d, n, sc := b.Sample.Data, l.net, c.Scope(l.net.params)
	g := l.goals(c, b.Sample)
	latent := n.represent(c, sc, rl.Map(d.Obs.X, func(x rl.Tensor) rl.Tensor { return rl.Wrap(column(x.Node(), 0)) }))
	action := SubScalar(d.Action.Leaf("").Node(), n.action.Start)
	var policies, values, rewards, off *Node
	for k := range l.Unroll + 1 {
		scale := 1.
		if k > 0 {
			scale = 1 / float64(l.Unroll)
			next, reward := n.dynamics(c, sc, latent, column(action, k-1))
			latent = Add(MulScalar(next, .5), MulScalar(StopGradient(next), .5))
			rewards = sum(rewards, MulScalar(Mul(column(g.counts, k-1), n.miss(column(g.reward, k-1), reward)), scale))
		}
		policy, value := n.predict(c, sc, latent)
		cross := Neg(ReduceSum(Mul(column(d.Policy.Node(), k), LogSoftmax(policy, -1)), -1))
		policies = sum(policies, MulScalar(Mul(column(g.valid, k), cross), scale))
		values = sum(values, MulScalar(Mul(column(g.counts, k), n.miss(column(g.value, k), value)), scale))
		if k == 0 {
			off = Abs(Sub(n.number(value), column(g.value, 0)))
		}
	}
	if l.Prioritised {
		weight = rl.Wrap(Pow(b.Sample.Prob.Node(), Neg(b.Beta.Node())))
	}
	m = Metrics{Policy: rl.Wrap(policies), Value: rl.Wrap(values), Reward: rl.Wrap(rewards), Priority: rl.Wrap(l.Priority(off))}
	return rl.Wrap(Add(Add(policies, rewards), MulScalar(values, l.ValueCoef))), weight, m
}

// goals hold what the model should predict at the steps of sequences, [rows, steps].
type goals struct {
	value, reward *Node
	valid         *Node // 1 before the episode or the sequence ends, else 0
	counts        *Node // 1 there and after a termination, where all values and rewards are 0
}

// goals returns the rewards, and returns of TDSteps rewards and the slow copy's value of where they
// led.
func (l *Learner) goals(c *rl.Ctx, s replay.Sample[Step]) goals {
	d, valid, sc := s.Data, s.Valid.Node(), c.Scope(l.net.slow)
	last := nn.LastTrue(valid)
	_, value := l.net.predict(c, sc, l.net.represent(c, sc, d.Next.X))
	next := rl.Wrap(StopGradient(l.net.number(value)))
	ret := rl.NStep(l.net.discount, l.TDSteps, d.Reward, next, d.Terminated, rl.Wrap(last)).Node()
	live := ConvertDType(valid, dtypes.Float32)
	ended := ConvertDType(LogicalAnd(last, d.Terminated.Node()), dtypes.Float32)
	after := Mul(OneMinus(live), ReduceAndKeep(ended, ReduceMax, 1))
	return goals{Mul(ret, live), Mul(d.Reward.Node(), live), live, Add(live, after)}
}

// miss returns the cross-entropy of predictions, logits over atoms, with numbers [rows].
func (n *net) miss(number, logits *Node) *Node { return n.atoms.Miss(nn.Rescale(number), logits) }

// column returns step k of sequences [rows, steps, ...].
func column(x *Node, k int) *Node { return Squeeze(SliceAxis(x, 1, AxisElem(k)), 1) }

// sum adds x to what there is.
func sum(to, x *Node) *Node {
	if to == nil {
		return x
	}
	return Add(to, x)
}
