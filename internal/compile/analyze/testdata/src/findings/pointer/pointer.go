// Package pointer takes the address of a batch and of a variable.
package pointer

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
		p := &out // want `a pointer to a batch lets it be changed`
		n := 3
		q := &n // want `a pointer to a variable lets it be changed`
		_, _ = p, q
		r := new(int) // want `new makes a variable that can be changed from elsewhere`
		*r = 3        // want `writing through a pointer changes a value that others may hold`
	}
	return run.Err()
}
