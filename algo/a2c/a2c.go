// Package a2c is the synchronous advantage actor-critic: every environment takes
// a few steps under fixed weights, and the whole of them is one gradient (Mnih et
// al., 2016, without its asynchrony). Where replicas apply their gradients as
// they arrive, this same loop is A3C.
package a2c

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer collects short rollouts with its Actor and learns from each once.
type Trainer struct {
	Config
	Env     env.Batch
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
	obs := t.Env.Obs()
	for i := range t.Horizon {
		act := t.Actor.Act(run.Key("act", i), obs)
		out := t.Env.Step(act.Action)
		cut := t.Actor.Value(out.Truncated, out.Final)
		t.Rollout.Insert(Step{obs, act, out.Reward, out.Terminated, out.Truncated, out.Over, cut})
		obs = out.Obs
	}
	return Batch{t.Rollout.Drain(), t.Actor.Last(obs)}
}

// Learn makes one update of the whole batch.
func (l *Learner) Learn(run *rl.Run, b Batch) {
	s := b.Steps
	next := rl.Select(s.Truncated, s.Cut, rl.Shift(s.Act.Value, b.Last))
	adv, ret := rl.GAE(l.Gamma, l.Lambda, s.Reward, s.Act.Value, next, s.Terminated, s.Over)
	if l.NormalizeAdvantage {
		adv = rl.Standardise(adv, rl.Tensor{}) // crosses rows, so it is no part of the loss
	}
	g, m := l.loss.Grad(run.Key("loss"), Sample{s.Obs, s.Act.Raw, adv, ret})
	lr := l.Rate.At(run.Progress())
	l.opt.Apply(g, lr)
	run.Log("loss/policy", m.Policy)
	run.Log("loss/value", m.Value)
	run.Log("loss/entropy", m.Entropy)
	run.Log("learning_rate", rl.Scalar(lr))
}

type (
	// ActOut holds an actor's decisions. Raw is the policy's sample, Action that
	// sample clipped to the bounds of the action space.
	ActOut struct {
		Action, Raw rl.Tree
		Value       rl.Tensor
	}
	// Step is one step of every environment. Cut is the value of the state that a
	// truncation cut off.
	Step struct {
		Obs                                      rl.Obs
		Act                                      ActOut
		Reward, Terminated, Truncated, Over, Cut rl.Tensor
	}
	// Batch holds the steps of one iteration, and the value of the states after them.
	Batch struct {
		Steps Step // [env, time, ...]
		Last  rl.Tensor
	}
	// Sample holds the inputs of the loss, [env, time, ...].
	Sample struct {
		Obs      rl.Obs
		Action   rl.Tree
		Adv, Ret rl.Tensor
	}
	// Metrics are reported of every update, by row.
	Metrics struct{ Policy, Value, Entropy rl.Tensor }
)

// Actor chooses actions and values states with the current weights.
type Actor struct {
	act    *rl.Func[rl.Obs, ActOut]
	greedy *rl.Func[rl.Obs, ActOut]
	value  *rl.Func[rl.Obs, rl.Tensor]
}

// Act samples an action for every environment.
func (a *Actor) Act(k rl.Key, obs rl.Obs) ActOut { return a.act.Call(k, obs) }

// Value returns the value of the states where mask is true, and 0 elsewhere.
func (a *Actor) Value(mask rl.Tensor, obs rl.Obs) rl.Tensor { return a.value.Rows(mask, rl.Key{}, obs) }

// Last returns the value of every state.
func (a *Actor) Last(obs rl.Obs) rl.Tensor { return a.value.Call(rl.Key{}, obs) }

// Learner improves the weights.
type Learner struct {
	Config
	opt  *rl.Opt
	loss *rl.Loss[Sample, Metrics]
}

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	return rl.NewAgent(t.Actor.act, t.Actor.greedy, func(a ActOut) rl.Tree { return a.Action })
}

