// Package reinforce is the policy gradient by whole returns (Williams, 1992; Sutton and Barto, 13.3
// and 13.4), with a learned baseline or without. Environments step together for a fixed number of
// steps, while episodes begin and end where they do: an update counts the steps whose episode ended
// within the rollout, because only their return is known, and leaves out the others.
package reinforce

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

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
		steps := t.Collect(run)
		t.Learner.Learn(run, steps)
	}
	return run.Err()
}

// Collect steps every environment Horizon times under fixed weights.
func (t *Trainer) Collect(run *rl.Run) Step {
	obs := t.Env.Obs()
	for i := range t.Horizon {
		act := t.Actor.Act(run.Key("act", i), obs)
		out := t.Env.Step(act.Action)
		cut := t.Actor.Value(out.Truncated, out.Final)
		t.Rollout.Insert(Step{obs, act, out.Reward, out.Terminated, out.Over, cut})
		obs = out.Obs
	}
	return t.Rollout.Drain()
}

// Learn makes one update by the steps whose return is known.
func (l *Learner) Learn(run *rl.Run, steps Step) {
	s := l.Judge(steps)
	g, m := l.loss.Grad(run.Key("loss"), s)
	lr := l.Rate.At(run.Progress())
	l.opt.Apply(g, lr)
	run.Log("loss/policy", m.Policy)
	if l.Baseline {
		run.Log("loss/baseline", m.Baseline)
	}
	run.Log("loss/entropy", m.Entropy)
	run.Log("known", s.Known)
	run.Log("learning_rate", rl.Scalar(lr))
}

// Judge computes the returns of a rollout, which of them are known, and how much better than the
// baseline they are.
func (l *Learner) Judge(s Step) Sample {
	// With lambda at 1 the only values that count are those at the end of episodes.
	ret := rl.Lambda(l.Gamma, 1, s.Reward, s.Cut, s.Terminated, s.Over)
	judged := l.judge.Call(rl.Key{}, Episodes{s.Obs, ret, s.Over})
	adv := judged.Adv
	if l.NormalizeReturn {
		adv = rl.Standardise(adv, judged.Known) // crosses rows, so it is no part of the loss
	}
	return Sample{s.Obs, s.Act.Raw, adv, ret, judged.Known}
}

type (
	// ActOut holds an actor's decisions. Raw is the policy's sample, Action that
	// sample clipped to the bounds of the action space.
	ActOut struct{ Action, Raw rl.Tree }
	// Step is one step of every environment. Cut is the baseline of the state that
	// a time limit cut off, 0 without a baseline.
	Step struct {
		Obs                           rl.Obs
		Act                           ActOut
		Reward, Terminated, Over, Cut rl.Tensor
	}
	// Episodes are the steps of a rollout, [env, time, ...], and their returns.
	Episodes struct {
		Obs       rl.Obs
		Ret, Over rl.Tensor
	}
	// Judged is how much better than the baseline returns are, and 1 where the return
	// is known, 0 elsewhere.
	Judged struct{ Adv, Known rl.Tensor }
	// Sample holds the inputs of the loss, [env, time, ...].
	Sample struct {
		Obs             rl.Obs
		Action          rl.Tree
		Adv, Ret, Known rl.Tensor
	}
	// Metrics are reported of every update, by row. Steps that are left out count as 0.
	Metrics struct{ Policy, Baseline, Entropy rl.Tensor }
)

// Actor chooses actions and values states with the current weights.
type Actor struct {
	act    *rl.Func[rl.Obs, ActOut]
	greedy *rl.Func[rl.Obs, ActOut]
	value  *rl.Func[rl.Obs, rl.Tensor]
}

// Act samples an action for every environment.
func (a *Actor) Act(k rl.Key, obs rl.Obs) ActOut { return a.act.Call(k, obs) }

// Value returns the baseline of the states where mask is true, and 0 elsewhere.
func (a *Actor) Value(mask rl.Tensor, obs rl.Obs) rl.Tensor { return a.value.Rows(mask, rl.Key{}, obs) }

// Learner improves the weights.
type Learner struct {
	Config
	opt   *rl.Opt
	judge *rl.Func[Episodes, Judged]
	loss  *rl.Loss[Sample, Metrics]
}

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	return rl.NewAgent(t.Actor.act, t.Actor.greedy, func(a ActOut) rl.Tree { return a.Action })
}

