// Package implicit has a flag that another fragment sets: it crosses too, with a note.
package implicit

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
		stop := false
		if t.Opt.Count() > 10 {
			stop = true
		}
		if stop { // want `note: if stop is decided by apply and followed by environment`
			run.Log("reward", out.Reward)
		}
	}
	return run.Err()
}
