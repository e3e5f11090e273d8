// Package literal makes a graph function from a literal.
package literal

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Env env.Batch
	act *rl.Func[rl.Obs, rl.Tree]
}

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	act := rl.NewFunc(s, "act", func(_ *rl.Ctx, o rl.Obs) rl.Tree { return o.X }) // want `a graph function must be a declared function or method`
	return &Trainer{Env: e, act: act}, err
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		t.Env.Step(t.act.Call(run.Key("act"), t.Env.Obs()))
	}
	return run.Err()
}
