// Package gail is generative adversarial imitation learning (Ho and Ermon, 2016): a policy learns
// to act as an expert does from a few of the expert's episodes, without rewards. A discriminator
// learns to tell the expert's steps from the policy's, and PPO teaches the policy to be taken for
// the expert. As AIRL (Fu et al., 2018) the discriminator is a reward, and a potential that shapes
// it.
package gail

import (
	"fmt"
	"slices"

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

// Trainer imitates an expert.
type Trainer struct {
	Config
	Expert        *data.Set[Shown]
	Env           env.Batch
	Rollout       *replay.Rollout[Step]
	Own           *replay.Table[Shown] // latest steps of the policy
	Actor         *Actor
	Discriminator *Discriminator
	Learner       *Learner
}

// Train runs the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		batch := t.Collect(run)
		for i := range t.Judgements {
			expert := t.Expert.Sample(run.Key("expert", i), t.Batch)
			own := t.Own.Sample(run.Key("own", i), t.Batch)
			t.Discriminator.Learn(run, Pair{expert.Data, own.Data})
		}
		reward := t.Discriminator.Reward(batch.Steps.Shown)
		t.Learner.Learn(run, batch, reward)
	}
	return run.Err()
}

// Collect steps every environment Horizon times under fixed weights. What the environments pay is
// not kept.
func (t *Trainer) Collect(run *rl.Run) Batch {
	obs := t.Env.Obs()
	for i := range t.Horizon {
		act := t.Actor.Act(run.Key("act", i), obs)
		out := t.Env.Step(act.Action)
		cut := t.Actor.Value(out.Truncated, out.Final)
		shown := Shown{obs, act.Action, out.Final, out.Terminated}
		t.Own.Insert(shown, out.Over)
		t.Rollout.Insert(Step{shown, act.Raw, act.LogProb, out.Truncated, out.Over, cut})
		obs = out.Obs
	}
	steps := t.Rollout.Drain()
	values := t.Actor.Values(steps.Shown.Obs)
	last := t.Actor.Values(obs)
	return Batch{steps, values, last}
}

// Learn makes an update of the discriminator. Accuracy is the part of steps whose author it names.
func (d *Discriminator) Learn(run *rl.Run, p Pair) {
	g, m := d.loss.Grad(rl.Key{}, p)
	d.opt.Apply(g, d.JudgeRate)
	run.Log("loss/discriminator", m.Loss)
	run.Log("accuracy", m.Accuracy)
}

// Reward returns what the discriminator pays for steps.
func (d *Discriminator) Reward(s Shown) rl.Tensor { return d.reward.Call(rl.Key{}, s) }

// Learn makes Epochs passes over the batch in minibatches.
func (l *Learner) Learn(run *rl.Run, b Batch, reward rl.Tensor) {
	run.Log("reward", reward)
	steps := b.Steps
	next := rl.Select(steps.Truncated, steps.Cut, rl.Shift(b.Values, b.Last))
	adv, ret := rl.GAE(l.Gamma, l.Lambda, l.scaled(reward, steps.Over), b.Values, next, steps.Shown.Terminated, steps.Over)
	sample := Sample{steps.Shown.Obs, steps.Raw, steps.LogProb, b.Values, adv, ret}
	lr := l.Rate.At(run.Progress())
	for e := range l.Epochs {
		for i := range l.Minibatches {
			mini := replay.Take(sample, run.Key("shuffle", e), replay.ByStep, i, l.Minibatches)
			mini.Adv = rl.Standardise(mini.Adv, rl.Tensor{}) // crosses rows, so it is no part of the loss
			g, m := l.loss.Grad(run.Key("loss", e, i), mini)
			l.opt.Apply(g, lr)
			run.Log("loss/policy", m.Policy)
			run.Log("loss/value", m.Value)
			run.Log("loss/entropy", m.Entropy)
			run.Log("approx_kl", m.KL)
		}
	}
	l.observe(steps.Shown.Obs)
}

