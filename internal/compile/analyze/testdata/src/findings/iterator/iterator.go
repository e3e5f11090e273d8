// Package iterator ranges over a function.
package iterator

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
		for x := range numbers { // want `an iterator is a function value`
			run.Log("n", rl.Scalar(float64(x)))
		}
		_ = out
	}
	return run.Err()
}

func numbers(yield func(int) bool) { yield(1) }
