// Package ambiguous uses what may be one of two components, or none.
package ambiguous

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Env            env.Batch
	Rollout, Spare *replay.Rollout[kit.Step]
	act            *rl.Func[rl.Obs, kit.Act]
	absent         *rl.Func[rl.Obs, kit.Act]
}

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Env: e, Rollout: replay.NewRollout[kit.Step](s, "a"), Spare: replay.NewRollout[kit.Step](s, "b")}
	t.act = rl.NewFunc(s, "act", kit.New(s, "net", e.Spec()).Policy)
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		act := t.act.Call(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		r := t.Rollout
		if run.Iter()%2 == 0 {
			r = t.Spare
		}
		r.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
		run.Log("reward", r.Drain().Reward) // want `r.Drain may be one of 2 components`
		f := t.act
		if run.Iter() > 3 {
			f = t.absent
		}
		run.Log("value", f.Call(run.Key("f"), obs).Value) // want `which component is meant by f.Call is not known`
	}
	return run.Err()
}
