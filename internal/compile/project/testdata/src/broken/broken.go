// Package broken has generated files that do not compile. It learns every few steps, inside the loop that collects: weights
// are read and written in one round of it.
package broken

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Steps, Every int
	Env          env.Batch
	Rollout      *replay.Rollout[kit.Step]
	act          *rl.Func[rl.Obs, kit.Act]
	loss         *rl.Loss[kit.Sample, rl.Tensor]
	opt          *rl.Opt
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	net := kit.New(s, "net", e.Spec())
	t := &Trainer{Steps: 8, Every: 4, Env: e}
	t.Rollout = replay.NewRollout[kit.Step](s, "rollout")
	t.act = rl.NewFunc(s, "act", net.Policy)
	t.loss = rl.NewLoss(s, "loss", net.PolicyLoss, net.Params)
	t.opt = rl.NewOpt(s, "sgd", nn.SGD{}, net.Params)
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		for i := range t.Steps {
			act := t.act.Call(run.Key("act", i), obs)
			out := t.Env.Step(act.Action)
			t.Rollout.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
			obs = out.Obs
			if (i+1)%t.Every != 0 {
				continue
			}
			b := t.Rollout.Drain()
			ret := rl.NStep(.99, t.Every, b.Reward, b.Act.Value, b.Terminated, b.Over)
			g, loss := t.loss.Grad(run.Key("loss", i), kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: ret, Ret: ret})
			t.opt.Apply(g, 1e-3)
			run.Log("loss", loss)
		}
	}
	return run.Err()
}
