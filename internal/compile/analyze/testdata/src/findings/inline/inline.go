// Package inline makes a component in the loop.
package inline

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

//weft:train
func Train(t *base.Trainer, run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		act := t.Act.Call(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		s := &kit.Table[kit.Step]{}                                // want `what holds state is made in the constructor`
		s.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward}) // want `which component is meant by component is not known`
	}
	return run.Err()
}
