// Package cases has an operation in a case.
package cases

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

//weft:train
func Train(t *base.Trainer, run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		act := t.Act.Call(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		switch { // want `an operation in a case runs or not depending on the cases before it` `note: .* is decided by replay`
		case t.Table.Ready(4):
			run.Log("reward", out.Reward)
		}
	}
	return run.Err()
}
