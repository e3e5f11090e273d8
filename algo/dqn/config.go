package dqn

import (
	"errors"
	"fmt"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Config is DQN's settings. The defaults are CleanRL's for classic control.
type Config struct {
	Envs           int   `default:"1" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	TrainEvery     int   `default:"10" unit:"steps" range:"[1,)" doc:"steps that every environment takes between updates"`
	Updates        int   `default:"1" unit:"updates" range:"[1,)" doc:"updates of an iteration"`
	Batch          int   `default:"128" unit:"rows" range:"[1,)" doc:"rows of an update"`
	Buffer         int   `default:"10000" unit:"rows" range:"[1,)" doc:"rows that are kept"`
	LearningStarts int64 `default:"10000" unit:"steps" range:"[1,)" doc:"steps taken before the first update"`

	LearningRate float64 `default:"2.5e-4" range:"(0,)" doc:"Adam's step size at the start"`
	Anneal       string  `default:"constant" oneof:"linear constant" doc:"how the step size goes on: linearly to 0 at the end of the budget, or not"`
	AdamEps      float64 `default:"1e-8" range:"(0,)" doc:"Adam's term for numerical stability"`
	MaxGradNorm  float64 `default:"0" range:"[0,)" doc:"norm over all parameters to which gradients are clipped; 0 is no bound"`
	Huber        float64 `default:"0" range:"[0,)" doc:"size of an error from which it counts linearly and no longer squared; 0 is always squared"`

	Gamma       float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	NStep       int     `default:"1" unit:"steps" range:"[1,)" doc:"steps of a row: rewards that are added up before a value is asked for"`
	TargetEvery int64   `default:"500" unit:"steps" range:"[1,)" doc:"steps between two updates of the target network"`
	Tau         float64 `default:"1" range:"(0,1]" doc:"how far the target network then moves; 1 is a copy"`

	EpsilonStart float64 `default:"1" range:"[0,1]" doc:"part of actions that are random at the start"`
	EpsilonEnd   float64 `default:"0.05" range:"[0,1]" doc:"the same at the end"`
	Exploration  float64 `default:"0.5" range:"(0,1]" doc:"part of the budget over which it goes from one to the other"`

	Double      bool    `default:"false" doc:"let the network choose the action whose value the target network gives"`
	Dueling     bool    `default:"false" doc:"split values into that of the state and the actions' advantages"`
	Prioritised bool    `default:"false" doc:"draw rows by the size of their errors"`
	Alpha       float64 `default:"0.6" range:"[0,)" doc:"power of the error that a row's priority is"`
	Beta        float64 `default:"0.4" range:"[0,1]" doc:"how far unequal probabilities are corrected for at the start; fully at the end"`
	PriorityEps float64 `default:"1e-3" range:"(0,)" doc:"added to errors, so that no row is forgotten"`

	Hidden     []int  `default:"120,84" unit:"units" range:"[1,)" doc:"hidden layers"`
	Activation string `default:"relu" oneof:"tanh relu silu gelu" doc:"activation of the hidden layers"`
}

// Validate finds settings that do not go together.
func (c *Config) Validate() error {
	var errs []error
	if rows := c.NStep * c.Envs; c.Buffer < rows {
		errs = append(errs, fmt.Errorf("buffer: %d rows do not hold the %d steps of a row (n_step) in each of %d environments (envs)", c.Buffer, c.NStep, c.Envs))
	}
	if least := int64(c.NStep * c.Envs); c.LearningStarts < least {
		errs = append(errs, fmt.Errorf("learning_starts: after %d steps there is no row of n_step=%d steps in %d environments; at least %d are needed", c.LearningStarts, c.NStep, c.Envs, least))
	}
	return errors.Join(errs...)
}

// Algorithm is DQN for whoever runs it.
var Algorithm = algo.Define("dqn", "deep Q-learning: double, dueling, prioritised", presets, build)

var presets = []algo.Preset{
	{Name: "default", Env: "CartPole-v1", Doc: "CleanRL's recipe", Steps: 500_000},
	{
		Name: "double", Env: "CartPole-v1", Doc: "Double DQN that stays where it gets: a long memory, a step size that ends at 0", Steps: 500_000,
		Set: []string{
			"double=true", "envs=8", "train_every=8", "updates=8", "buffer=100000", "learning_starts=2000",
			"learning_rate=1e-3", "anneal=linear", "target_every=1024", "exploration=0.2",
		},
	},
	{
		Name: "default", Env: "Identity-v0", Doc: "solved in a second", Steps: 20_000,
		Set: []string{"envs=8", "train_every=4", "batch=64", "learning_starts=1000", "target_every=500", "learning_rate=1e-3", "gamma=0.9"},
	},
}

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Batch(c.Envs)
	if err != nil {
		return nil, err
	}
	spec := e.Spec()
	if _, ok := spec.Action.(rl.Discrete); !ok {
		return nil, fmt.Errorf("dqn compares single discrete actions, and those of %s are %s: take ppo", spec.ID, spec.Action)
	}
	net, err := newNet(s, "q", *c, spec)
	if err != nil {
		return nil, err
	}
	target, err := newNet(s, "target", *c, spec)
	if err != nil {
		return nil, err
	}
	target.params.Blend(net.params, 1)
	how := replay.Options{
		NStep: c.NStep, Discount: c.Gamma, Priority: c.Prioritised,
		Ratio: float64(c.Updates*c.Batch) / float64(c.TrainEvery*c.Envs),
	}
	return &Trainer{
		Config:  *c,
		Env:     e,
		Replay:  replay.NewTable[Transition](s, "replay", c.Buffer, how),
		Actor:   &Actor{act: rl.NewFunc(s, "act", net.actGraph), greedy: rl.NewFunc(s, "greedy", net.greedyGraph)},
		Learner: newLearner(s, net, target),
	}, nil
}

func newLearner(s *rl.Scope, net, target *Net) *Learner {
	c := net.Config
	l := &Learner{Config: c, net: net, target: target}
	l.opt = rl.NewOpt(s, "adam", nn.ClipNorm{Max: c.MaxGradNorm, Rule: nn.Adam{Eps: c.AdamEps}}, net.params)
	l.loss = rl.NewLoss(s, "td", l.lossGraph, net.params)
	l.values = rl.NewFunc(s, "values", net.valuesGraph)
	return l
}