type (
	// Shown is a step as the discriminator sees it.
	Shown struct {
		Obs        rl.Obs
		Action     rl.Tree
		Next       rl.Obs // observation that the step led to, before any reset
		Terminated rl.Tensor
	}
	// Pair is a step of the expert and one of the policy.
	Pair struct{ Expert, Own Shown }
	// Judged reports an update of the discriminator, by pair.
	Judged struct{ Loss, Accuracy rl.Tensor }
	// Step is one step of every environment. Raw is the policy's sample, which the action shown is
	// within the bounds of the space; Cut is the value of the state that a truncation cut off.
	Step struct {
		Shown                         Shown
		Raw                           rl.Tree
		LogProb, Truncated, Over, Cut rl.Tensor
	}
	// Batch holds the steps of one iteration, the values of their states, and that of the last.
	Batch struct {
		Steps        Step // [env, time, ...]
		Values, Last rl.Tensor
	}
	// Sample holds the inputs of the policy's loss, by step.
	Sample struct {
		Obs                      rl.Obs
		Action                   rl.Tree
		LogProb, Value, Adv, Ret rl.Tensor
	}
	// Metrics are reported of every minibatch, by row.
	Metrics nn.ProximalMetrics
)

// Actor chooses actions and values states with the current weights.
type Actor struct {
	act, greedy *rl.Func[rl.Obs, nn.ActOut]
	value       *rl.Func[rl.Obs, rl.Tensor]
}

// Act samples an action for every environment.
func (a *Actor) Act(k rl.Key, obs rl.Obs) nn.ActOut { return a.act.Call(k, obs) }

// Value returns the value of the states where mask is true, and 0 elsewhere.
func (a *Actor) Value(mask rl.Tensor, obs rl.Obs) rl.Tensor { return a.value.Rows(mask, rl.Key{}, obs) }

// Values returns those of all states.
func (a *Actor) Values(obs rl.Obs) rl.Tensor { return a.value.Call(rl.Key{}, obs) }

// Discriminator tells the expert's steps from the policy's.
type Discriminator struct {
	Config
	loss   *rl.Loss[Pair, Judged]
	opt    *rl.Opt
	reward *rl.Func[Shown, rl.Tensor]
}

// Learner improves the policy.
type Learner struct {
	Config
	norm     *rl.Stats // statistics of observations; nil without normalisation
	opt      *rl.Opt
	loss     *rl.Loss[Sample, Metrics]
	features *rl.Func[rl.Tree, rl.Tensor]
	returns  *nn.Returns
	scale    *rl.Func[rl.Tensor, rl.Tensor]
}

// scaled returns the rewards as the learner sees them.
func (l *Learner) scaled(reward, over rl.Tensor) rl.Tensor {
	if !l.NormalizeReward {
		return reward
	}
	l.returns.Update(reward, over)
	return l.scale.Call(rl.Key{}, reward)
}

// observe updates the statistics of observations, once an iteration and after learning, so that all
// networks normalise alike.
func (l *Learner) observe(obs rl.Obs) {
	if l.NormalizeObs {
		l.norm.Update(l.features.Call(rl.Key{}, obs.X))
	}
}

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	return rl.NewAgent(t.Actor.act, t.Actor.greedy, func(a nn.ActOut) rl.Tree { return a.Action })
}

