// Package mapped keeps batches in a map.
package mapped

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
		m := map[string]rl.Tensor{"reward": out.Reward} // want `a map has no order and cannot travel`
		m["again"] = out.Reward                         // want `a map has no order and cannot travel`
		run.Log("reward", out.Reward)
	}
	return run.Err()
}
