// Package batchabroad gives a batch to a foreign function.
package batchabroad

import (
	"fmt"

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
		s := fmt.Sprint(out.Reward) // want `a batch is given to fmt.Sprint, which cannot be followed`
		run.Log(s, out.Reward)
	}
	return run.Err()
}
