package ppo

import (
	"errors"
	"fmt"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Config is PPO's settings. The defaults are CleanRL's for classic control.
type Config struct {
	Envs        int `default:"4" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	Horizon     int `default:"128" unit:"steps" range:"[1,)" doc:"steps that every environment takes in an iteration"`
	Epochs      int `default:"4" unit:"passes" range:"[1,)" doc:"passes over what an iteration collected"`
	Minibatches int `default:"4" unit:"minibatches" range:"[1,)" doc:"minibatches of a pass"`

	LearningRate float64 `default:"2.5e-4" range:"(0,)" doc:"Adam's step size at the start"`
	Anneal       string  `default:"linear" oneof:"linear constant" doc:"how the step size goes on: linearly to 0 at the end of the budget, or not"`
	AdamEps      float64 `default:"1e-5" range:"(0,)" doc:"Adam's term for numerical stability"`
	MaxGradNorm  float64 `default:"0.5" range:"(0,)" doc:"norm over all parameters to which gradients are clipped"`

	Gamma       float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	Lambda      float64 `default:"0.95" range:"[0,1]" doc:"weight of longer advantage estimates"`
	Clip        float64 `default:"0.2" range:"(0,)" doc:"how far the probability ratio may move from 1"`
	ClipValue   bool    `default:"true" doc:"clip the value loss likewise"`
	ValueCoef   float64 `default:"0.5" range:"[0,)" doc:"weight of the value loss"`
	EntropyCoef float64 `default:"0.01" range:"[0,)" doc:"weight of the entropy bonus"`
	TargetKL    float64 `default:"0" range:"[0,)" doc:"end an iteration's passes when the policy has moved this far; 0 is never"`

	NormalizeAdvantage bool    `default:"true" doc:"standardise advantages in every minibatch"`
	NormalizeObs       bool    `default:"false" doc:"standardise observations by running statistics"`
	NormalizeReward    bool    `default:"false" doc:"divide rewards by the deviation of running discounted returns"`
	ClipObs            float64 `default:"10" range:"(0,)" doc:"bound of standardised observations and rewards"`

	Hidden     []int  `default:"64,64" unit:"units" range:"[1,)" doc:"hidden layers of the policy's and of the value's network"`
	Activation string `default:"tanh" oneof:"tanh relu silu gelu" doc:"activation of the hidden layers"`
	Shared     bool   `default:"false" doc:"one network for policy and value, but for the last layer"`
	Memory     int    `default:"0" unit:"units" range:"[0,)" doc:"size of a GRU behind a shared network; 0 is no recurrence"`
}

// Validate finds settings that do not go together.
func (c *Config) Validate() error {
	var errs []error
	if rows := c.Envs * c.Horizon; c.Memory == 0 && c.Minibatches > rows {
		errs = append(errs, fmt.Errorf("minibatches: %d are more than the %d steps of an iteration (envs x horizon)", c.Minibatches, rows))
	}
	if c.Memory > 0 && c.Minibatches > c.Envs {
		errs = append(errs, fmt.Errorf("minibatches: with memory they are made of whole sequences, so %d need at least as many envs, not %d", c.Minibatches, c.Envs))
	}
	return errors.Join(errs...)
}

// Algorithm is PPO for whoever runs it.
var Algorithm = algo.Define("ppo", "proximal policy optimisation", presets, build)

var presets = []algo.Preset{
	{
		Name: "quick", Env: "CartPole-v1", Doc: "solved in seconds: made for wall time", Steps: 64_000,
		Set: []string{"envs=16", "horizon=64", "epochs=4", "minibatches=8", "learning_rate=2e-3", "gamma=0.98", "lambda=0.9", "clip_value=false"},
	},
	{Name: "default", Env: "CartPole-v1", Doc: "CleanRL's recipe", Steps: 500_000},
	{Name: "default", Env: "Acrobot-v1", Doc: "CleanRL's recipe", Steps: 500_000},
	{
		Name: "default", Env: "Pendulum-v1", Doc: "a short horizon of value suits a short swing", Steps: 300_000,
		Set: []string{"envs=8", "horizon=256", "epochs=10", "minibatches=8", "learning_rate=1e-3", "gamma=0.9", "entropy_coef=0", "clip_value=false"},
	},
	{
		Name: "default", Env: "HalfCheetah-v5", Doc: "CleanRL's recipe for MuJoCo", Steps: 1_000_000,
		Set: []string{"envs=1", "horizon=2048", "epochs=10", "minibatches=32", "learning_rate=3e-4", "entropy_coef=0", "normalize_obs=true", "normalize_reward=true"},
	},
	{
		Name: "default", Env: "Identity-v0", Doc: "solved in a second", Steps: 10_000,
		Set: []string{"envs=16", "horizon=32", "learning_rate=3e-3"},
	},
	{
		Name: "default", Env: "Memory-v0", Doc: "needs recurrence", Steps: 120_000,
		Set: []string{"envs=64", "horizon=16", "minibatches=2", "learning_rate=3e-3", "memory=32", "hidden=16"},
	},
}

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Batch(c.Envs)
	if err != nil {
		return nil, err
	}
	if n := e.Spec().Agents; n > 1 {
		return nil, fmt.Errorf("%s has %d agents, this algorithm trains one: use one for several", e.Spec().ID, n)
	}
	net, err := newNet(s, *c, e.Spec())
	if err != nil {
		return nil, err
	}
	var zero rl.Tensor
	if net.cell != nil {
		zero = nn.NewMemory(s, net.cell, e.Spec().Rows)
	}
	return &Trainer{
		Config:  *c,
		Env:     e,
		Memory:  rl.NewSlots(s, "memory", zero),
		Rollout: replay.NewRollout[Step](s, "rollout"),
		Actor:   newActor(s, net),
		Learner: newLearner(s, net),
	}, nil
}

func newActor(s *rl.Scope, net *Net) *Actor {
	return &Actor{
		net:    net,
		act:    rl.NewFunc(s, "act", net.actGraph),
		greedy: rl.NewFunc(s, "greedy", net.greedyGraph),
		value:  rl.NewFunc(s, "value", net.valueGraph),
	}
}

func newLearner(s *rl.Scope, net *Net) *Learner {
	c := net.Config
	l := &Learner{
		Config:    c,
		net:       net,
		opt:       rl.NewOpt(s, "adam", nn.ClipNorm{Max: c.MaxGradNorm, Rule: nn.Adam{Eps: c.AdamEps}}, net.params),
		loss:      rl.NewLoss(s, "loss", net.lossGraph, net.params),
		explained: rl.NewFunc(s, "explained variance", explainedGraph),
		features:  rl.NewFunc(s, "features", net.featuresGraph),
	}
	if c.NormalizeReward {
		l.returns = nn.NewReturns(s, "returns", net.spec.Rows, c.Gamma, c.ClipObs)
		l.scale = rl.NewFunc(s, "scale", l.scaleGraph)
	}
	return l
}

func (l *Learner) scaleGraph(c *rl.Ctx, reward rl.Tensor) rl.Tensor {
	return rl.Wrap(l.returns.Scale(c, reward.Node()))
}

func (n *Net) featuresGraph(_ *rl.Ctx, x rl.Tree) rl.Tensor {
	return rl.Wrap(nn.Features(n.spec.Obs, x))
}

func explainedGraph(_ *rl.Ctx, in Explained) rl.Tensor {
	return rl.Wrap(nn.ExplainedVariance(in.Value.Node(), in.Return.Node()))
}
