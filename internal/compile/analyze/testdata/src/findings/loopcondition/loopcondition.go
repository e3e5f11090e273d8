// Package loopcondition has an operation in a loop condition.
package loopcondition

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
		for t.Table.Ready(4) { // want `an operation in a loop's condition runs once more than its body` `note: .* is decided by replay`
			run.Log("reward", out.Reward)
		}
	}
	return run.Err()
}
