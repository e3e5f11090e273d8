// Package unknown has directives that do not exist.
package unknown

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
		//weft:fragmnt actor // want `there is no directive //weft:fragmnt; did you mean //weft:fragment\?`
		run.Log("reward", out.Reward)
		//weft:zebra // want `there is no directive //weft:zebra; the directives are`
		run.Log("value", act.Value)
	}
	return run.Err()
}
