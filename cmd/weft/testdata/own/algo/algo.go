// Package algo is an author's own algorithm: PPO by another name, with a preset
// for the author's own environment.
package algo

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/rl"
)

var presets = []algo.Preset{{
	Name: "default", Env: "Parity-v0", Doc: "enough", Steps: 1280,
	Set: []string{"envs=4", "horizon=16", "hidden=8", "epochs=1"},
}}

// Algorithm is it.
var Algorithm = algo.Define("mine", "an algorithm of one's own", presets,
	func(s *rl.Scope, make algo.MakeEnv, c *ppo.Config) (rl.Trainer, error) {
		return ppo.Algorithm.New(s, make, c)
	})
