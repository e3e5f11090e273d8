// Package variants defines two algorithms whose constructors make the trainer in two places.
package variants

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

type (
	Trainer struct{ Env env.Batch }
	Config  struct{ Envs int }
	Large   struct{ Config }
)

var (
	Algorithm = algo.Define("small", "looks on", nil, build)
	Other     = algo.Define("large", "looks on at many", nil, buildLarge)
)

func build(_ *rl.Scope, m algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := m.Batch(c.Envs)
	return &Trainer{Env: e}, err
}

func buildLarge(_ *rl.Scope, m algo.MakeEnv, c *Large) (rl.Trainer, error) {
	e, err := m.Batch(10 * c.Envs)
	return &Trainer{Env: e}, err
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error { // want `the package makes its trainer in several places`
	for run.Next() {
		t.Env.Obs()
	}
	return run.Err()
}

func (t *Trainer) Agent() rl.Agent { return nil }
