// Package secondenv evaluates in environments of its own.
package secondenv

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Env, Eval env.Batch
	act       *rl.Func[rl.Obs, kit.Act]
}

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	if err != nil {
		return nil, err
	}
	eval, err := m.Batch(2)
	return &Trainer{Env: e, Eval: eval, act: rl.NewFunc(s, "act", kit.New(s, "net", e.Spec()).Policy)}, err
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		t.Env.Step(t.act.Call(run.Key("act"), t.Env.Obs()).Action)
		obs := t.Eval.Obs()                                  // want `a loop has one batch of environments, and this is a second one; evaluate with --eval-every`
		t.Eval.Step(t.act.Call(run.Key("eval"), obs).Action) // want `a loop has one batch of environments`
	}
	return run.Err()
}
