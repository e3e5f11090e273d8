// Package around has operations before and behind the loop over iterations.
package around

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Env       env.Batch
	Net, Slow *kit.Net
	act       *rl.Func[rl.Obs, kit.Act]
}

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Env: e, Net: kit.New(s, "net", e.Spec()), Slow: kit.New(s, "slow", e.Spec())}
	t.act = rl.NewFunc(s, "act", t.Net.Policy)
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	t.Slow.Params.Blend(t.Net.Params, 1) // want `this operation stands outside of the loop over run.Next.*do it inside the loop, or in the constructor`
	xs := make([]float64, 2)
	for run.Next() {
		t.Env.Step(t.act.Call(run.Key("act"), t.Env.Obs()).Action)
		xs[0] = run.Progress() // want `this slice is made outside of the loop over run.Next`
	}
	t.last(run)
	return run.Err()
}

func (t *Trainer) last(run *rl.Run) {
	run.Log("last", rl.Scalar(1)) // want `this operation stands outside of the loop over run.Next` `this operation stands outside of the loop over run.Next`
}
