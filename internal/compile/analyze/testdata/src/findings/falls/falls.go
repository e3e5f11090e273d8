// Package falls falls through, and breaks out of a switch.
package falls

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
		switch t.Horizon {
		case 1:
			fallthrough // want `fallthrough makes control flow that cannot be taken apart`
		case 2:
			run.Log("reward", out.Reward)
			break
		}
	}
	return run.Err()
}
