// Package pinned pulls an operation away from its state.
package pinned

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
		//weft:fragment critic
		t.Env.Step(act.Action) // want `this is to be part of fragment critic, but it writes or reads what lives at environment`
		_ = out
	}
	return run.Err()
}
