// Package handedalias writes through another name into what was handed over.
package handedalias

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
		xs := make([]rl.Tensor, 1)
		ys := xs
		xs[0] = out.Reward
		all := rl.Stack(ys)
		for range 2 {
			xs[0] = act.Value // want `this slice was handed to an operation before`
		}
		run.Log("all", all)
	}
	return run.Err()
}
