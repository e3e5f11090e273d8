// Package partial makes more than is wanted: two fields at once of which one
// crosses, a list around an operation that nobody reads, a function of minibatches
// of which a replica may have no row.
package partial

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Horizon, Parts int
	Env            env.Batch
	Rollout        *replay.Rollout[kit.Step]
	Net, Slow      *kit.Net
	act            *rl.Func[rl.Obs, kit.Act]
	value, slow    *rl.Func[rl.Obs, rl.Tensor]
	loss           *rl.Loss[kit.Sample, rl.Tensor]
	opt            *rl.Opt
}

// seen is what the actor thinks of where it came to.
type seen struct{ First, Last rl.Tensor }

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Horizon: 2, Parts: 3, Env: e, Rollout: replay.NewRollout[kit.Step](s, "rollout")}
	t.Net, t.Slow = kit.New(s, "net", e.Spec()), kit.New(s, "slow", e.Spec())
	t.act, t.value, t.slow = rl.NewFunc(s, "act", t.Net.Policy), rl.NewFunc(s, "value", t.Net.Value), rl.NewFunc(s, "slow", t.Slow.Value)
	t.loss, t.opt = rl.NewLoss(s, "loss", t.Net.PolicyLoss, t.Net.Params), rl.NewOpt(s, "adam", nn.Adam{Eps: 1e-3}, t.Net.Params)
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		kept := []rl.Tensor{t.value.Call(rl.Key{}, obs)}
		for i := range t.Horizon {
			act := t.act.Call(run.Key("act", i), obs)
			out := t.Env.Step(act.Action)
			t.Rollout.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
			obs = out.Obs
		}
		var s seen
		s.First, s.Last = t.both(obs)
		b := t.Rollout.Drain()
		ret := rl.NStep(.99, 2, b.Reward, rl.Shift(t.slow.Call(rl.Key{}, b.Obs), s.Last), b.Terminated, b.Over)
		for m := range t.Parts {
			mini := replay.Take(kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: ret, Ret: ret}, run.Key("shuffle"), replay.ByEnv, m, t.Parts)
			g, loss := t.loss.Grad(run.Key("loss", m), kit.Sample{Obs: mini.Obs, Action: mini.Action, Adv: mini.Adv, Ret: t.slow.Call(rl.Key{}, mini.Obs)})
			t.opt.Apply(g, 1e-3)
			run.Log("loss", loss)
		}
		if run.Iter() > 1 {
			kept = append(kept, s.First)
		}
		run.Log("first", s.First)
		run.Log("last", rl.Standardise(s.Last, rl.Tensor{}))
	}
	return run.Err()
}

func (t *Trainer) both(obs rl.Obs) (rl.Tensor, rl.Tensor) {
	return t.value.Call(rl.Key{}, obs), t.slow.Call(rl.Key{}, obs)
}
