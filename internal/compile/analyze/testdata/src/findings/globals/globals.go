// Package globals keeps a batch in a package variable.
package globals

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

var last rl.Tensor

//weft:train
func Train(t *base.Trainer, run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		act := t.Act.Call(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		last = out.Reward       // want `the package variable last is shared by everything that runs`
		run.Log("reward", last) // want `the package variable last may be changed by anybody`
	}
	return run.Err()
}
