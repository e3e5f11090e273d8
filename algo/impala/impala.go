// Package impala is the actor-critic of IMPALA (Espeholt et al., 2018): actors
// write down how likely their actions were, and V-trace corrects for the learner's
// weights being newer than those that acted. In the plain loop they are the same,
// and V-trace is the n-step return; run asynchronously the loop is IMPALA.
package impala

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer collects rollouts with its Actor and learns from each once.
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

// Collect steps every environment Horizon times.
func (t *Trainer) Collect(run *rl.Run) Batch {
	obs := t.Env.Obs()
	for i := range t.Horizon {
		act := t.Actor.Act(run.Key("act", i), obs)
		out := t.Env.Step(act.Action)
		cut := t.Actor.Value(out.Truncated, out.Final)
		t.Rollout.Insert(Step{obs, act, out.Reward, out.Terminated, out.Truncated, out.Over, cut})
		obs = out.Obs
	}
	return Batch{t.Rollout.Drain(), obs}
}

// Learn makes one update of the whole batch. Values are those of the learner's own
// weights, so V-trace is part of the loss.
func (l *Learner) Learn(run *rl.Run, b Batch) {
	g, m := l.loss.Grad(run.Key("loss"), b)
	lr := l.Rate.At(run.Progress())
	l.opt.Apply(g, lr)
	run.Log("loss/policy", m.Policy)
	run.Log("loss/value", m.Value)
	run.Log("loss/entropy", m.Entropy)
	run.Log("ratio", m.Ratio)
	run.Log("learning_rate", rl.Scalar(lr))
}

type (
	// ActOut holds an actor's decisions and their log-probability. Raw is the policy's
	// sample, Action that sample clipped to the bounds of the action space.
	ActOut struct {
		Action, Raw rl.Tree
		LogProb     rl.Tensor
	}
	// Step is one step of every environment. Cut is the actor's value of the state
	// that a truncation cut off.
	Step struct {
		Obs                                      rl.Obs
		Act                                      ActOut
		Reward, Terminated, Truncated, Over, Cut rl.Tensor
	}
	// Batch holds the steps of one iteration, and the observations after them.
	Batch struct {
		Steps Step // [env, time, ...]
		Last  rl.Obs
	}
	// Metrics are reported of every update, by row. Ratio is how much likelier
	// actions are under the learner's weights than they were.
	Metrics struct{ Policy, Value, Entropy, Ratio rl.Tensor }
)

// Actor chooses actions.
type Actor struct {
	act    *rl.Func[rl.Obs, ActOut]
	greedy *rl.Func[rl.Obs, ActOut]
	value  *rl.Func[rl.Obs, rl.Tensor]
}

// Act samples an action for every environment.
func (a *Actor) Act(k rl.Key, obs rl.Obs) ActOut { return a.act.Call(k, obs) }

// Value returns the value of the states where mask is true, and 0 elsewhere.
func (a *Actor) Value(mask rl.Tensor, obs rl.Obs) rl.Tensor { return a.value.Rows(mask, rl.Key{}, obs) }

// Learner improves the weights.
type Learner struct {
	Config
	opt  *rl.Opt
	loss *rl.Loss[Batch, Metrics]
}

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	return rl.NewAgent(t.Actor.act, t.Actor.greedy, func(a ActOut) rl.Tree { return a.Action })
}

// Config is IMPALA's settings.
type Config struct {
	Envs    int `default:"8" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	Horizon int `default:"20" unit:"steps" range:"[1,)" doc:"steps that every environment takes in an iteration, all of them one gradient"`

	nn.Rate `defaults:"learning_rate=3e-3 anneal=linear"`
	nn.RMS  `defaults:"rms_eps=1e-2"`

	Gamma  float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	Lambda float64 `default:"1" range:"[0,1]" doc:"weight of longer traces"`
	Rho    float64 `default:"1" range:"(0,)" doc:"upper bound of the importance ratios in the value targets (rho)"`
	Trace  float64 `default:"1" range:"(0,)" doc:"upper bound of the importance ratios in the traces (c)"`
	nn.Terms

	nn.Layers
	nn.Sharing
}

// Algorithm describes IMPALA: its settings, presets and constructor.
var Algorithm = algo.Define("impala", "actor-critic with V-trace corrections", []algo.Preset{
	algo.For("CartPole-v1", 1_000_000, "no entropy bonus, so that the policy ends sure of itself", func(c *Config) { c.EntropyCoef = 0 }),
	algo.ForKind(env.Control, 1_000_000, "rollouts of 20 steps", func(*Config) {}),
	algo.ForKind(env.Continuous, 1_000_000, "no entropy bonus", func(c *Config) { c.EntropyCoef = 0 }),
	algo.ForKind(env.Images, 10_000_000, "more environments for a longer batch", func(c *Config) { c.Envs = 32 }),
	algo.For("Identity-v0", 40_000, "solved in a second", func(c *Config) {
		c.Envs, c.Horizon, c.LearningRate = 16, 8, 3e-3
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
	pi, _ := n.Apply(c, c.Scope(n.params), obs)
	raw := nn.Choose(c, pi, greedy)
	return ActOut{Action: n.Head.Clip(raw), Raw: raw, LogProb: rl.Wrap(pi.LogProb(raw))}
}

func (n *net) values(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	return rl.Wrap(n.Value(c, c.Scope(n.params), obs))
}

// loss returns the policy gradient by V-trace's advantages, the squared error
// against its targets and the entropy bonus, by row. Targets and advantages are
// numbers to be learnt from: no gradient flows through them.
func (n *net) loss(c *rl.Ctx, b Batch) (loss, weight rl.Tensor, m Metrics) {
	s, sc := b.Steps, c.Scope(n.params)
	pi, v := n.Apply(c, sc, s.Obs)
	logp := pi.LogProb(s.Act.Raw)
	logRatio := fixed(Sub(logp, s.Act.LogProb.Node()))
	values := fixed(v)
	next := rl.Select(s.Truncated, s.Cut, rl.Shift(values, fixed(n.Value(c, sc, b.Last))))
	target, adv := rl.VTrace(n.Gamma, n.Lambda, n.Rho, n.Trace, logRatio, s.Reward, values, next, s.Terminated, s.Over)

	policy := Neg(Mul(logp, adv.Node()))
	value := Square(Sub(v, target.Node()))
	entropy := pi.Entropy()
	return n.Sum(policy, value, entropy), rl.Tensor{}, Metrics{
		Policy: rl.Wrap(policy), Value: rl.Wrap(value), Entropy: rl.Wrap(entropy), Ratio: rl.Wrap(Exp(logRatio.Node())),
	}
}

func fixed(x *Node) rl.Tensor { return rl.Wrap(StopGradient(x)) }
