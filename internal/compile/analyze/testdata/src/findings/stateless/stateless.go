// Package stateless marks methods of a type that is no component as operations.
package stateless

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Env   env.Batch
	Extra *Extra
}

type Extra struct{ n int }

//weft:op writes
func (e *Extra) Bump(x rl.Tensor) { e.n++ }

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	return &Trainer{Env: e, Extra: &Extra{}}, err
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		t.Extra.Bump(t.Env.Obs().First) // want `Bump is marked //weft:op, but its type does not implement rl.Component`
	}
	return run.Err()
}
