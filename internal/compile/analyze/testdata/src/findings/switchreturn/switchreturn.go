// Package switchreturn returns in some cases of a switch and goes on after it.
package switchreturn

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
	switch { // want `a switch that returns in some cases, with statements after it`
	case run.Iter() > 3:
		return t.Act.Call(run.Key("act"), t.Env.Obs())
	}
	return t.Act.Call(run.Key("last"), t.Env.Obs())
}
