// Package nested is a loop in a loop in a loop: several rollouts an iteration,
// each of them learnt from in several passes.
package nested

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Rounds, Horizon, Epochs, Minibatches int
	Env                                  env.Batch
	Rollout                              *replay.Rollout[kit.Step]
	act                                  *rl.Func[rl.Obs, kit.Act]
	value                                *rl.Func[rl.Obs, rl.Tensor]
	loss                                 *rl.Loss[kit.Sample, rl.Tensor]
	opt                                  *rl.Opt
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	net := kit.New(s, "net", e.Spec())
	return &Trainer{
		Rounds: 2, Horizon: 4, Epochs: 2, Minibatches: 2,
		Env:     e,
		Rollout: replay.NewRollout[kit.Step](s, "rollout"),
		act:     rl.NewFunc(s, "act", net.Policy),
		value:   rl.NewFunc(s, "value", net.Value),
		loss:    rl.NewLoss(s, "loss", net.PolicyLoss, net.Params),
		opt:     rl.NewOpt(s, "adam", nn.Adam{}, net.Params),
	}, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		for r := range t.Rounds {
			obs := t.Env.Obs()
			for i := range t.Horizon {
				act := t.act.Call(run.Key("act", r, i), obs)
				out := t.Env.Step(act.Action)
				t.Rollout.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
				obs = out.Obs
			}
			steps, last := t.Rollout.Drain(), t.value.Call(rl.Key{}, obs)
			adv, ret := rl.GAE(.99, .95, steps.Reward, steps.Act.Value, rl.Shift(steps.Act.Value, last), steps.Terminated, steps.Over)
			batch := kit.Sample{Obs: steps.Obs, Action: steps.Act.Action, Adv: adv, Ret: ret}
			for e := range t.Epochs {
				for m := range t.Minibatches {
					mini := replay.Take(batch, run.Key("shuffle", r, e), replay.ByStep, m, t.Minibatches)
					g, loss := t.loss.Grad(run.Key("loss", r, e, m), mini)
					t.opt.Apply(g, 1e-3)
					run.Log("loss", loss)
				}
			}
		}
	}
	return run.Err()
}
