// Package phases learns offline first, then goes on with environments; both parts
// share a table and an update.
package phases

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Offline int64
	Batch   int
	Env     env.Batch
	Replay  *kit.Table[kit.Step]
	Net     *kit.Net
	act     *rl.Func[rl.Obs, kit.Act]
	loss    *rl.Loss[kit.Sample, rl.Tensor]
	opt     *rl.Opt
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Offline: 2, Batch: 4, Env: e, Replay: kit.NewTable[kit.Step](s, "replay", 50), Net: kit.New(s, "net", e.Spec())}
	t.act = rl.NewFunc(s, "act", t.Net.Policy)
	t.loss, t.opt = rl.NewLoss(s, "loss", t.Net.PolicyLoss, t.Net.Params), rl.NewOpt(s, "adam", nn.Adam{}, t.Net.Params)
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	first := run.Phase("offline", t.Offline)
	for first.Next() {
		if t.Replay.Ready(t.Batch) {
			t.update(first)
		}
	}
	for run.Next() {
		obs := t.Env.Obs()
		act := t.act.Call(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		t.Replay.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
		t.update(run)
	}
	return run.Err()
}

func (t *Trainer) update(run *rl.Run) {
	b := t.Replay.Sample(run.Key("sample"), t.Batch)
	g, loss := t.loss.Grad(run.Key("loss"), kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: b.Reward})
	t.opt.Apply(g, 1e-3)
	run.Log("loss", loss)
}
