// Package whole gives a shard to a function that may look at all rows.
package whole

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
		m := mean(out.Reward) // want `this function is given a batch of which a fragment may have only some rows`
		run.Log("mean", rl.Scalar(m))
	}
	return run.Err()
}

func mean(x rl.Tensor) float64 {
	sum := 0.
	for _, f := range rl.Floats(x) {
		sum += f
	}
	return sum / float64(x.Rows())
}
