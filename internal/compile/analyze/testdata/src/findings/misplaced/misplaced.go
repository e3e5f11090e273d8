// Package misplaced has directives where they say nothing.
package misplaced

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

//weft:op reads // want `//weft:op stands where it says nothing; it belongs above a method of a component`
func free() int { return 1 }

//weft:train // want `//weft:train stands where it says nothing`
var x = free()

//weft:train
func Train(t *base.Trainer, run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		act := t.Act.Call(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		//weft:rows // want `//weft:rows stands where it says nothing; it belongs above a function`
		run.Log("reward", out.Reward)
		run.Log("value", act.Value)
		//weft:fragment actor // want `//weft:fragment stands where it says nothing`
	}
	return run.Err()
}
