// Package duplicate says directives twice.
package duplicate

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
		//weft:fragment actor
		//weft:fragment actor // want `//weft:fragment is said twice`
		v := t.Act.Call(run.Key("again"), obs)
		run.Log("value", v.Value)
		_ = out
	}
	return run.Err()
}
