// Package ambiguous lets a variable be one of two components.
package ambiguous

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
		p, q := t.Net.Params, t.Other.Params
		if run.Iter() > 3 {
			p = t.Other.Params
		}
		q.Blend(p, 1) // want `the source of Blend may be one of 2 components`
		_ = out
	}
	return run.Err()
}
