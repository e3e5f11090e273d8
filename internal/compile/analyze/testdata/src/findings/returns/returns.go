// Package returns returns out of a loop in a function that is read through.
package returns

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

//weft:train
func Train(t *base.Trainer, run *rl.Run) error {
	for run.Next() {
		act := first(t, run)
		t.Env.Step(act.Action)
	}
	return run.Err()
}

func first(t *base.Trainer, run *rl.Run) kit.Act {
	for i := range 3 {
		act := t.Act.Call(run.Key("act", i), t.Env.Obs())
		if run.Iter() > 3 {
			return act // want `a return out of a loop in a function that is read through`
		}
	}
	return t.Act.Call(run.Key("last"), t.Env.Obs())
}
