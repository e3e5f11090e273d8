// Package unresolved uses a field that its constructor does not set.
package unresolved

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Env env.Batch
	act *rl.Func[rl.Obs, kit.Act]
}

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	return &Trainer{Env: e}, err
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		act := t.act.Call(run.Key("act"), t.Env.Obs()) // want `which component is meant by t.act.Call is not known from the constructor`
		t.Env.Step(act.Action)
	}
	return run.Err()
}
