// Package send sends a batch into a channel.
package send

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
		c := make(chan rl.Tensor, 1) // want `a channel hides where its values go`
		c <- out.Reward              // want `a channel hides where a value goes`
		run.Log("reward", <-c)       // want `a channel hides where its values come from`
	}
	return run.Err()
}
