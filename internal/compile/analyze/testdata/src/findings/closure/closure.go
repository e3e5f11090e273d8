// Package closure keeps a closure.
package closure

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
		f := func() { run.Log("reward", out.Reward) } // want `a function value cannot be read through: when and where it runs`
		f()                                           // want `a function value cannot be read through: what it does`
	}
	return run.Err()
}
