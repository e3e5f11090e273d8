// Package sac acts at random while it warms up, and has three losses that read
// each other's networks: critics, a policy and a temperature.
package sac

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Warmup               int64
	Updates, Batch       int
	Delay                int
	Env                  env.Batch
	Replay               *kit.Table[kit.Step]
	Pi, Q, Slow, Alpha   *kit.Net
	act, random          *rl.Func[rl.Obs, kit.Act]
	qLoss, piLoss, aLoss *rl.Loss[kit.Sample, rl.Tensor]
	qOpt, piOpt, aOpt    *rl.Opt
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Warmup: 16, Updates: 2, Batch: 4, Delay: 2, Env: e, Replay: kit.NewTable[kit.Step](s, "replay", 50)}
	t.Pi, t.Q, t.Slow, t.Alpha = kit.New(s, "pi", e.Spec()), kit.New(s, "q", e.Spec()), kit.New(s, "slow", e.Spec()), kit.New(s, "alpha", e.Spec())
	uniform := kit.New(s, "uniform", e.Spec())
	t.act, t.random = rl.NewFunc(s, "act", t.Pi.Policy), rl.NewFunc(s, "random", uniform.Policy)
	t.qLoss, t.piLoss, t.aLoss = rl.NewLoss(s, "q loss", t.qGraph, t.Q.Params), rl.NewLoss(s, "pi loss", t.piGraph, t.Pi.Params), rl.NewLoss(s, "alpha loss", t.aGraph, t.Alpha.Params)
	t.qOpt, t.piOpt, t.aOpt = rl.NewOpt(s, "q opt", nn.Adam{}, t.Q.Params), rl.NewOpt(s, "pi opt", nn.Adam{}, t.Pi.Params), rl.NewOpt(s, "alpha opt", nn.Adam{}, t.Alpha.Params)
	return t, nil
}

func (t *Trainer) qGraph(c *rl.Ctx, s kit.Sample) (loss, weight, aux rl.Tensor) {
	s.Ret = kit.Plus(t.Slow.Value(c, s.Obs), t.Alpha.Value(c, s.Obs), t.Pi.Value(c, s.Obs))
	return t.Q.ValueLoss(c, s)
}

func (t *Trainer) piGraph(c *rl.Ctx, s kit.Sample) (loss, weight, aux rl.Tensor) {
	s.Adv = kit.Plus(t.Q.Value(c, s.Obs), t.Alpha.Value(c, s.Obs))
	return t.Pi.PolicyLoss(c, s)
}

func (t *Trainer) aGraph(c *rl.Ctx, s kit.Sample) (loss, weight, aux rl.Tensor) {
	s.Ret = t.Pi.Value(c, s.Obs)
	return t.Alpha.ValueLoss(c, s)
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		var act kit.Act
		if run.Steps() < t.Warmup {
			act = t.random.Call(run.Key("random"), obs)
		} else {
			act = t.act.Call(run.Key("act"), obs)
		}
		out := t.Env.Step(act.Action)
		t.Replay.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
		if run.Steps() < t.Warmup {
			continue
		}
		for u := range t.Updates {
			t.update(run, u)
		}
	}
	return run.Err()
}

func (t *Trainer) update(run *rl.Run, u int) {
	b := t.Replay.Sample(run.Key("sample", u), t.Batch)
	s := kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: b.Reward}
	g, q := t.qLoss.Grad(run.Key("q", u), s)
	t.qOpt.Apply(g, 1e-3)
	if (int(run.Iter())*t.Updates+u)%t.Delay == 0 {
		for d := range t.Delay { // as many policy updates as were left out
			g, lp := t.piLoss.Grad(run.Key("pi", u, d), s)
			t.piOpt.Apply(g, 1e-3)
			g, _ = t.aLoss.Grad(run.Key("alpha", u, d), s)
			t.aOpt.Apply(g, 1e-3)
			run.Log("logprob", lp)
		}
	}
	t.Slow.Params.Blend(t.Q.Params, .01)
	run.Log("q", q)
}
