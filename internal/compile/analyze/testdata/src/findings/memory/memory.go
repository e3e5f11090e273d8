// Package memory keeps memory in a local across iterations.
package memory

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

//weft:train
func Train(t *base.Trainer, run *rl.Run) error {
	var mem rl.Tensor
	for run.Next() {
		obs := t.Env.Obs()
		act := t.Act.Call(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		run.Log("mem", mem)
		mem = rl.Keep(act.Value, out.Over) // want `mem is declared outside.*; keep it in rl.Slots`
	}
	return run.Err()
}
