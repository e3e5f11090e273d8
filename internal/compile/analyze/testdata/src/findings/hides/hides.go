// Package hides lets components out of sight.
package hides

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
		var x any = t.Opt      // want `a component inside an interface without methods cannot be followed`
		s := fmt.Sprint(t.Opt) // want `a component is given to fmt.Sprint, which cannot be followed`
		run.Log(s, out.Reward)
		_ = x
	}
	return run.Err()
}
