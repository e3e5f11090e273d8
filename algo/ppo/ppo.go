// Package ppo is proximal policy optimisation (Schulman et al., 2017), with the
// details that matter in practice (Huang et al., "The 37 implementation details
// of PPO", 2022): discrete and continuous actions, masks of legal actions,
// recurrence, and values that are bootstrapped where an episode was cut off and
// not where it ended.
package ppo

import (
	"fmt"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer collects experience with its Actor and learns from it with its
// Learner.
type Trainer struct {
	Config
	Env     env.Batch
	Memory  *rl.Slots[rl.Tensor] // recurrent memory, by environment
	Rollout *replay.Rollout[Step]
	Actor   *Actor
	Learner *Learner
}

// Train runs the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		batch := t.Collect(run)
		t.Learner.Learn(run, batch)
	}
	return run.Err()
}

// Collect steps every environment Horizon times under fixed weights.
func (t *Trainer) Collect(run *rl.Run) Batch {
	obs, memory := t.Env.Obs(), t.Memory.Get()
	for i := range t.Horizon {
		in := ActIn{Obs: obs, Memory: memory}
		act := t.Actor.Act(run.Key("act", i), in)
		out := t.Env.Step(act.Action)
		cut := t.Actor.Value(out.Truncated, ActIn{Obs: out.Final, Memory: act.Memory})
		t.Rollout.Insert(Step{in, act, Outcome{out.Reward, out.Terminated, out.Truncated, out.Over}, cut})
		obs, memory = out.Obs, rl.Keep(act.Memory, out.Over)
	}
	t.Memory.Set(memory)
	steps := t.Rollout.Drain()
	values := t.Actor.Values(steps.In)
	last := t.Actor.Values(ActIn{Obs: obs, Memory: memory})
	return Batch{steps, values, last}
}

// Learn makes Epochs passes over the batch in minibatches.
func (l *Learner) Learn(run *rl.Run, b Batch) {
	steps := b.Steps
	reward := l.scaled(steps.Out)
	next := rl.Select(steps.Out.Truncated, steps.Cut, rl.Shift(b.Values, b.Last))
	adv, ret := rl.GAE(l.Gamma, l.Lambda, reward, b.Values, next, steps.Out.Terminated, steps.Out.Over)
	sample := Sample{steps.In, steps.Act.Raw, steps.Act.LogProb, b.Values, adv, ret}
	lr := l.Rate.At(run.Progress())
	for e := range l.Epochs {
		var m Metrics
		for i := range l.Minibatches {
			mini := replay.Take(sample, run.Key("shuffle", e), l.rows(), i, l.Minibatches)
			if l.NormalizeAdvantage {
				mini.Adv = rl.Standardise(mini.Adv, rl.Tensor{}) // crosses rows, so it is no part of the loss
			}
			g, aux := l.loss.Grad(run.Key("loss", e, i), mini)
			l.opt.Apply(g, lr)
			m = aux
			m.log(run)
		}
		if l.TargetKL > 0 && run.Value(rl.Mean(m.KL)) > l.TargetKL {
			break
		}
	}
	run.Log("learning_rate", rl.Scalar(lr))
	run.Log("explained_variance", l.explained.Call(rl.Key{}, Explained{b.Values, ret}))
	l.observe(steps.In.Obs)
}

type (
	ActIn  = nn.ActIn
	ActOut = nn.ActOut
	// Outcome holds what the environments answered to an action.
	Outcome struct{ Reward, Terminated, Truncated, Over rl.Tensor }
	// Step is one step of every environment. Cut is the value of the state that a
	// truncation cut off.
	Step struct {
		In  ActIn
		Act ActOut
		Out Outcome
		Cut rl.Tensor
	}
	// Batch holds the steps of one iteration, the values of its states, and that of
	// where it ended. Acting needs no values, so they are computed for all steps at
	// once.
	Batch struct {
		Steps  Step      // [env, time, ...]
		Values rl.Tensor // [env, time]
		Last   rl.Tensor
	}
	// Sample holds the inputs of the loss, by step.
	Sample struct {
		In                       ActIn
		Action                   rl.Tree
		LogProb, Value, Adv, Ret rl.Tensor
	}
	// Metrics are reported of every minibatch, by row.
	Metrics nn.ProximalMetrics
	// Explained compares values with the returns that they predicted.
	Explained struct{ Value, Return rl.Tensor }
)

func (m Metrics) log(run *rl.Run) {
	run.Log("loss/policy", m.Policy)
	run.Log("loss/value", m.Value)
	run.Log("loss/entropy", m.Entropy)
	run.Log("approx_kl", m.KL)
	run.Log("clip_fraction", m.Clipped)
}

// Actor chooses actions and values states with the current weights.
type Actor struct {
	act    *rl.Func[ActIn, ActOut]
	greedy *rl.Func[ActIn, ActOut]
	value  *rl.Func[ActIn, rl.Tensor]
	scope  *rl.Scope
	cell   nn.Cell // nil without recurrence
}

