// Package ac is the one-step actor-critic (Sutton and Barto, 13.5): after every step the critic
// moves by its temporal-difference error, and the policy towards the action if that error was
// positive. Environments step together, and each step of all of them is one update.
package ac

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// Trainer takes a step with its Actor and learns from it with its Learner.
type Trainer struct {
	Config
	Env     env.Batch
	Actor   *Actor
	Learner *Learner
}

// Train runs the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		act := t.Actor.Act(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		t.Learner.Learn(run, Step{obs, act.Raw, out.Reward, out.Final, out.Terminated})
	}
	return run.Err()
}

// Learn makes one update by a step of every environment.
func (l *Learner) Learn(run *rl.Run, s Step) {
	g, m := l.loss.Grad(run.Key("loss"), s)
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
	ActOut struct{ Action, Raw rl.Tree }
	// Step is one step of every environment. Next is where it led, before any reset.
	Step struct {
		Obs        rl.Obs
		Action     rl.Tree
		Reward     rl.Tensor
		Next       rl.Obs
		Terminated rl.Tensor
	}
	// Metrics are reported of every update, by row.
	Metrics struct{ Policy, Value, Entropy rl.Tensor }
)

// Actor chooses actions.
type Actor struct{ act, greedy *rl.Func[rl.Obs, ActOut] }

// Act samples an action for every environment.
func (a *Actor) Act(k rl.Key, obs rl.Obs) ActOut { return a.act.Call(k, obs) }

// Learner improves the weights.
type Learner struct {
	Config
	opt   *rl.Opt
	loss  *rl.Loss[Step, Metrics]
	value *rl.Func[rl.Obs, rl.Tensor]
}

// Value returns what states are worth.
func (l *Learner) Value(obs rl.Obs) rl.Tensor { return l.value.Call(rl.Key{}, obs) }

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	return rl.NewAgent(t.Actor.act, t.Actor.greedy, func(a ActOut) rl.Tree { return a.Action })
}

// Config is the settings of the one-step actor-critic.
type Config struct {
	Envs int `default:"16" unit:"environments" range:"[1,)" doc:"environments stepped together; a step of all of them is one update"`

	nn.Rate     `defaults:"learning_rate=1e-3 anneal=linear"`
	AdamEps     float64 `default:"1e-5" range:"(0,)" doc:"Adam's term for numerical stability"`
	MaxGradNorm float64 `default:"0.5" range:"[0,)" doc:"norm over all parameters to which gradients are clipped; 0 is no bound"`

	Gamma    float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	nn.Terms `defaults:"entropy_coef=0"`

	nn.Layers
	nn.Sharing
}

// Algorithm describes the one-step actor-critic: its settings, presets and constructor.
var Algorithm = algo.Define("ac", "one-step actor-critic: an update after every step", []algo.Preset{
	algo.For("CartPole-v1", 500_000, "16 environments", func(*Config) {}),
	algo.ForKind(env.Control, 500_000, "as for CartPole-v1, with an entropy bonus", func(c *Config) { c.EntropyCoef = .01 }),
	algo.ForKind(env.Continuous, 1_000_000, "a smaller step size", func(c *Config) { c.LearningRate = 3e-4 }),
	algo.For("Identity-v0", 40_000, "solved in seconds", func(c *Config) { c.LearningRate = 3e-3 }),
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
	nets, err := nn.NewActorCritic(c.Layers, c.Sharing, spec.Obs, spec.Action)
	if err != nil {
		return nil, err
	}
	n := &net{Config: *c, ActorCritic: nets}
	n.params = rl.NewParams(s, "net", n.Init)
	return &Trainer{
		Config: *c,
		Env:    e,
		Actor:  &Actor{act: rl.NewFunc(s, "act", n.act), greedy: rl.NewFunc(s, "greedy", n.greedy)},
		Learner: &Learner{
			Config: *c,
			opt:    rl.NewOpt(s, "adam", nn.ClipNorm{Max: c.MaxGradNorm, Rule: nn.Adam{Eps: c.AdamEps}}, n.params),
			loss:   rl.NewLoss(s, "loss", n.loss, n.params),
			value:  rl.NewFunc(s, "value", n.values),
		},
	}, nil
}

// net is the policy and the critic.
type net struct {
	Config
	nn.ActorCritic
	params *rl.Params
}

func (n *net) act(c *rl.Ctx, obs rl.Obs) ActOut    { return n.decide(c, obs, false) }
func (n *net) greedy(c *rl.Ctx, obs rl.Obs) ActOut { return n.decide(c, obs, true) }

func (n *net) decide(c *rl.Ctx, obs rl.Obs, greedy bool) ActOut {
	raw := nn.Choose(c, n.Policy(c, c.Scope(n.params), obs), greedy)
	return ActOut{Action: n.Head.Clip(raw), Raw: raw}
}

func (n *net) values(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	return rl.Wrap(n.Value(c, c.Scope(n.params), obs))
}

// loss returns the squared temporal-difference error of the critic, the policy gradient by that
// error and the entropy bonus, by row. A state that a time limit cut off is worth what the critic
// says, one that ended the episode nothing.
func (n *net) loss(c *rl.Ctx, s Step) (loss, weight rl.Tensor, m Metrics) {
	pi, v := n.Apply(c, c.Scope(n.params), s.Obs)
	open := OneMinus(ConvertDType(s.Terminated.Node(), dtypes.Float32))
	next := Mul(MulScalar(open, n.Gamma), n.Value(c, c.Scope(n.params), s.Next))
	td := Sub(StopGradient(Add(s.Reward.Node(), next)), v)
	value := Square(td)
	policy := Neg(Mul(pi.LogProb(s.Action), StopGradient(td)))
	entropy := pi.Entropy()
	return n.Sum(policy, value, entropy), rl.Tensor{}, Metrics{rl.Wrap(policy), rl.Wrap(value), rl.Wrap(entropy)}
}
