package dqn

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Algorithms that are known by names of their own and are DQN's loop with other defaults.

// C51Config is DQN's settings for categorical distributions of returns. The defaults are CleanRL's
// for classic control.
type C51Config struct {
	Config `defaults:"distribution=categorical atoms=101 v_min=-100 v_max=100 adam_eps=7.8125e-5"`
}

// QRDQNConfig is DQN's settings for quantiles of returns.
type QRDQNConfig struct {
	Config `defaults:"distribution=quantile quantiles=25 huber=1 adam_eps=7.8125e-5"`
}

// RainbowConfig is DQN's settings with everything switched on. Noise explores, so that no action is
// random.
type RainbowConfig struct {
	Config `defaults:"distribution=categorical v_min=-100 v_max=100 double=true dueling=true prioritised=true n_step=3 noisy=true epsilon_start=0 epsilon_end=0"`
}

// C51 learns the probabilities of returns (Bellemare et al., 2017).
var C51 = algo.Define("c51", "DQN that learns the distribution of returns, as probabilities", []algo.Preset{
	algo.For("CartPole-v1", 500_000, "CleanRL's recipe", func(*C51Config) {}),
	algo.ForKind(env.Control, 500_000, "CleanRL's recipe for classic control", func(*C51Config) {}),
	algo.ForKind(env.Images, 10_000_000, "CleanRL's recipe for Atari, with a tenth of the memory", func(c *C51Config) {
		c.TrainEvery, c.Batch, c.Buffer, c.LearningStarts, c.TargetEvery = 4, 32, 100_000, 80_000, 10_000
		c.AdamEps, c.EpsilonEnd, c.Exploration, c.Atoms, c.VMin, c.VMax = 3.125e-4, .01, .1, 51, -10, 10
	}),
	algo.ForKind(env.Images, 1_000_000, "MinAtar's recipe for DQN, with Adam, for pictures of 10x10", smallPictures).Named("minatar"),
}, func(s *rl.Scope, make algo.MakeEnv, c *C51Config) (rl.Trainer, error) {
	return build(s, make, &c.Config)
})

func smallPictures(c *C51Config) {
	minatar(&c.Config)
	c.Atoms, c.VMin, c.VMax = 51, -10, 10
}

// QRDQN learns quantiles of returns (Dabney et al., 2018).
var QRDQN = algo.Define("qrdqn", "DQN that learns the distribution of returns, as quantiles", []algo.Preset{
	algo.For("CartPole-v1", 50_000, "RL Zoo's recipe", func(c *QRDQNConfig) {
		c.TrainEvery, c.Updates, c.Batch, c.Buffer, c.LearningStarts, c.TargetEvery = 256, 128, 64, 100_000, 1000, 10
		c.LearningRate, c.AdamEps, c.Exploration, c.EpsilonEnd = 2.3e-3, 1.5625e-4, .16, .04
		c.Quantiles, c.Hidden = 10, []int{256, 256}
	}),
	algo.For("Acrobot-v1", 100_000, "RL Zoo's recipe", acrobot),
	algo.ForKind(env.Control, 100_000, "RL Zoo's recipe for Acrobot", acrobot),
}, func(s *rl.Scope, make algo.MakeEnv, c *QRDQNConfig) (rl.Trainer, error) {
	return build(s, make, &c.Config)
})

func acrobot(c *QRDQNConfig) {
	c.TrainEvery, c.Updates, c.Buffer, c.LearningStarts, c.TargetEvery = 4, 4, 50_000, 128, 250
	c.LearningRate, c.Exploration, c.EpsilonEnd, c.Hidden = 6.3e-4, .12, .1, []int{256, 256}
}

// Rainbow is DQN with everything that is known to help it (Hessel et al., 2018).
var Rainbow = algo.Define("rainbow", "DQN with all that is known to help it", []algo.Preset{
	algo.For("CartPole-v1", 50_000, "an update a step, random actions at first, then little noise, a step size that ends at 0", func(c *RainbowConfig) {
		control(c)
		c.TrainEvery, c.VMin, c.EpsilonStart, c.Exploration = 4, 0, 1, .1
	}),
	algo.ForKind(env.Control, 200_000, "an update every two steps, little noise, a step size that ends at 0, for rewards of either sign", control),
}, func(s *rl.Scope, make algo.MakeEnv, c *RainbowConfig) (rl.Trainer, error) {
	return build(s, make, &c.Config)
})

func control(c *RainbowConfig) {
	c.TrainEvery, c.Updates, c.Batch, c.Buffer, c.LearningStarts, c.TargetEvery = 8, 4, 64, 50_000, 1000, 128
	c.LearningRate, c.Anneal, c.Sigma, c.Hidden = 1e-3, "linear", .1, []int{128, 128}
}
