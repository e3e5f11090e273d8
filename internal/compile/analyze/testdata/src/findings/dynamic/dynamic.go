// Package dynamic calls through an interface that the constructor does not fill.
package dynamic

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Env    env.Batch
	Player interface{ Play(obs rl.Obs) rl.Tree }
}

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	return &Trainer{Env: e}, err
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		t.Env.Step(t.Player.Play(t.Env.Obs())) // want `which type is behind this interface is not known from the constructor`
	}
	return run.Err()
}
