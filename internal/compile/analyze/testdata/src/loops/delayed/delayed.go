// Package delayed updates its policy less often than its values, and follows both
// with slow copies.
package delayed

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Config
	Env                  env.Batch
	Replay               *kit.Table[kit.Step]
	Pi, Q, PiSlow, QSlow *kit.Net
	piOpt, qOpt          *rl.Opt
	act                  *rl.Func[rl.Obs, kit.Act]
	target               *rl.Func[rl.Obs, rl.Tensor]
	piLoss, qLoss        *rl.Loss[kit.Sample, rl.Tensor]
}

type Config struct {
	Warmup                int64
	Updates, Delay, Batch int
	Tau, Rate             float64
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Config: Config{Warmup: 4, Updates: 2, Delay: 2, Batch: 4, Tau: .1, Rate: 1e-3}, Env: e, Replay: kit.NewTable[kit.Step](s, "replay", 100)}
	t.Pi, t.Q = kit.New(s, "pi", e.Spec()), kit.New(s, "q", e.Spec())
	t.PiSlow, t.QSlow = kit.New(s, "pi slow", e.Spec()), kit.New(s, "q slow", e.Spec())
	t.act, t.target = rl.NewFunc(s, "act", t.Pi.Policy), rl.NewFunc(s, "target", t.QSlow.Value)
	t.piLoss = rl.NewLoss(s, "pi loss", t.Pi.PolicyLoss, t.Pi.Params)
	t.qLoss = rl.NewLoss(s, "q loss", t.Q.ValueLoss, t.Q.Params)
	t.piOpt, t.qOpt = rl.NewOpt(s, "pi opt", nn.Adam{}, t.Pi.Params), rl.NewOpt(s, "q opt", nn.Adam{}, t.Q.Params)
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		act := t.act.Call(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		t.Replay.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
		if run.Steps() >= t.Warmup {
			for u := range t.Updates {
				t.update(run, u)
			}
		}
	}
	return run.Err()
}

func (t *Trainer) update(run *rl.Run, u int) {
	b := t.Replay.Sample(run.Key("sample", u), t.Batch)
	s := kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: t.target.Call(rl.Key{}, b.Obs)}
	g, q := t.qLoss.Grad(run.Key("q", u), s)
	t.qOpt.Apply(g, t.Rate)
	run.Log("q", q)
	if t.qOpt.Count()%int64(t.Delay) == 0 { // the learner's clock
		g, p := t.piLoss.Grad(run.Key("pi", u), s)
		t.piOpt.Apply(g, t.Rate)
		run.Log("pi", p)
		t.PiSlow.Params.Blend(t.Pi.Params, t.Tau)
	}
	t.QSlow.Params.Blend(t.Q.Params, t.Tau)
}
