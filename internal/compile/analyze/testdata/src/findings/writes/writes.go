// Package writes has a helper that writes to what it is given.
package writes

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
		xs := []float64{1, 2}
		run.Log("mean", rl.Scalar(double(xs)))
		_ = out
	}
	return run.Err()
}

func double(xs []float64) float64 {
	ys := xs
	for i := range ys {
		ys[i] *= 2 // want `this helper writes to what it was given \(ys\[i\]\)`
	}
	copy(xs[1:], ys) // want `this helper writes to what it was given`
	return xs[0]
}
