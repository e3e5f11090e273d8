// Package variant defines two algorithms with one loop: one is the other with settings of its own.
package variant

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

func buildLarge(s *rl.Scope, m algo.MakeEnv, c *Large) (rl.Trainer, error) {
	return build(s, m, &c.Config)
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		t.Env.Obs()
	}
	return run.Err()
}

func (t *Trainer) Agent() rl.Agent { return nil }
