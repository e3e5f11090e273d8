// Package awkward has what is hard to take apart: values that are chosen by
// another fragment's number, loops whose length one decides for others, guards in
// functions of several fragments, structs that are put together from everywhere.
package awkward

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
	Env             env.Batch
	Rollout         *replay.Rollout[kit.Step]
	Old             *rl.Slots[rl.Tensor]
	Net, Slow       *kit.Net
	Seen            *rl.Stats
	act             *rl.Func[rl.Obs, kit.Act]
	value           *rl.Func[rl.Obs, rl.Tensor]
	sum             *rl.Func[many, rl.Tensor]
	loss            *rl.Loss[kit.Sample, rl.Tensor]
	opt             *rl.Opt
}

type (
	many struct{ All []rl.Tensor }
	// mixed has fields of several fragments.
	mixed struct {
		batch  kit.Step
		weight rl.Tensor
		last   rl.Obs
		steps  int
		mean   float64
	}
)

func New(s *rl.Scope, makeEnv algo.MakeEnv, n int) (*Trainer, error) {
	e, err := makeEnv.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Horizon: 4, Rounds: 4, Env: e, Rollout: replay.NewRollout[kit.Step](s, "rollout")}
	t.Net, t.Slow, t.Seen = kit.New(s, "net", e.Spec()), kit.New(s, "slow", e.Spec()), rl.NewStats(s, "seen", 5)
	t.Old = rl.NewSlots(s, "old", rl.FromFlat(s, make([]float32, e.Spec().Rows), e.Spec().Rows))
	t.act, t.value = rl.NewFunc(s, "act", t.Net.Policy), rl.NewFunc(s, "value", t.Slow.Value)
	t.sum = rl.NewFunc(s, "sum", sumGraph)
	t.loss, t.opt = rl.NewLoss(s, "loss", t.Net.PolicyLoss, t.Net.Params), rl.NewOpt(s, "adam", nn.Adam{}, t.Net.Params)
	return t, nil
}

func sumGraph(_ *rl.Ctx, m many) rl.Tensor { return kit.Plus(m.All...) }

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		m := t.collect(run)
		rounds, total := t.Rounds, 0.
		if m.mean > .25 { // the learner's number decides
			rounds--
			m.weight = m.batch.Act.Value
		}
		for r := range rounds {
			loss, skip := t.update(run.At("round", r), m, r)
			if skip {
				continue
			}
			total += run.Value(rl.Mean(loss))
			if total > 100 {
				break
			}
		}
		extra := 1
		if total > .5 {
			extra = 2
		}
		obs := m.last
		for i := range extra { // and for how long environments go on
			a := t.act.Call(run.Key("extra", i), obs)
			out := t.Env.Step(a.Action)
			obs = out.Obs
			run.Log("extra", out.Reward)
		}
		run.Log("after", t.value.Call(rl.Key{}, obs))
		if m.steps > 2 {
			t.Slow.Params.Blend(t.Net.Params, .1)
		}
	}
	return run.Err()
}

// collect is of all fragments.
func (t *Trainer) collect(run *rl.Run) (m mixed) {
	m.last = t.Env.Obs()
	old := t.Old.Get()
	var seen []rl.Tensor
	var act kit.Act
	for i := range t.Horizon {
		act = t.act.Call(run.Key("act", i), m.last)
		out := t.Env.Step(act.Action)
		if m.steps++; i%2 == 1 {
			seen = append(seen, out.Reward)
			old = rl.Select(out.Over, old, out.Reward)
		}
		t.Rollout.Insert(kit.Step{Obs: m.last, Act: act, Reward: old, Terminated: out.Terminated, Over: out.Over})
		m.last = out.Obs
	}
	t.Old.Set(old)
	m.batch = t.Rollout.Drain()
	m.weight = m.batch.Reward
	total := t.sum.Call(rl.Key{}, many{append(seen, act.Value)})
	m.mean = run.Value(rl.Mean(total))
	return
}

// update has guards in its way.
func (t *Trainer) update(run *rl.Run, m mixed, r int) (rl.Tensor, bool) {
	if r == 1 && m.mean > .3 {
		return rl.Tensor{}, true
	}
	s := kit.Sample{Obs: m.batch.Obs, Action: m.batch.Act.Action, Adv: m.weight, Ret: m.batch.Reward}
	if r == 2 {
		t.Seen.Update(m.batch.Reward)
		s.Adv = rl.Standardise(s.Adv, rl.Tensor{})
	}
	g, loss := t.loss.Grad(run.Key("loss"), s)
	t.opt.Apply(g, 1e-2)
	run.Log("loss", loss)
	return loss, false
}
