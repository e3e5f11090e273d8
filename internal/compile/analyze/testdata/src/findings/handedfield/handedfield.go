// Package handedfield writes into a slice that was handed over inside a struct.
package handedfield

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

type box struct{ Xs []rl.Tensor }

//weft:train
func Train(t *base.Trainer, run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		act := t.Act.Call(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		b := box{Xs: []rl.Tensor{out.Reward}}
		all := rl.Stack(b.Xs)
		b.Xs[0] = act.Value // want `this slice was handed to an operation before`
		run.Log("all", all)
	}
	return run.Err()
}
