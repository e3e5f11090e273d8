// Package state has a helper that writes to the trainer.
package state

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
		run.Log("n", rl.Scalar(bump(t)))
		_ = out
	}
	return run.Err()
}

func bump(t *base.Trainer) float64 {
	t.Count++ // want `this helper writes to what it was given \(t.Count\)`
	return float64(t.Count)
}
