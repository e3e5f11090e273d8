// Package innernext has run.Next inside another loop, and in an if.
package innernext

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

//weft:train
func Train(t *base.Trainer, run *rl.Run) error {
	for range 3 {
		for run.Next() { // want `run.Next is the only point at which a run can be saved`
			act := t.Act.Call(run.Key("act"), t.Env.Obs())
			t.Env.Step(act.Action)
		}
	}
	if run.Next() { // want `rl.Run.Next has no place in a loop`
		return nil
	}
	return run.Err()
}
