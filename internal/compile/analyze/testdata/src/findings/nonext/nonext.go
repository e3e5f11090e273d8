// Package nonext has no loop over run.Next.
package nonext

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

//weft:train
func Train(t *base.Trainer, run *rl.Run) error { // want `the training function has no loop over run.Next`
	for i := range 10 {
		act := t.Act.Call(run.Key("act", i), t.Env.Obs())
		t.Env.Step(act.Action)
	}
	return run.Err()
}
