// Package world trains a model of the world, a policy in what the model imagines,
// and values of that: three losses, each fed by what the one before gives beside
// its gradient; and a switch.
package world

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Every, Updates, Batch int
	Mode                  string
	Env                   env.Batch
	Replay                *kit.Table[kit.Sample]
	World, Pi, V, Slow    *kit.Net
	Scale                 *rl.Stats
	act                   *rl.Func[rl.Obs, kit.Act]
	wLoss, piLoss, vLoss  *rl.Loss[kit.Sample, kit.Sample]
	wOpt, piOpt, vOpt     *rl.Opt
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Every: 2, Updates: 2, Batch: 4, Mode: "both", Env: e, Replay: kit.NewTable[kit.Sample](s, "replay", 50), Scale: rl.NewStats(s, "scale", 0)}
	t.World, t.Pi, t.V, t.Slow = kit.New(s, "world", e.Spec()), kit.New(s, "pi", e.Spec()), kit.New(s, "v", e.Spec()), kit.New(s, "slow", e.Spec())
	t.act = rl.NewFunc(s, "act", t.Pi.Policy)
	t.wLoss, t.piLoss, t.vLoss = rl.NewLoss(s, "w", t.worldGraph, t.World.Params), rl.NewLoss(s, "p", t.dreamGraph, t.Pi.Params), rl.NewLoss(s, "l", t.valueGraph, t.V.Params)
	t.wOpt, t.piOpt, t.vOpt = rl.NewOpt(s, "w opt", nn.Adam{}, t.World.Params), rl.NewOpt(s, "pi opt", nn.Adam{}, t.Pi.Params), rl.NewOpt(s, "v opt", nn.Adam{}, t.V.Params)
	return t, nil
}

func (t *Trainer) worldGraph(c *rl.Ctx, s kit.Sample) (loss, weight rl.Tensor, post kit.Sample) {
	l, w, _ := t.World.ValueLoss(c, s)
	return l, w, s
}

func (t *Trainer) dreamGraph(c *rl.Ctx, s kit.Sample) (loss, weight rl.Tensor, dream kit.Sample) {
	s.Adv = rl.Wrap(t.Scale.Scale(c, t.World.Value(c, s.Obs).Node()))
	s.Ret = t.Slow.Value(c, s.Obs)
	l, w, _ := t.Pi.PolicyLoss(c, s)
	return l, w, s
}

func (t *Trainer) valueGraph(c *rl.Ctx, s kit.Sample) (loss, weight rl.Tensor, same kit.Sample) {
	l, w, _ := t.V.ValueLoss(c, s)
	return l, w, s
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		for i := range t.Every {
			obs := t.Env.Obs()
			act := t.act.Call(run.Key("act", i), obs)
			out := t.Env.Step(act.Action)
			t.Replay.Insert(kit.Sample{Obs: obs, Action: act.Action, Adv: out.Reward, Ret: out.Reward})
		}
		for u := range t.Updates {
			s := t.Replay.Sample(run.Key("sample", u), t.Batch)
			g, post := t.wLoss.Grad(run.Key("world", u), s)
			t.wOpt.Apply(g, 1e-3)
			switch t.Mode {
			case "world":
				run.Log("skipped", rl.Scalar(1))
			case "both":
				t.dream(run, u, post)
			default:
				t.dream(run, u, s)
			}
		}
	}
	return run.Err()
}

func (t *Trainer) dream(run *rl.Run, u int, from kit.Sample) {
	g, dream := t.piLoss.Grad(run.Key("dream", u), from)
	t.piOpt.Apply(g, 1e-3)
	t.Scale.Update(dream.Ret)
	g, _ = t.vLoss.Grad(run.Key("value", u), dream)
	t.vOpt.Apply(g, 1e-3)
	t.Slow.Params.Blend(t.V.Params, .02)
}