// Config is REINFORCE's settings.
type Config struct {
	Envs    int `default:"8" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	Horizon int `default:"512" unit:"steps" range:"[1,)" doc:"steps that every environment takes in an iteration, all of them one gradient; longer than most episodes, or little is learned from"`

	nn.Rate     `defaults:"learning_rate=1e-2 anneal=linear"`
	AdamEps     float64 `default:"1e-8" range:"(0,)" doc:"Adam's term for numerical stability"`
	MaxGradNorm float64 `default:"0" range:"[0,)" doc:"norm over all parameters to which gradients are clipped; 0 is no bound"`

	Gamma           float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	Baseline        bool    `default:"true" doc:"learn what states are worth, subtract it from returns, and let it stand for what a time limit cuts off"`
	BaselineCoef    float64 `default:"0.5" range:"[0,)" doc:"weight of the baseline's squared error"`
	EntropyCoef     float64 `default:"0" range:"[0,)" doc:"weight of the entropy bonus"`
	NormalizeReturn bool    `default:"true" doc:"standardise returns, less the baseline, in every update"`

	nn.Layers
	nn.Sharing
}

// Algorithm describes REINFORCE: its settings, presets and constructor.
var Algorithm = algo.Define("reinforce", "policy gradient by whole returns, with a baseline or without", []algo.Preset{
	algo.For("CartPole-v1", 400_000, "one gradient of 4,096 steps at a time", func(*Config) {}),
	algo.For("CartPole-v1", 400_000, "returns alone", func(c *Config) { c.Baseline = false }).Named("plain"),
	algo.ForKind(env.Control, 1_000_000, "as for CartPole-v1", func(*Config) {}),
	algo.ForKind(env.Continuous, 3_000_000, "long rollouts, a smaller step size", func(c *Config) {
		c.Envs, c.Horizon, c.LearningRate = 2, 1024, 1e-3
	}),
	algo.For("Identity-v0", 40_000, "solved in a second", func(c *Config) { c.Envs, c.Horizon = 16, 32 }),
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
	n.params = rl.NewParams(s, "net", n.init)
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
			opt:    rl.NewOpt(s, "adam", nn.ClipNorm{Max: c.MaxGradNorm, Rule: nn.Adam{Eps: c.AdamEps}}, n.params),
			judge:  rl.NewFunc(s, "judge", n.judge),
			loss:   rl.NewLoss(s, "loss", n.loss, n.params),
		},
	}, nil
}

// net is the policy and the baseline.
type net struct {
	Config
	nn.ActorCritic
	params *rl.Params
}

// init makes the parameters, of the baseline only where there is one.
func (n *net) init(c *rl.Ctx, sc *model.Scope) {
	if n.Baseline {
		n.Init(c, sc)
		return
	}
	n.Policy(c, sc, rl.Obs{X: nn.Blank(c, n.Space)}).Mode()
}

func (n *net) act(c *rl.Ctx, obs rl.Obs) ActOut    { return n.decide(c, obs, false) }
func (n *net) greedy(c *rl.Ctx, obs rl.Obs) ActOut { return n.decide(c, obs, true) }

func (n *net) decide(c *rl.Ctx, obs rl.Obs, greedy bool) ActOut {
	raw := nn.Choose(c, n.Policy(c, c.Scope(n.params), obs), greedy)
	return ActOut{Action: n.Head.Clip(raw), Raw: raw}
}

// values returns what states are worth; without a baseline nothing.
func (n *net) values(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	if !n.Baseline {
		rows := obs.X.At(0).Node().Shape().Dimensions[0]
		return rl.Wrap(Zeros(c.Graph(), shapes.Make(dtypes.Float32, rows)))
	}
	return rl.Wrap(n.Value(c, c.Scope(n.params), obs))
}

// judge compares returns with the baseline. The return of a step is known if its episode ended
// within the rollout, at that step or later.
func (n *net) judge(c *rl.Ctx, e Episodes) Judged {
	adv := e.Ret.Node()
	if n.Baseline {
		adv = Sub(adv, n.Value(c, c.Scope(n.params), e.Obs))
	}
	over := e.Over.Node()
	time := Iota(c.Graph(), shapes.Make(dtypes.Int32, over.Shape().Dimensions...), 1)
	last := ReduceAndKeep(Where(over, time, MulScalar(OnesLike(time), -1)), ReduceMax, 1) // -1 where none ended
	known := ConvertDType(LessOrEqual(time, last), dtypes.Float32)
	return Judged{rl.Wrap(adv), rl.Wrap(known)}
}

// loss returns the policy gradient, the squared error of the baseline and the entropy bonus, by
// row; the weight of a row is whether its return is known.
func (n *net) loss(c *rl.Ctx, s Sample) (loss, weight rl.Tensor, m Metrics) {
	known := s.Known.Node()
	pi := n.Policy(c, c.Scope(n.params), s.Obs)
	policy := Neg(Mul(pi.LogProb(s.Action), s.Adv.Node()))
	entropy := pi.Entropy()
	total := Sub(policy, MulScalar(entropy, n.EntropyCoef))
	if n.Baseline {
		baseline := Square(Sub(n.Value(c, c.Scope(n.params), s.Obs), s.Ret.Node()))
		total = Add(total, MulScalar(baseline, n.BaselineCoef))
		m.Baseline = rl.Wrap(Mul(baseline, known))
	}
	m.Policy, m.Entropy = rl.Wrap(Mul(policy, known)), rl.Wrap(Mul(entropy, known))
	return rl.Wrap(total), s.Known, m
}
