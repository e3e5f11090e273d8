// Package leaving leaves functions, loops and switches from everywhere: returns in
// branches and loops of functions that are read through, breaks and continues of
// outer loops, operations in conditions of every kind.
package leaving

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Horizon, Updates int
	Limit            float64
	Mode             string
	Env              env.Batch
	Rollout          *replay.Rollout[kit.Step]
	Table            *kit.Table[kit.Step]
	Net, Slow        *kit.Net
	act              *rl.Func[rl.Obs, kit.Act]
	value            *rl.Func[rl.Obs, rl.Tensor]
	loss             *rl.Loss[kit.Sample, rl.Tensor]
	opt              *rl.Opt
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Horizon: 4, Updates: 3, Limit: .3, Mode: "both", Env: e, Rollout: replay.NewRollout[kit.Step](s, "rollout"), Table: kit.NewTable[kit.Step](s, "table", 6)}
	t.Net, t.Slow = kit.New(s, "net", e.Spec()), kit.New(s, "slow", e.Spec())
	t.act, t.value = rl.NewFunc(s, "act", t.Net.Policy), rl.NewFunc(s, "value", t.Slow.Value)
	t.loss, t.opt = rl.NewLoss(s, "loss", t.Net.PolicyLoss, t.Net.Params), rl.NewOpt(s, "adam", nn.Adam{}, t.Net.Params)
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		b := t.collect(run)
		if t.Limit > 1 || t.Table.Ready(2) && run.Value(rl.Mean(b.Reward)) > t.Limit/2 {
			run.Log("reward", b.Reward)
		}
	rounds:
		for u := range t.Updates {
			for i := range 3 {
				switch rate := t.rate(run, b, u, i); {
				case rate < 0:
					continue rounds
				case rate > 2:
					break rounds
				case i == 2:
					break
				default:
					g, loss := t.loss.Grad(run.Key("loss", u, i), kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: b.Reward})
					t.opt.Apply(g, rate)
					run.Log("loss", loss)
				}
			}
		}
		for n := 0; n < 2 && t.Table.Ready(n+1); n++ {
			t.Slow.Params.Blend(t.Net.Params, .1)
		}
		run.Log("worth", t.worth(run, b.Obs))
	}
	return run.Err()
}

// collect ends early.
func (t *Trainer) collect(run *rl.Run) (b kit.Step) {
	obs := t.Env.Obs()
	for i := range t.Horizon {
		act := t.act.Call(run.Key("act", i), obs)
		out := t.Env.Step(act.Action)
		s := kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over}
		t.Rollout.Insert(s)
		t.Table.Insert(s)
		if i > 0 && run.Value(rl.Mean(out.Reward)) > t.Limit {
			return t.Rollout.Drain()
		}
		obs = out.Obs
	}
	b = t.Rollout.Drain()
	return
}

// rate has returns in branches of branches.
func (t *Trainer) rate(run *rl.Run, b kit.Step, u, i int) float64 {
	if u > 0 {
		if run.Value(rl.Mean(b.Act.Value)) > t.Limit {
			return -1
		}
		if i == 1 {
			return 1e-3
		}
	} else if run.Iter() > 4 {
		return 3
	}
	switch t.Mode {
	case "fast":
		return 1e-2
	case "both":
		if i > 0 {
			return 1e-4
		}
	}
	return 1e-3
}

// worth returns in a switch, and behind it.
func (t *Trainer) worth(run *rl.Run, obs rl.Obs) rl.Tensor {
	switch {
	case run.Iter() < 2:
		return t.value.Call(rl.Key{}, obs)
	case run.Iter() < 3:
		t.Slow.Params.Blend(t.Net.Params, .2)
	}
	return rl.Standardise(t.value.Call(rl.Key{}, obs), rl.Tensor{})
}
