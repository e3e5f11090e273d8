// Package several makes its trainer in several places.
package several

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct{ Env env.Batch }

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	return &Trainer{Env: e}, err
}

func NewLarge(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(400)
	return &Trainer{Env: e}, err
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error { // want `the package makes its trainer in several places`
	for run.Next() {
		t.Env.Obs()
	}
	return run.Err()
}
