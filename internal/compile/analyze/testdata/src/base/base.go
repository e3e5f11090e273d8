// Package base is an algorithm that others build on.
package base

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer collects and learns.
type Trainer struct {
	Horizon int
	Env     env.Batch
	Rollout *replay.Rollout[kit.Step]
	act     *rl.Func[rl.Obs, kit.Act]
	loss    *rl.Loss[kit.Sample, rl.Tensor]
	opt     *rl.Opt
}

// New makes one.
func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make(n)
	if err != nil {
		return nil, err
	}
	net := kit.New(s, "base", e.Spec())
	return &Trainer{
		Horizon: 4, Env: e, Rollout: replay.NewRollout[kit.Step](s, "rollout"), act: rl.NewFunc(s, "act", net.Policy),
		loss: rl.NewLoss(s, "loss", net.PolicyLoss, net.Params), opt: rl.NewOpt(s, "adam", nn.Adam{}, net.Params),
	}, nil
}

// Collect steps the environments.
func (t *Trainer) Collect(run *rl.Run) kit.Step {
	obs := t.Env.Obs()
	for i := range t.Horizon {
		act := t.act.Call(run.Key("act", i), obs)
		out := t.Env.Step(act.Action)
		t.Rollout.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
		obs = out.Obs
	}
	return t.Rollout.Drain()
}

// Learn makes one step.
func (t *Trainer) Learn(run *rl.Run, b kit.Step) {
	g, loss := t.loss.Grad(run.Key("loss"), kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: b.Reward})
	t.opt.Apply(g, 1e-3)
	run.Log("loss", loss)
}
