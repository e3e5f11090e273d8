// Package labels has a label that is no loop's.
package labels

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
	again: // want `a label makes control flow that cannot be taken apart`
		run.Log("reward", out.Reward)
		goto again // want `goto makes control flow that cannot be taken apart`
	}
	return run.Err()
}
