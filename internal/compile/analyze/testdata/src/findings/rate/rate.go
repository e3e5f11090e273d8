// Package rate lets another fragment decide a number: accepted, and it depends on the condition.
package rate

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

//weft:train
func Train(t *base.Trainer, run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		act := t.Act.Call(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		rate := 1e-3
		if run.Value(rl.Mean(out.Reward)) > 1 { // want `note: rl.Mean needs all rows`
			rate = 1e-4
		}
		g, _ := t.Loss.Grad(run.Key("loss"), kit.Sample{Obs: obs, Action: act.Action, Adv: out.Reward, Ret: out.Reward})
		t.Opt.Apply(g, rate)
		if rate > 5e-4 { // want `note: if rate > 5e-4 is decided by gradient and followed by environment`
			run.Log("reward", out.Reward)
		}
	}
	return run.Err()
}
