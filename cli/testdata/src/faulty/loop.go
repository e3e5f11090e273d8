// Package faulty is a loop whose programs were generated and then given faults, each
// of which Fault turns on. Without one they are as weft generate writes them.
package faulty

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Config is its settings.
type Config struct {
	Envs         int     `default:"8" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	Horizon      int     `default:"64" unit:"steps" range:"[1,)" doc:"steps of an iteration; beyond them the baseline stands for the rest of the return"`
	LearningRate float64 `default:"3e-3" range:"(0,)" doc:"Adam's step size"`
	Gamma        float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	Hidden       []int   `default:"64" unit:"units" range:"[1,)" doc:"hidden layers of the policy's and of the baseline's network"`
}

// Algorithm is the loop for whoever runs it.
var Algorithm = algo.Define("faulty", "REINFORCE with a learned baseline, and with faults", []algo.Preset{
	{Name: "default", Env: "CartPole-v1", Doc: "a minute of balancing", Steps: 200_000},
}, build)

// Trainer steps environments and learns from whole stretches of them.
type Trainer struct {
	Config
	Env     env.Batch
	Rollout *replay.Rollout[Step]
	Actor   *rl.Func[rl.Obs, Act]
	Value   *rl.Func[rl.Obs, rl.Tensor]
	Loss    *rl.Loss[Sample, Metrics]
	Opt     *rl.Opt
	greedy  *rl.Func[rl.Obs, Act]
}

// Train is the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		for i := range t.Horizon {
			act := t.Actor.Call(drawn(run, i), obs)
			out := t.Env.Step(act.Action)
			cut := t.Value.Rows(out.Truncated, rl.Key{}, out.Final)
			t.Rollout.Insert(Step{obs, act, out.Reward, out.Terminated, out.Truncated, out.Over, cut})
			obs = out.Obs
		}
		last := t.Value.Call(rl.Key{}, obs)
		s := t.Rollout.Drain()
		next := rl.Select(s.Truncated, s.Cut, rl.Shift(s.Act.Value, last))
		// With lambda at 1 this is the whole return, less the baseline.
		adv, ret := rl.GAE(t.Gamma, 1, s.Reward, s.Act.Value, next, s.Terminated, s.Over)
		g, m := t.Loss.Grad(run.Key("loss"), Sample{s.Obs, s.Act.Action, rl.Standardise(adv, rl.Tensor{}), ret})
		t.Opt.Apply(g, t.LearningRate)
		run.Log("loss/policy", m.Policy)
		run.Log("loss/baseline", m.Baseline)
	}
	return run.Err()
}

type (
	// Act is an action and the baseline of the state that it was chosen in.
	Act struct {
		Action rl.Tree
		Value  rl.Tensor
	}
	// Step is one step of every environment. Cut is the baseline of a state that a
	// truncation cut off.
	Step struct {
		Obs                                      rl.Obs
		Act                                      Act
		Reward, Terminated, Truncated, Over, Cut rl.Tensor
	}
	// Sample is what the loss needs, [env, time, ...].
	Sample struct {
		Obs      rl.Obs
		Action   rl.Tree
		Adv, Ret rl.Tensor
	}
	// Metrics are reported of every update, by row.
	Metrics struct{ Policy, Baseline rl.Tensor }
)

// net is the policy and the baseline.
type net struct {
	nn.ActorCritic
	params *rl.Params
}

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Batch(c.Envs)
	if err != nil {
		return nil, err
	}
	tanh, err := nn.ActivationNamed("tanh")
	if err != nil {
		return nil, err
	}
	spec := e.Spec()
	n := &net{ActorCritic: nn.ActorCritic{Torso: nn.Torso{Space: spec.Obs, Hidden: c.Hidden, Act: tanh}, Head: nn.NewHead(spec.Action)}}
	n.params = rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) {
		pi, _ := n.Apply(c, sc, rl.Obs{X: nn.Blank(c, spec.Obs)})
		pi.Mode()
	})
	return &Trainer{
		Config: *c, Env: e, Rollout: replay.NewRollout[Step](s, "rollout"),
		Actor:  rl.NewFunc(s, "act", n.act),
		Value:  rl.NewFunc(s, "value", n.value),
		Loss:   rl.NewLoss(s, "loss", n.loss, n.params),
		Opt:    rl.NewOpt(s, "adam", nn.ClipNorm{Max: 0.5, Rule: nn.Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}}, n.params),
		greedy: rl.NewFunc(s, "greedy", n.greedy),
	}, nil
}

func (n *net) act(c *rl.Ctx, obs rl.Obs) Act {
	pi, v := n.Apply(c, c.Scope(n.params), obs)
	return Act{pi.Sample(c, "action"), rl.Wrap(v)}
}

func (n *net) greedy(c *rl.Ctx, obs rl.Obs) Act {
	pi, v := n.Apply(c, c.Scope(n.params), obs)
	return Act{pi.Mode(), rl.Wrap(v)}
}

func (n *net) value(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	return rl.Wrap(n.Value(c, c.Scope(n.params), obs))
}

func (n *net) loss(c *rl.Ctx, s Sample) (loss, weight rl.Tensor, m Metrics) {
	pi, v := n.Apply(c, c.Scope(n.params), s.Obs)
	policy := Neg(Mul(pi.LogProb(s.Action), s.Adv.Node()))
	baseline := Square(Sub(v, s.Ret.Node()))
	return rl.Wrap(Add(policy, baseline)), rl.Tensor{}, Metrics{rl.Wrap(policy), rl.Wrap(baseline)}
}

// Agent is the trained policy.
func (t *Trainer) Agent() rl.Agent { return agent{t} }

type agent struct{ t *Trainer }

func (a agent) Memory(int) rl.Tree { return rl.Tree{} }

func (a agent) Act(k rl.Key, obs rl.Obs, _ rl.Tree, greedy bool) (action, next rl.Tree) {
	f := a.t.Actor
	if greedy {
		f = a.t.greedy
	}
	return f.Call(k, obs).Action, rl.Tree{}
}
