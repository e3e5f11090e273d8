// Package result writes into what an operation returned.
package result

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
		xs := rl.Leaves(out)
		xs[0] = act.Value // want `results and arguments are immutable`
		copy(xs, xs)      // want `this fills a slice that was not made here`
		run.Log("all", rl.Stack(xs))
	}
	return run.Err()
}
