// Package three has a loop over run.Next with a variable of its own.
package three

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

//weft:train
func Train(t *base.Trainer, run *rl.Run) error {
	for i := 0; run.Next(); i++ { // want `a variable of the loop over run.Next would survive`
		act := t.Act.Call(run.Key("act", i), t.Env.Obs())
		t.Env.Step(act.Action)
	}
	return run.Err()
}
