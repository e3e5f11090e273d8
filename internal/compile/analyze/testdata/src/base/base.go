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
	Act     *rl.Func[rl.Obs, kit.Act]
	Loss    *rl.Loss[kit.Sample, rl.Tensor]
	Opt     *rl.Opt
	Net     *kit.Net
	Other   *kit.Net
	Memory  *rl.Slots[rl.Tensor]
	Table   *kit.Table[kit.Step]
	Count   int
}

// New makes one.
func New(s *rl.Scope, makeEnv algo.MakeEnv, n int) (*Trainer, error) {
	return Named(s, "base", makeEnv, n)
}

// Named makes one of several, whose components are told apart by name.
func Named(s *rl.Scope, name string, makeEnv algo.MakeEnv, n int) (*Trainer, error) {
	e, err := makeEnv.Batch(n)
	if err != nil {
		return nil, err
	}
	net := kit.New(s, name, e.Spec())
	return &Trainer{
		Horizon: 4, Env: e, Rollout: replay.NewRollout[kit.Step](s, name+" rollout"), Act: rl.NewFunc(s, name+" act", net.Policy),
		Net: net, Other: kit.New(s, name+" other", e.Spec()), Memory: rl.NewSlots(s, name+" memory", rl.FromFlat(s, make([]float32, e.Spec().Rows), e.Spec().Rows)),
		Table: kit.NewTable[kit.Step](s, name+" table", 10),
		Loss:  rl.NewLoss(s, name+" loss", net.PolicyLoss, net.Params), Opt: rl.NewOpt(s, name+" adam", nn.Adam{}, net.Params),
	}, nil
}

// Collect steps the environments.
func (t *Trainer) Collect(run *rl.Run) kit.Step {
	obs := t.Env.Obs()
	for i := range t.Horizon {
		act := t.Act.Call(run.Key("act", i), obs)
		out := t.Env.Step(act.Action)
		t.Rollout.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
		obs = out.Obs
	}
	return t.Rollout.Drain()
}

// Learn makes one step.
func (t *Trainer) Learn(run *rl.Run, b kit.Step) {
	g, loss := t.Loss.Grad(run.Key("loss"), kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: b.Reward})
	t.Opt.Apply(g, 1e-3)
	run.Log("loss", loss)
}
