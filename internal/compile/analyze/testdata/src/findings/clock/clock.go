// Package clock reads the clock.
package clock

import (
	"time"

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
		start := time.Now()                                        // want `time.Now is a hidden input or effect`
		run.Log("seconds", rl.Scalar(time.Since(start).Seconds())) // want `time.Since is a hidden input` `time.Seconds is a hidden input`
		_ = out
	}
	return run.Err()
}
