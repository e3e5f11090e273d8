package impala

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Config is IMPALA's settings.
type Config struct {
	Envs    int `default:"8" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	Horizon int `default:"20" unit:"steps" range:"[1,)" doc:"steps that every environment takes in an iteration, all of them one gradient"`

	LearningRate float64 `default:"3e-3" range:"(0,)" doc:"RMSProp's step size at the start"`
	Anneal       string  `default:"linear" oneof:"linear constant" doc:"how the step size goes on: linearly to 0 at the end of the budget, or not"`
	RMSDecay     float64 `default:"0.99" range:"[0,1)" doc:"of RMSProp's mean square"`
	RMSEps       float64 `default:"1e-2" range:"(0,)" doc:"added to the root of RMSProp's mean square; so large, small gradients make small steps"`
	MaxGradNorm  float64 `default:"0.5" range:"(0,)" doc:"norm over all parameters to which gradients are clipped"`

	Gamma       float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	Lambda      float64 `default:"1" range:"[0,1]" doc:"weight of longer traces"`
	Rho         float64 `default:"1" range:"(0,)" doc:"bound of the importance ratios that values are corrected by"`
	Trace       float64 `default:"1" range:"(0,)" doc:"bound of the importance ratios that traces are cut by"`
	ValueCoef   float64 `default:"0.5" range:"[0,)" doc:"weight of the value loss"`
	EntropyCoef float64 `default:"0.01" range:"[0,)" doc:"weight of the entropy bonus"`

	Hidden     []int  `default:"64,64" unit:"units" range:"[1,)" doc:"hidden layers of the policy's and of the value's network"`
	Activation string `default:"tanh" oneof:"tanh relu silu gelu" doc:"activation of the hidden layers"`
	Shared     bool   `default:"false" doc:"one network for policy and value, but for the last layer"`
}

// Algorithm is IMPALA for whoever runs it.
var Algorithm = algo.Define("impala", "actor-critic with V-trace corrections", presets, build)

var presets = []algo.Preset{
	{Name: "default", Env: "CartPole-v1", Doc: "rollouts of 20 steps", Steps: 1_000_000},
	{
		Name: "default", Env: "Identity-v0", Doc: "solved in a second", Steps: 40_000,
		Set: []string{"envs=16", "horizon=8", "learning_rate=3e-3"},
	},
}

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Batch(c.Envs)
	if err != nil {
		return nil, err
	}
	net, err := newNet(s, *c, e.Spec())
	if err != nil {
		return nil, err
	}
	rule := nn.ClipNorm{Max: c.MaxGradNorm, Rule: nn.RMSProp{Alpha: c.RMSDecay, Eps: c.RMSEps}}
	return &Trainer{
		Config:  *c,
		Env:     e,
		Rollout: replay.NewRollout[Step](s, "rollout"),
		Actor: &Actor{
			act:    rl.NewFunc(s, "act", net.actGraph),
			greedy: rl.NewFunc(s, "greedy", net.greedyGraph),
			value:  rl.NewFunc(s, "value", net.valueGraph),
		},
		Learner: &Learner{
			Config: *c,
			opt:    rl.NewOpt(s, "rmsprop", rule, net.params),
			loss:   rl.NewLoss(s, "loss", net.lossGraph, net.params),
		},
	}, nil
}
