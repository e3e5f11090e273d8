// Package noconstructor has nothing that makes its trainer.
package noconstructor

import (
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct{ Env env.Batch }

//weft:train
func (t *Trainer) Train(run *rl.Run) error { // want `no function of the package makes the trainer`
	for run.Next() {
		t.Env.Obs()
	}
	return run.Err()
}
