// Package unknownpackage calls a package that is not known.
package unknownpackage

import (
	"path"

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
		run.Log(path.Base("a/reward"), out.Reward) // want `package path is not known to compute only`
	}
	return run.Err()
}
