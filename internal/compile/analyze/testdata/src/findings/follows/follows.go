// Package follows has a condition that another fragment decides: accepted, with a note.
package follows

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
		if run.Value(rl.Mean(out.Reward)) > 1 { // want `note: if run.Value\(rl.Mean\(out.Reward\)\) > 1 is decided by gradient and followed by environment: a message each iteration` `note: rl.Mean needs all rows, so what it uses is gathered each iteration`
			run.Log("reward", out.Reward)
		}
	}
	return run.Err()
}
