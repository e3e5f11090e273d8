// Package secondtrain has two training loops.
package secondtrain

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

//weft:train
func Train(t *base.Trainer, run *rl.Run) error {
	for run.Next() {
		t.Env.Obs()
	}
	return run.Err()
}

//weft:train
func Again(t *base.Trainer, run *rl.Run) error { // want `the package has a second //weft:train, and the first one is Train`
	return Train(t, run)
}
