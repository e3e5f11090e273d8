// Package useless has a word that has no place in a loop.
package useless

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
		w := t.Net.Params.Tensors() // want `rl.Params.Tensors has no place in a loop; read weights in a graph function`
		run.Log("w", w[0])
		s := run.Scope() // want `rl.Run.Scope has no place in a loop`
		_ = s
		p := rl.NewStats(s, "late", 1) // want `rl.NewStats has no place in a loop`
		_ = p
		_ = out
	}
	return run.Err()
}
