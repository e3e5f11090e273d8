package maddpg

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// MATD3Config is MADDPG's settings with two critics, delayed policies and noise in the targets.
type MATD3Config struct {
	Config `defaults:"critics=2 delay=2 target_noise=0.2"`
}

// MATD3 is MATD3 for whoever runs it.
var MATD3 = algo.Define("matd3", "TD3 for several agents, with critics of what all of them see and do", []algo.Preset{
	algo.For("mpe/simple_spread-v3", 2_000_000, "one policy for all agents, a shorter view, a step size that ends at 0", func(c *MATD3Config) { spread(&c.Config) }),
	algo.ForKind(env.Teams, 2_000_000, "a policy for each agent", func(*MATD3Config) {}),
	algo.For("Agents-v0", 20_000, "solved in seconds", func(c *MATD3Config) { small(&c.Config) }),
}, func(s *rl.Scope, make algo.MakeEnv, c *MATD3Config) (rl.Trainer, error) {
	return build(s, make, &c.Config)
})

func spread(c *Config) {
	c.Separate, c.Envs, c.TrainEvery, c.Batch, c.Gamma, c.Anneal = false, 32, 1, 512, .9, "linear"
}

func small(c *Config) {
	c.Envs, c.TrainEvery, c.Updates, c.Batch, c.LearningStarts, c.Buffer = 8, 2, 1, 64, 512, 10_000
	c.LearningRate, c.Gamma, c.Hidden = 3e-3, .5, []int{32, 32}
}
