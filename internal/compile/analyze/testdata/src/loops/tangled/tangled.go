// Package tangled is hard to read on purpose: two names for one network, structs
// that are changed in copies, slices that grow, values that come from before,
// inside and after loops which may be left in the middle.
package tangled

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Horizon, Rounds int
	Limit           float64
	Env             env.Batch
	Rollout         *replay.Rollout[kit.Step]
	Memory          *rl.Slots[pair]
	parts           holder
	Net, Same, Slow *kit.Net
}

type (
	pair   struct{ A, B rl.Tensor }
	holder struct {
		play  *rl.Func[rl.Obs, kit.Act]
		slow  *rl.Func[rl.Obs, rl.Tensor]
		learn learner
		sum   *rl.Func[many, rl.Tensor]
	}
	learner struct {
		loss *rl.Loss[kit.Sample, rl.Tensor]
		opt  *rl.Opt
	}
	many struct{ All []rl.Tensor }
)

func New(s *rl.Scope, makeEnv algo.MakeEnv, n int) (*Trainer, error) {
	e, err := makeEnv.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Horizon: 5, Rounds: 3, Limit: .3, Env: e, Rollout: replay.NewRollout[kit.Step](s, "rollout")}
	t.Net = kit.New(s, "net", e.Spec())
	t.Same, t.Slow = t.Net, kit.New(s, "slow", e.Spec())
	zero := rl.FromFlat(s, make([]float32, e.Spec().Rows), e.Spec().Rows)
	t.Memory = rl.NewSlots(s, "memory", pair{zero, zero})
	t.parts = holder{
		play: rl.NewFunc(s, "play", t.Same.Policy), slow: rl.NewFunc(s, "value", t.Slow.Value), sum: rl.NewFunc(s, "sum", sumGraph),
		learn: learner{rl.NewLoss(s, "loss", t.Same.ValueLoss, t.Net.Params), rl.NewOpt(s, "adam", nn.Adam{}, t.Same.Params)},
	}
	return t, nil
}

func sumGraph(_ *rl.Ctx, m many) rl.Tensor { return kit.Plus(m.All...) }

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		mem := t.Memory.Get()
		first, last := t.Env.Obs(), t.Env.Obs()
		seen := []rl.Tensor{mem.A}
		for i := 0; i < t.Horizon; i++ {
			act, out, next := t.step(run.Key("act", i), last)
			seen = append(seen, out.Reward)
			changed := swap(mem)
			changed.A = rl.Keep(act.Value, out.Over)
			if i%2 == 0 {
				mem = changed
			}
			t.Rollout.Insert(kit.Step{Obs: last, Act: act, Reward: changed.B, Terminated: out.Terminated, Over: out.Over})
			last = next
			if run.Value(rl.Mean(out.Reward)) > t.Limit {
				first = out.Final
				break
			}
		}
		mem.B = t.parts.sum.Call(rl.Key{}, many{seen[:2]})
		t.Memory.Set(mem)
		b := t.Rollout.Drain()
		target := t.parts.slow.Call(rl.Key{}, first)
		var weight rl.Tensor
		switch r := run.Iter() % 3; {
		case r == 0:
			weight = b.Reward
		case r == 1:
			weight = rl.Standardise(b.Reward, weight)
		default:
			weight = rl.Select(b.Over, b.Reward, b.Act.Value)
		}
		for r := range t.Rounds {
			if r == 1 && run.Iter() > 2 {
				continue
			}
			t.parts.learn.once(run.At("round", r), kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: weight, Ret: weight})
		}
		t.Slow.Params.Blend(t.Net.Params, .5)
		run.Log("target", target)
		run.Log("end", t.parts.slow.Call(rl.Key{}, last))
	}
	return run.Err()
}

func (t *Trainer) step(k rl.Key, obs rl.Obs) (kit.Act, rl.Step, rl.Obs) {
	act := t.parts.play.Call(k, obs)
	out := t.Env.Step(act.Action)
	return act, out, out.Obs
}

// swap changes its copy.
func swap(p pair) pair {
	p.A, p.B = p.B, p.A
	return p
}

func (l learner) once(run *rl.Run, s kit.Sample) {
	g, loss := l.loss.Grad(run.Key("loss"), s)
	l.opt.Apply(g, 1e-3)
	run.Log("loss", loss)
}
