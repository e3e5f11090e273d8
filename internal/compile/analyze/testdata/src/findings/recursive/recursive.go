// Package recursive has operations in a function that calls itself.
package recursive

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
		again(t, run, 3)
		_ = out
	}
	return run.Err()
}

func again(t *base.Trainer, run *rl.Run, n int) {
	if n == 0 {
		return
	}
	t.Env.Step(t.Act.Call(run.Key("again", n), t.Env.Obs()).Action)
	again(t, run, n-1) // want `again calls itself around operations`
}
