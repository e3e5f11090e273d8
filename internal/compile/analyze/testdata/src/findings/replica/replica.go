// Package replica looks at what differs from replica to replica.
package replica

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Env  env.Batch
	half int
	act  *rl.Func[rl.Obs, kit.Act]
}

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	if err != nil {
		return nil, err
	}
	return &Trainer{Env: e, half: e.Spec().Rows / 2, act: rl.NewFunc(s, "act", kit.New(s, "net", e.Spec()).Policy)}, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		out := t.Env.Step(t.act.Call(run.Key("act"), obs).Action)
		spec := t.Env.Spec()
		run.Log("all", rl.Scalar(float64(spec.Envs)))
		run.Log("rows", rl.Scalar(float64(spec.Rows))) // want `spec.Rows is what this replica has of the environments`
		run.Log("first", rl.Scalar(first(spec)))
		run.Log("half", rl.Scalar(float64(t.half))) // want `t.half is what this replica has of the environments`
		x, n := count(out.Reward)                   // want `count is marked //weft:rows and returns .*, of which numbers would be of some rows only`
		run.Log("x", x)
		run.Log("n", rl.Scalar(float64(n)))
		if out.Final.First.Ok() { // want `this condition depends on a batch`
			run.Log("first", out.Final.First)
		}
	}
	return run.Err()
}

func first(s env.Spec) float64 { return float64(s.First) } // want `s.First is what this replica has of the environments`

//weft:rows
func count(x rl.Tensor) (rl.Tensor, int) { return x, 4 }
