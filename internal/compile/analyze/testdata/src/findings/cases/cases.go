// Package cases has an operation in a list of cases.
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
		switch run.Iter() > 2 {
		case true, t.Table.Ready(4): // want `an operation in a list of cases runs or not depending on those before it` `note: .* is decided by replay`
			run.Log("reward", out.Reward)
		}
	}
	return run.Err()
}
