// Package shortcircuit has an operation to the right of && and ||.
package shortcircuit

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
		if t.Count > 1 || run.Value(rl.Mean(out.Reward)) > 1 { // want `an operation to the right of .. runs or not` `note: .* is decided by` `note: rl.Mean needs all rows`
			run.Log("reward", out.Reward)
		}
		ok := t.Count > 1 && t.Table.Ready(4) // want `an operation to the right of && runs or not`
		if ok {                               // want `note: .* is decided by replay`
			run.Log("reward", out.Reward)
		}
	}
	return run.Err()
}
