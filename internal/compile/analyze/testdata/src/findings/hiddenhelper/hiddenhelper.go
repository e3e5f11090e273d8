// Package hiddenhelper has a hidden input inside a helper of a helper.
package hiddenhelper

import (
	"math/rand/v2"

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
		run.Log("n", rl.Scalar(noise()))
		_ = out
	}
	return run.Err()
}

var scale = 2.

func noise() float64 { return scale * draw() } // want `the package variable scale may be changed`

func draw() float64 { return rand.Float64() } // want `math/rand/v2.Float64 is a hidden input`
