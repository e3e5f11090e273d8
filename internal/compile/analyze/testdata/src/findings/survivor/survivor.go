// Package survivor keeps the observation in a local across iterations.
package survivor

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

//weft:train
func Train(t *base.Trainer, run *rl.Run) error {
	obs := t.Env.Obs() // want `this operation stands outside of the loop over run.Next`
	for run.Next() {
		act := t.Act.Call(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		obs = out.Obs // want `obs is declared outside of the loop over run.Next, so it would survive an iteration without being saved; ask the environments for it`
	}
	return run.Err()
}