// Config is A2C's settings.
type Config struct {
	Envs    int `default:"8" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	Horizon int `default:"5" unit:"steps" range:"[1,)" doc:"steps that every environment takes in an iteration, all of them one gradient"`

	nn.Rate `defaults:"learning_rate=7e-4 anneal=linear"`
	nn.RMS

	Gamma  float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	Lambda float64 `default:"1" range:"[0,1]" doc:"weight of longer advantage estimates; 1 is the return of all steps of the rollout"`
	nn.Terms
	NormalizeAdvantage bool `default:"false" doc:"standardise advantages in every update"`

	nn.Layers
	nn.Sharing
}

// Algorithm describes A2C: its settings, presets and constructor.
var Algorithm = algo.Define("a2c", "synchronous advantage actor-critic", []algo.Preset{
	algo.For("CartPole-v1", 500_000, "no entropy bonus, so that the policy ends sure of itself", func(c *Config) { c.EntropyCoef = 0 }),
	algo.ForKind(env.Control, 500_000, "the published recipe", func(*Config) {}),
	algo.ForKind(env.Continuous, 1_000_000, "no entropy bonus", func(c *Config) { c.EntropyCoef = 0 }),
	algo.ForKind(env.Images, 10_000_000, "the published recipe for Atari", func(c *Config) { c.Envs = 16 }),
	algo.For("Identity-v0", 20_000, "solved in a second", func(c *Config) {
		c.Envs, c.LearningRate = 16, 3e-3
	}),
}, build)

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Batch(c.Envs)
	if err != nil {
		return nil, err
	}
	spec := e.Spec()
	nets, err := nn.NewActorCritic(c.Layers, c.Sharing, spec.Obs, spec.Action)
	if err != nil {
		return nil, err
	}
	n := &net{Config: *c, ActorCritic: nets}
	n.params = rl.NewParams(s, "net", n.Init)
	return &Trainer{
		Config:  *c,
		Env:     e,
		Rollout: replay.NewRollout[Step](s, "rollout"),
		Actor: &Actor{
			act:    rl.NewFunc(s, "act", n.act),
			greedy: rl.NewFunc(s, "greedy", n.greedy),
			value:  rl.NewFunc(s, "value", n.values),
		},
		Learner: &Learner{
			Config: *c,
			opt:    rl.NewOpt(s, "rmsprop", c.Rule(), n.params),
			loss:   rl.NewLoss(s, "loss", n.loss, n.params),
		},
	}, nil
}

// net is the policy and the value function.
type net struct {
	Config
	nn.ActorCritic
	params *rl.Params
}

func (n *net) act(c *rl.Ctx, obs rl.Obs) ActOut    { return n.decide(c, obs, false) }
func (n *net) greedy(c *rl.Ctx, obs rl.Obs) ActOut { return n.decide(c, obs, true) }

func (n *net) decide(c *rl.Ctx, obs rl.Obs, greedy bool) ActOut {
	pi, v := n.Apply(c, c.Scope(n.params), obs)
	raw := nn.Choose(c, pi, greedy)
	return ActOut{Action: n.Head.Clip(raw), Raw: raw, Value: rl.Wrap(v)}
}

func (n *net) values(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	return rl.Wrap(n.Value(c, c.Scope(n.params), obs))
}

// loss returns the policy gradient, the squared error of values and the entropy
// bonus, by row.
func (n *net) loss(c *rl.Ctx, s Sample) (loss, weight rl.Tensor, m Metrics) {
	pi, v := n.Apply(c, c.Scope(n.params), s.Obs)
	policy := Neg(Mul(pi.LogProb(s.Action), s.Adv.Node()))
	value := Square(Sub(v, s.Ret.Node()))
	entropy := pi.Entropy()
	return n.Sum(policy, value, entropy), rl.Tensor{}, Metrics{rl.Wrap(policy), rl.Wrap(value), rl.Wrap(entropy)}
}
