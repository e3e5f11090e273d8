// Package asserts asserts a dynamic type.
package asserts

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
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
		if g, ok := any(t).(interface{ Spec() env.Spec }); ok {
			_ = g
		}
		e := t.Env.(env.Batch) // want `a type assertion depends on a dynamic type`
		e.Step(act.Action)
		run.Log("reward", out.Reward)
	}
	return run.Err()
}
