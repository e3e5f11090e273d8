package qmix

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Algorithms that are known by names of their own and are QMIX's loop with another mixer.

// VDNConfig is QMIX's settings with the sum as its mixer.
type VDNConfig struct {
	Config `defaults:"mixer=vdn"`
}

// IndependentConfig is QMIX's settings without a mixer.
type IndependentConfig struct {
	Config `defaults:"mixer=none"`
}

// VDN is value decomposition for whoever runs it.
var VDN = algo.Define("vdn", "Q-learning for a team: values of agents added up", []algo.Preset{
	algo.For("mpe/simple_spread-v3", 2_000_000, "no memory, a shorter view, lambda-returns", func(c *VDNConfig) { spread(&c.Config) }),
	algo.ForKind(env.Teams, 2_000_000, "EPyMARL's recipe for particle environments", func(*VDNConfig) {}),
	algo.For("TwoStep-v0", 20_000, "settles for 7, from random actions", func(c *VDNConfig) { twoStep(&c.Config) }),
}, func(s *rl.Scope, make algo.MakeEnv, c *VDNConfig) (rl.Trainer, error) {
	return build(s, make, &c.Config)
})

// Independent is independent Q-learning for whoever runs it.
var Independent = algo.Define("iql-independent", "Q-learning of several agents, each for itself, with one network", []algo.Preset{
	algo.For("mpe/simple_spread-v3", 2_000_000, "no memory, a shorter view, lambda-returns", func(c *IndependentConfig) { spread(&c.Config) }),
	algo.ForKind(env.Teams, 2_000_000, "EPyMARL's recipe for particle environments", func(*IndependentConfig) {}),
	algo.For("TwoStep-v0", 20_000, "settles for 7, from random actions", func(c *IndependentConfig) { twoStep(&c.Config) }),
}, func(s *rl.Scope, make algo.MakeEnv, c *IndependentConfig) (rl.Trainer, error) {
	return build(s, make, &c.Config)
})

// spread has no memory, because agents see where everything is, and looks not much further ahead
// than a landmark is away. Its many large updates, towards targets that follow slowly, are for
// agents that learn alone above all: the others move their rewards, so that an agent needs more to
// see its own part.
func spread(c *Config) {
	c.Updates, c.LearningRate, c.Anneal, c.TargetEvery, c.Tau = 16, 1e-3, "linear", 400, .01
	c.Gamma, c.Lambda, c.Exploration = .95, .6, .1
	c.Units, c.Hidden = 0, []int{128, 128}
}

// twoStep has actions that stay random, as the paper of QMIX has them, so that values are learnt of
// all.
func twoStep(c *Config) {
	c.Envs, c.TrainEvery, c.Updates, c.Batch, c.Buffer, c.LearningStarts, c.Length = 8, 4, 2, 32, 1000, 100, 2
	c.LearningRate, c.TargetEvery, c.EpsilonEnd, c.Units, c.Hidden = 3e-3, 320, 1, 0, []int{32}
}