// Config is its settings.
type Config struct {
	data.From
	Envs    int `default:"8" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	Horizon int `default:"256" unit:"steps" range:"[1,)" doc:"steps that every environment takes in an iteration"`

	Judgements int     `default:"8" unit:"updates" range:"[1,)" doc:"updates of the discriminator in an iteration"`
	Batch      int     `default:"512" unit:"steps" range:"[1,)" doc:"steps of the expert in an update of the discriminator, and as many of the policy"`
	Recent     int     `default:"8192" unit:"steps" range:"[1,)" doc:"latest steps of the policy that the discriminator learns from"`
	JudgeRate  float64 `default:"3e-4" range:"(0,)" doc:"the step size of the discriminator's optimiser"`
	Reward     string  `default:"positive" oneof:"positive negative logit" doc:"reward of a step that is the expert's with probability D: positive is -log(1-D), negative log D, logit their sum; where episodes end early, positive favours living on and negative an early end"`
	Penalty    float64 `default:"10" range:"[0,)" doc:"weight of the squared slope of the discriminator's logit at the steps that it learns from, which keeps it from telling them apart too easily to teach anything"`
	AIRL       bool    `key:"airl" default:"false" doc:"have the discriminator learn a reward and a potential, and pay the logit (AIRL)"`

	nn.Proximal     `defaults:"epochs=10 minibatches=8 learning_rate=3e-4 entropy_coef=0"`
	NormalizeReward bool `default:"true" doc:"divide rewards by the standard deviation of running discounted returns"`
	nn.Standard     `defaults:"normalize_obs=true"`
	nn.Layers
	nn.Sharing
}

// Validate finds settings that do not go together.
func (c *Config) Validate() error { return c.Fits(c.Envs * c.Horizon) }

// Algorithm is GAIL for whoever runs it.
var Algorithm = algo.Define("gail", "generative adversarial imitation: PPO whose reward is to be taken for an expert", []algo.Preset{
	algo.For("Pendulum-v1", 300_000, "a short horizon of value suits a short swing", func(c *Config) {
		c.LearningRate, c.Gamma, c.ClipValue, c.Penalty = 1e-3, .9, false, 3
	}),
	algo.For("HalfCheetah-v5", 2_000_000, "wider networks", func(c *Config) {
		c.Hidden, c.Gamma = []int{256, 256}, .97
	}),
	algo.ForKind(env.Continuous, 1_000_000, "PPO's recipe for MuJoCo in several environments", func(*Config) {}),
	algo.ForKind(env.Control, 500_000, "PPO's recipe", func(*Config) {}),
	algo.For("IdentityContinuous-v0", 60_000, "solved in seconds", func(c *Config) {
		c.Envs, c.Horizon, c.LearningRate, c.Gamma, c.Hidden = 16, 32, 1e-3, .5, []int{32}
	}),
}, build)

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Batch(c.Envs)
	if err != nil {
		return nil, err
	}
	spec := e.Spec()
	if spec.Agents > 1 {
		return nil, fmt.Errorf("%s has %d agents, this algorithm trains one", spec.ID, spec.Agents)
	}
	expert, err := data.NewFrom[Shown](s, "expert", c.From, data.Options{})
	if err != nil {
		return nil, err
	}
	if err := expert.Fits(spec.Obs, spec.Action); err != nil {
		return nil, err
	}
	n, err := newNet(s, *c, expert)
	if err != nil {
		return nil, err
	}
	return &Trainer{
		Config: *c, Env: e, Expert: expert,
		Rollout: replay.NewRollout[Step](s, "rollout"),
		Own:     replay.NewTable[Shown](s, "own", c.Recent, replay.Options{}),
		Actor:   &Actor{rl.NewFunc(s, "act", n.act), rl.NewFunc(s, "greedy", n.greedy), rl.NewFunc(s, "value", n.values)},
		Discriminator: &Discriminator{
			Config: *c,
			loss:   rl.NewLoss(s, "judge", n.judge, n.critic),
			opt:    rl.NewOpt(s, "discriminator's adam", nn.Adam{}, n.critic),
			reward: rl.NewFunc(s, "reward", n.reward),
		},
		Learner: newLearner(s, n, spec),
	}, nil
}

func newLearner(s *rl.Scope, n *net, spec env.Spec) *Learner {
	c := n.Config
	l := &Learner{
		Config: c, norm: n.norm,
		opt:      rl.NewOpt(s, "adam", c.Rule(), n.params),
		loss:     rl.NewLoss(s, "loss", n.loss, n.params),
		features: rl.NewFunc(s, "features", n.features),
	}
	if c.NormalizeReward {
		l.returns = nn.NewReturns(s, "returns", spec.Rows, c.Gamma, c.ClipObs)
		l.scale = rl.NewFunc(s, "scale", l.scaling)
	}
	return l
}

func (l *Learner) scaling(c *rl.Ctx, reward rl.Tensor) rl.Tensor {
	return rl.Wrap(l.returns.Scale(c, reward.Node()))
}

// net is the policy with its value function, and the discriminator.
type net struct {
	Config
	nn.ActorCritic
	logits         nn.Critics
	params, critic *rl.Params
	space          rl.Space  // space of observations
	norm           *rl.Stats // statistics of observations; nil without normalisation
}

func newNet(s *rl.Scope, c Config, expert *data.Set[Shown]) (*net, error) {
	obs, action := expert.Spaces()
	c.NormalizeObs = c.NormalizeObs && expert.Meta().Norm != nil // pictures and choices stay as they are
	sees := c.Sees(obs)
	nets, err := nn.NewActorCritic(c.Layers, c.Sharing, sees, action)
	if err != nil {
		return nil, err
	}
	logits, err := nn.NewCritics(c.Layers, sees, action, 1)
	if err != nil {
		return nil, err
	}
	n := &net{Config: c, ActorCritic: nets, logits: logits, space: obs}
	if c.NormalizeObs {
		n.norm = rl.NewStats(s, "observations", c.ClipObs, nn.Width(obs))
		if err := expert.Normalise(n.norm); err != nil { // until the policy has seen more
			return nil, err
		}
	}
	n.params = rl.NewParams(s, "policy", n.Init)
	n.critic = rl.NewParams(s, "discriminator", func(c *rl.Ctx, sc *model.Scope) {
		logits.Init(c, sc)
		n.potential(c, sc, rl.Obs{X: nn.Blank(c, sees)})
	})
	return n, nil
}

// seen returns observations as the networks see them.
func (n *net) seen(c *rl.Ctx, obs rl.Obs) rl.Obs {
	if n.norm != nil {
		obs.X = rl.One(rl.Wrap(n.norm.Norm(c, nn.Features(n.space, obs.X))))
	}
	return obs
}

func (n *net) features(_ *rl.Ctx, x rl.Tree) rl.Tensor { return rl.Wrap(nn.Features(n.space, x)) }

func (n *net) act(c *rl.Ctx, obs rl.Obs) nn.ActOut    { return n.decide(c, obs, false) }
func (n *net) greedy(c *rl.Ctx, obs rl.Obs) nn.ActOut { return n.decide(c, obs, true) }

func (n *net) decide(c *rl.Ctx, obs rl.Obs, greedy bool) nn.ActOut {
	pi := n.Policy(c, c.Scope(n.params), n.seen(c, obs))
	return n.Head.Decide(nn.Choose(c, pi, greedy), pi, nil)
}

func (n *net) values(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	return rl.Wrap(n.Value(c, c.Scope(n.params), n.seen(c, obs)))
}

// logit returns the logarithm of the odds that steps are the expert's, [rows...].
func (n *net) logit(c *rl.Ctx, s Shown) *Node {
	obs := n.seen(c, s.Obs)
	return n.shaped(c, obs, s, n.logits.Apply(c, c.Scope(n.critic), obs, s.Action)[0])
}

// shaped returns the logit of steps that earn x, of which the networks see obs.
func (n *net) shaped(c *rl.Ctx, obs rl.Obs, s Shown, x *Node) *Node {
	if !n.AIRL {
		return x
	}
	open := OneMinus(ConvertDType(s.Terminated.Node(), dtypes.Float32))
	after := Mul(open, n.potential(c, c.Scope(n.critic), n.seen(c, s.Next)))
	x = Add(x, Sub(MulScalar(after, n.Gamma), n.potential(c, c.Scope(n.critic), obs)))
	return Sub(x, StopGradient(n.Policy(c, c.Scope(n.params), obs).LogProb(s.Action)))
}

// potential returns how much of the reward of a step belongs to where it led, [rows...].
func (n *net) potential(c *rl.Ctx, sc *model.Scope, seen rl.Obs) *Node {
	x := n.Torso.Apply(c, sc.At("potential"), seen.X)
	return Squeeze(nn.Dense(c, sc.At("potential").At("out"), x, 1, 1), -1)
}

// judge returns the cross entropy of the discriminator's guesses, by pair.
func (n *net) judge(c *rl.Ctx, p Pair) (loss, weight rl.Tensor, m Judged) {
	expert, own := n.logit(c, p.Expert), n.logit(c, p.Own)
	total := Add(Softplus(Neg(expert)), Softplus(own))
	if n.Penalty > 0 {
		total = Add(total, MulScalar(Add(n.slope(c, p.Expert), n.slope(c, p.Own)), n.Penalty/2))
	}
	loss = rl.Wrap(total)
	zero := ZerosLike(own)
	right := Add(ConvertDType(GreaterThan(expert, zero), dtypes.Float32), ConvertDType(LessThan(own, zero), dtypes.Float32))
	return loss, rl.Tensor{}, Judged{loss, rl.Wrap(MulScalar(right, .5))}
}

// slope returns the squared length of the logit's gradient by the numbers that the discriminator
// sees of steps, [rows...]: observations as its network sees them, and actions in boxes scaled to
// -1 to 1.
func (n *net) slope(c *rl.Ctx, s Shown) *Node {
	obs := n.seen(c, s.Obs)
	by, sc := numbers(obs.X), c.Scope(n.critic)
	var x *Node
	if nn.Continuous(n.logits.Action) {
		action := nn.Scaled(n.logits.Action, s.Action)
		by = append(by, action)
		x = n.logits.ApplyScaled(c, sc, obs, action)[0]
	} else {
		x = n.logits.Apply(c, sc, obs, s.Action)[0]
	}
	out := ZerosLike(x)
	for _, g := range Gradient(ReduceAllSum(n.shaped(c, obs, s, x)), by...) {
		out = Add(out, ReduceSum(Square(Reshape(g, append(slices.Clone(x.Shape().Dimensions), -1)...)), -1))
	}
	return out
}

// numbers returns the leaves of observations that can change by a little.
func numbers(x rl.Tree) (out []*Node) {
	for _, l := range rl.Leaves(x) {
		if l.Node().DType() == dtypes.Float32 {
			out = append(out, l.Node())
		}
	}
	return out
}

// reward returns what steps earn by the discriminator.
func (n *net) reward(c *rl.Ctx, s Shown) rl.Tensor {
	x := n.logit(c, s)
	switch {
	case n.AIRL || n.Reward == "logit":
		return rl.Wrap(x)
	case n.Reward == "negative":
		return rl.Wrap(Neg(Softplus(Neg(x))))
	}
	return rl.Wrap(Softplus(x))
}

// loss returns the clipped surrogate, the value loss and the entropy bonus, by row.
func (n *net) loss(c *rl.Ctx, s Sample) (loss, weight rl.Tensor, m Metrics) {
	pi, v := n.Apply(c, c.Scope(n.params), n.seen(c, s.Obs))
	p := nn.Surrogate(pi.LogProb(s.Action), s.LogProb.Node(), s.Adv.Node(), n.Clip)
	value := n.ValueLoss(v, s.Value.Node(), s.Ret.Node(), 0)
	total, metrics := n.Total(p, value, pi.Entropy())
	return total, rl.Tensor{}, Metrics(metrics)
}