// Act samples an action for every environment.
func (a *Actor) Act(k rl.Key, in ActIn) ActOut { return a.act.Call(k, in) }

// Value returns the value of the states where mask is true, and 0 elsewhere.
func (a *Actor) Value(mask rl.Tensor, in ActIn) rl.Tensor { return a.value.Rows(mask, rl.Key{}, in) }

// Values returns the values of all states.
func (a *Actor) Values(in ActIn) rl.Tensor { return a.value.Call(rl.Key{}, in) }

// Learner improves the weights.
type Learner struct {
	Config
	norm      *rl.Stats // statistics of observations; nil without normalisation
	opt       *rl.Opt
	loss      *rl.Loss[Sample, Metrics]
	explained *rl.Func[Explained, rl.Tensor]
	features  *rl.Func[rl.Tree, rl.Tensor]
	returns   *nn.Returns
	scale     *rl.Func[rl.Tensor, rl.Tensor]
}

// scaled returns the rewards as the learner sees them.
func (l *Learner) scaled(out Outcome) rl.Tensor {
	if !l.NormalizeReward {
		return out.Reward
	}
	l.returns.Update(out.Reward, out.Over)
	return l.scale.Call(rl.Key{}, out.Reward)
}

// observe updates the statistics of observations, once an iteration and after
// learning, so that acting and learning normalise alike.
func (l *Learner) observe(obs rl.Obs) {
	if l.NormalizeObs {
		l.norm.Update(l.features.Call(rl.Key{}, obs.X))
	}
}

// rows says what a minibatch is made of: a recurrent network needs sequences.
func (l *Learner) rows() replay.By {
	if l.Config.Memory > 0 {
		return replay.ByEnv
	}
	return replay.ByStep
}

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	return nn.NewAgent(t.Actor.scope, t.Actor.act, t.Actor.greedy, t.Actor.cell)
}

