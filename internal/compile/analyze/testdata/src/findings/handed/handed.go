// Package handed writes into a slice after it was handed over.
package handed

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
		xs := make([]rl.Tensor, 2)
		xs[0] = out.Reward
		all := rl.Stack(xs)
		xs[1] = out.Reward // want `this slice was handed to an operation before`
		run.Log("all", all)
	}
	return run.Err()
}
