// Package arguments gives directives wrong arguments.
package arguments

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

type part struct{}

//weft:op changes // want `//weft:op changes is not understood; say whether it reads or writes`
func (part) change() {}

//weft:rows please // want `//weft:rows please is not understood`
func same(x rl.Tensor) rl.Tensor { return x }

//weft:axis sideways // want `//weft:axis sideways is not understood; the axes are`
func side(x rl.Tensor) rl.Tensor { return x }

//weft:axis rows
func idle(x rl.Tensor) rl.Tensor { return x } // want `//weft:axis says nothing about a function that is read through`

//weft:train
func Train(t *base.Trainer, run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		act := t.Act.Call(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		//weft:fragment // want `//weft:fragment  is not understood`
		run.Log("reward", out.Reward)
		//weft:fragment two words // want `//weft:fragment two words is not understood`
		run.Log("value", act.Value)
	}
	return run.Err()
}
