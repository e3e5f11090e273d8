// Package grown writes through an appended slice, and into one that an earlier round handed over.
package grown

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
		xs := []rl.Tensor{out.Reward}
		all := rl.Stack(xs)
		ys := append(xs, act.Value)
		ys[0] = act.Value // want `this slice was handed to an operation before`
		run.Log("all", all)
		var prev []rl.Tensor
		for range 3 {
			zs := make([]rl.Tensor, 1)
			zs[0] = out.Reward // want `this slice was handed to an operation before`
			run.Log("z", rl.Stack(zs))
			if len(prev) > 0 {
				prev[0] = act.Value // want `this slice was handed to an operation before`
			}
			prev = zs
		}
		var ws []rl.Tensor
		for range 3 {
			ws = make([]rl.Tensor, 1)
			ws[0] = out.Reward
			run.Log("w", rl.Stack(ws))
		}
		var pair [2]rl.Tensor
		pair[0], pair[1] = out.Reward, act.Value
		run.Log("pair", pair[1])
	}
	return run.Err()
}
