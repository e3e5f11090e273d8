// Package control has what a device program must decide itself: branches on
// counters, on what it computed and on what a table holds, loops that end early,
// numbers that are added up, draws from a table that has been filled.
package control

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Steps, Updates, Batch, Delay int
	Rate, Limit                  float64
	Env                          env.Batch
	Replay                       *replay.Table[kit.Step]
	Net, Slow                    *kit.Net
	act                          *rl.Func[rl.Obs, kit.Act]
	slow                         *rl.Func[rl.Obs, rl.Tensor]
	loss                         *rl.Loss[kit.Sample, rl.Tensor]
	opt                          *rl.Opt
}

func New(s *rl.Scope, makeEnv algo.MakeEnv, n int) (*Trainer, error) {
	e, err := makeEnv.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Steps: 2, Updates: 3, Batch: 4, Delay: 2, Rate: 1e-2, Limit: .2, Env: e}
	t.Replay = replay.NewTable[kit.Step](s, "replay", 23, replay.Options{Sequence: 2}) // no multiple of the environments
	t.Net, t.Slow = kit.New(s, "net", e.Spec()), kit.New(s, "slow", e.Spec())
	t.act, t.slow = rl.NewFunc(s, "act", t.Net.Policy), rl.NewFunc(s, "value", t.Slow.Value)
	t.loss, t.opt = rl.NewLoss(s, "loss", t.Net.ValueLoss, t.Net.Params), rl.NewOpt(s, "adam", nn.Adam{}, t.Net.Params)
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		var act kit.Act
		for i := 0; i < t.Steps; i++ {
			act = t.act.Call(run.Key("act", i), obs)
			out := t.Env.Step(act.Action)
			t.Replay.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over}, out.Over)
			obs = out.Obs
		}
		rate := t.Rate
		if run.Iter() > 3 {
			rate /= 2
		}
		if run.Iter() < 1 {
			continue
		}
		if t.Replay.Ready(3 * t.Batch) {
			t.learn(run, rate)
		}
		switch r := run.Iter() % 3; r {
		case 0:
			run.Log("third", act.Value)
		case 1, 4:
			t.Slow.Params.Blend(t.Net.Params, .5)
		}
		switch {
		case run.Iter() > 10:
		case t.Replay.Ready(4 * t.Batch):
			run.Log("full", act.Value)
		default:
			run.Log("filling", act.Value)
		}
	}
	return run.Err()
}

func (t *Trainer) learn(run *rl.Run, rate float64) {
	n, worst := 0, 0.
	for u := range t.Updates {
		s := t.Replay.Sample(run.Key("sample", u), t.Batch)
		g, loss := t.loss.Grad(run.Key("loss", u), kit.Sample{Obs: s.Data.Obs, Action: s.Data.Act.Action, Adv: s.Data.Reward, Ret: s.Data.Reward})
		t.opt.Apply(g, rate)
		n++
		if mean := run.Value(rl.Mean(loss)); mean > worst {
			worst = mean
		}
		if t.opt.Count()%int64(t.Delay) == 0 {
			t.Slow.Params.Blend(t.Net.Params, .1)
			continue
		}
		if worst > t.Limit {
			break
		}
		run.Log("value", t.slow.Call(rl.Key{}, s.Data.Obs))
	}
	run.Log("worst", rl.Scalar(worst))
	run.Log("updates", rl.Scalar(float64(n)))
}
