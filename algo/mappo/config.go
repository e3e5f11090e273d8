package mappo

import (
	"cmp"
	"fmt"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Config is MAPPO's settings. The defaults are the paper's for particle
// environments, but for fewer of these.
type Config struct {
	Envs        int `default:"32" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	Horizon     int `default:"25" unit:"steps" range:"[1,)" doc:"steps that every environment takes in an iteration"`
	Epochs      int `default:"10" unit:"passes" range:"[1,)" doc:"passes over what an iteration collected"`
	Minibatches int `default:"1" unit:"minibatches" range:"[1,)" doc:"minibatches of a pass"`

	Separate bool `default:"false" doc:"a policy and a critic for every agent, instead of one for all agents of a kind"`
	Central  bool `default:"true" doc:"critics see the state of the whole environment, where it has one; else what the agent sees"`
	AgentID  bool `default:"true" doc:"tell shared networks which of the kind's agents they act for"`

	LearningRate float64 `default:"7e-4" range:"(0,)" doc:"Adam's step size at the start"`
	Anneal       string  `default:"constant" oneof:"linear constant" doc:"how the step size goes on: linearly to 0 at the end of the budget, or not"`
	AdamEps      float64 `default:"1e-5" range:"(0,)" doc:"Adam's term for numerical stability"`
	MaxGradNorm  float64 `default:"10" range:"(0,)" doc:"norm over all parameters of a role to which gradients are clipped"`

	Gamma       float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	Lambda      float64 `default:"0.95" range:"[0,1]" doc:"weight of longer advantage estimates"`
	Clip        float64 `default:"0.2" range:"(0,)" doc:"how far the probability ratio may move from 1"`
	ClipValue   bool    `default:"true" doc:"clip the value loss likewise"`
	Huber       float64 `default:"10" range:"[0,)" doc:"error from which the value loss is linear; 0 is never"`
	ValueCoef   float64 `default:"1" range:"[0,)" doc:"weight of the value loss"`
	EntropyCoef float64 `default:"0.01" range:"[0,)" doc:"weight of the entropy bonus"`

	NormalizeAdvantage bool `default:"true" doc:"standardise the advantages of an iteration"`
	NormalizeValue     bool `default:"true" doc:"let critics learn returns that are standardised by running statistics"`

	Hidden     []int  `default:"64,64" unit:"units" range:"[1,)" doc:"hidden layers of the policy's and of the critic's network"`
	Activation string `default:"tanh" oneof:"tanh relu silu gelu" doc:"activation of the hidden layers"`
}

// Validate finds settings that do not go together.
func (c *Config) Validate() error {
	if rows := c.Envs * c.Horizon; c.Minibatches > rows {
		return fmt.Errorf("minibatches: %d are more than the %d steps of an iteration (envs x horizon)", c.Minibatches, rows)
	}
	return nil
}

// Algorithm is MAPPO for whoever runs it.
var Algorithm = algo.Define("mappo", "PPO for several agents, with centralised critics", presets, build)

var presets = []algo.Preset{
	{Name: "default", Env: "mpe/simple_spread-v3", Doc: "the paper's recipe, with fewer environments", Steps: 2_000_000},
	{Name: "default", Env: "mpe/simple_tag-v3", Doc: "two kinds of agents against each other", Steps: 500_000},
	{
		Name: "default", Env: "Tag-v0", Doc: "taggers and runners, a policy for each kind; critics see what their agent sees", Steps: 500_000,
		Set: []string{"horizon=50", "epochs=4", "minibatches=4", "agent_id=false", "learning_rate=1e-3", "gamma=0.98"},
	},
	{
		Name: "default", Env: "Agents-v0", Doc: "solved in a second", Steps: 20_000,
		Set: []string{"envs=16", "horizon=32", "learning_rate=3e-3"},
	},
}

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Groups(c.Envs)
	if err != nil {
		return nil, err
	}
	if c.Separate {
		e = env.Each(e)
	}
	t := &Trainer{Config: *c, Env: e}
	for _, spec := range e.Spec() {
		r, err := newRole(s, cmp.Or(spec.Kind, "agent"), *c, spec)
		if err != nil {
			return nil, err
		}
		t.Roles = append(t.Roles, r)
	}
	return t, nil
}

func newRole(s *rl.Scope, name string, c Config, spec env.Spec) (*Role, error) {
	net, err := newNet(s, name, c, spec)
	if err != nil {
		return nil, err
	}
	return &Role{
		Rollout: replay.NewRollout[Step](s, name+" rollout"),
		Actor: &Actor{
			act:    rl.NewFunc(s, name+" act", net.actGraph),
			value:  rl.NewFunc(s, name+" value", net.valueGraph),
			sample: rl.NewFunc(s, name+" sample", net.sampleGraph),
			greedy: rl.NewFunc(s, name+" greedy", net.greedyGraph),
		},
		Learner: &Learner{
			Config:    c,
			net:       net,
			opt:       rl.NewOpt(s, name+" adam", nn.ClipNorm{Max: c.MaxGradNorm, Rule: nn.Adam{Eps: c.AdamEps}}, net.params),
			loss:      rl.NewLoss(s, name+" loss", net.lossGraph, net.params),
			worth:     rl.NewFunc(s, name+" worth", net.worthGraph),
			explained: rl.NewFunc(s, name+" explained variance", explainedGraph),
		},
	}, nil
}

func explainedGraph(_ *rl.Ctx, in Explained) rl.Tensor {
	return rl.Wrap(nn.ExplainedVariance(in.Value.Node(), in.Return.Node()))
}