// Config is PPO's settings. The defaults are CleanRL's for classic control.
type Config struct {
	Envs    int `default:"4" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	Horizon int `default:"128" unit:"steps" range:"[1,)" doc:"steps that every environment takes in an iteration"`

	nn.Proximal
	TargetKL float64 `default:"0" range:"[0,)" doc:"KL divergence that ends the passes of an iteration; 0 is no bound"`

	NormalizeAdvantage bool    `default:"true" doc:"standardise advantages in every minibatch"`
	NormalizeObs       bool    `default:"false" doc:"standardise observations by running statistics"`
	NormalizeReward    bool    `default:"false" doc:"divide rewards by the standard deviation of running discounted returns"`
	ClipObs            float64 `default:"10" range:"(0,)" doc:"bound of standardised observations and rewards"`

	nn.Layers
	nn.Sharing
	Memory int `default:"0" unit:"units" range:"[0,)" doc:"units of a GRU behind a shared network; 0 is no recurrence"`
}

// Validate finds settings that do not go together.
func (c *Config) Validate() error {
	if c.Memory == 0 {
		return c.Fits(c.Envs * c.Horizon)
	}
	if c.Minibatches > c.Envs {
		return fmt.Errorf("minibatches: %d minibatches of whole sequences (memory > 0) need at least as many envs, not %d", c.Minibatches, c.Envs)
	}
	return nil
}

// Algorithm describes PPO: its settings, presets and constructor.
var Algorithm = algo.Define("ppo", "proximal policy optimisation", []algo.Preset{
	algo.For("CartPole-v1", 64_000, "solved in seconds: made for wall time", func(c *Config) {
		c.Envs, c.Horizon, c.Minibatches, c.LearningRate, c.Gamma, c.Lambda, c.ClipValue = 16, 64, 8, 2e-3, .98, .9, false
	}).Named("quick"),
	algo.For("CartPole-v1", 500_000, "CleanRL's recipe", func(*Config) {}),
	algo.For("Pendulum-v1", 300_000, "a short horizon of value suits a short swing", func(c *Config) {
		c.Envs, c.Horizon, c.Epochs, c.Minibatches, c.LearningRate = 8, 256, 10, 8, 1e-3
		c.Gamma, c.EntropyCoef, c.ClipValue = .9, 0, false
	}),
	algo.ForKind(env.Control, 500_000, "CleanRL's recipe for classic control", func(*Config) {}),
	algo.ForKind(env.Continuous, 1_000_000, "CleanRL's recipe for MuJoCo", func(c *Config) {
		c.Envs, c.Horizon, c.Epochs, c.Minibatches, c.LearningRate = 1, 2048, 10, 32, 3e-4
		c.EntropyCoef, c.NormalizeObs, c.NormalizeReward = 0, true, true
	}),
	algo.ForKind(env.Images, 10_000_000, "CleanRL's recipe for Atari", func(c *Config) { c.Envs, c.Clip = 8, .1 }),
	algo.For("Identity-v0", 10_000, "solved in a second", func(c *Config) {
		c.Envs, c.Horizon, c.LearningRate = 16, 32, 3e-3
	}),
	algo.For("Memory-v0", 120_000, "needs recurrence", func(c *Config) {
		c.Envs, c.Horizon, c.Minibatches, c.LearningRate, c.Memory, c.Hidden = 64, 16, 2, 3e-3, 32, []int{16}
	}),
}, build)

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Batch(c.Envs)
	if err != nil {
		return nil, err
	}
	if n := e.Spec().Agents; n > 1 {
		return nil, fmt.Errorf("%s has %d agents, and ppo trains one: use mappo", e.Spec().ID, n)
	}
	spec := e.Spec()
	nets, err := nn.NewActorCritic(c.Layers, c.Sharing, spec.Obs, spec.Action)
	if err != nil {
		return nil, err
	}
	n := &net{Config: *c, space: spec.Obs, ActorCritic: nets}
	var zero rl.Tensor
	if c.Memory > 0 {
		n.Cell = nn.GRU{Units: c.Memory}
		zero = nn.NewMemory(s, n.Cell, spec.Rows)
	}
	if c.NormalizeObs {
		n.norm = rl.NewStats(s, "observations", c.ClipObs, nn.Width(spec.Obs))
		n.Space = rl.Box{Dims: []int{nn.Width(spec.Obs)}} // of what is left of observations
	}
	n.params = rl.NewParams(s, "net", n.Init)
	return &Trainer{
		Config:  *c,
		Env:     e,
		Memory:  rl.NewSlots(s, "memory", zero),
		Rollout: replay.NewRollout[Step](s, "rollout"),
		Actor: &Actor{
			act:    rl.NewFunc(s, "act", n.act),
			greedy: rl.NewFunc(s, "greedy", n.greedy),
			value:  rl.NewFunc(s, "value", n.values),
			scope:  s,
			cell:   n.Cell,
		},
		Learner: newLearner(s, n, spec),
	}, nil
}

func newLearner(s *rl.Scope, n *net, spec env.Spec) *Learner {
	c := n.Config
	l := &Learner{
		Config:    c,
		norm:      n.norm,
		opt:       rl.NewOpt(s, "adam", c.Rule(), n.params),
		loss:      rl.NewLoss(s, "loss", n.loss, n.params),
		explained: rl.NewFunc(s, "explained variance", explained),
		features:  rl.NewFunc(s, "features", n.features),
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

func explained(_ *rl.Ctx, in Explained) rl.Tensor {
	return rl.Wrap(nn.ExplainedVariance(in.Value.Node(), in.Return.Node()))
}

// net is the policy and the value function.
type net struct {
	Config
	nn.ActorCritic
	params *rl.Params
	space  rl.Space  // space of observations
	norm   *rl.Stats // statistics of observations; nil without normalisation
}

// seen returns observations as the networks see them.
func (n *net) seen(c *rl.Ctx, obs rl.Obs) rl.Obs {
	if n.norm != nil {
		obs.X = rl.One(rl.Wrap(n.norm.Norm(c, nn.Features(n.space, obs.X))))
	}
	return obs
}

func (n *net) act(c *rl.Ctx, in ActIn) ActOut    { return n.decide(c, in, false) }
func (n *net) greedy(c *rl.Ctx, in ActIn) ActOut { return n.decide(c, in, true) }

func (n *net) decide(c *rl.Ctx, in ActIn, greedy bool) ActOut {
	pi, _, memory := n.Recall(c, c.Scope(n.params), n.seen(c, in.Obs), in.Memory)
	return n.Head.Decide(nn.Choose(c, pi, greedy), pi, memory)
}

func (n *net) values(c *rl.Ctx, in ActIn) rl.Tensor {
	return rl.Wrap(n.Recalled(c, c.Scope(n.params), n.seen(c, in.Obs), in.Memory))
}

func (n *net) features(_ *rl.Ctx, x rl.Tree) rl.Tensor { return rl.Wrap(nn.Features(n.space, x)) }

// loss returns the clipped surrogate, the clipped value loss and the entropy bonus,
// by row.
func (n *net) loss(c *rl.Ctx, s Sample) (loss, weight rl.Tensor, m Metrics) {
	pi, v, _ := n.Recall(c, c.Scope(n.params), n.seen(c, s.In.Obs), s.In.Memory)
	p := nn.Surrogate(pi.LogProb(s.Action), s.LogProb.Node(), s.Adv.Node(), n.Clip)
	value := n.ValueLoss(v, s.Value.Node(), s.Ret.Node(), 0)
	total, metrics := n.Total(p, value, pi.Entropy())
	return total, rl.Tensor{}, Metrics(metrics)
}
