// Package stores learns from a reservoir of single steps and from prioritised
// sequences: kinds of replay that the compiler has never heard of by name.
package stores

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Horizon, Batch int
	Env            env.Batch
	All            *replay.Reservoir[kit.Step]
	Sequences      *replay.Sequences[kit.Step]
	Net            *kit.Net
	act            *rl.Func[rl.Obs, kit.Act]
	rank           *rl.Func[rl.Tensor, rl.Tensor]
	policy, value  *rl.Loss[kit.Sample, rl.Tensor]
	opt            *rl.Opt
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{
		Horizon: 5, Batch: 4, Env: e, All: replay.NewReservoir[kit.Step](s, "all", 12), Net: kit.New(s, "net", e.Spec()),
		Sequences: replay.NewSequences[kit.Step](s, "sequences", 60, replay.SequenceOptions{Length: 3, Stride: 2, BurnIn: 1, Priority: true}),
	}
	t.act, t.rank = rl.NewFunc(s, "act", t.Net.Policy), rl.NewFunc(s, "rank", rank)
	t.policy, t.value = rl.NewLoss(s, "policy", t.Net.PolicyLoss, t.Net.Params), rl.NewLoss(s, "value", t.Net.ValueLoss, t.Net.Params)
	t.opt = rl.NewOpt(s, "adam", nn.Adam{}, t.Net.Params)
	return t, nil
}

// rank is the priority of a sequence: that of its last reward.
func rank(c *rl.Ctx, reward rl.Tensor) rl.Tensor { return kit.Rank(c, kit.Last(reward)) }

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		for i := range t.Horizon {
			act := t.act.Call(run.Key("act", i), obs)
			out := t.Env.Step(act.Action)
			step := kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over}
			t.All.Insert(step, out.Terminated)
			t.Sequences.Insert(step, out.Over)
			obs = out.Obs
		}
		if t.All.Ready(1) {
			s := t.All.Sample(run.Key("all"), t.Batch).Data
			t.learn(run, t.value, kit.Sample{Obs: s.Obs, Action: s.Act.Action, Adv: s.Reward, Ret: s.Reward})
		}
		for u := range 2 {
			s := t.Sequences.Sample(run.Key("sequences", u), t.Batch)
			t.learn(run, t.policy, kit.Sample{Obs: s.Data.Obs, Action: s.Data.Act.Action, Adv: s.Data.Reward, Ret: s.Data.Reward})
			t.Sequences.Prioritise(s.Index, t.rank.Call(rl.Key{}, s.Data.Reward))
		}
	}
	return run.Err()
}

func (t *Trainer) learn(run *rl.Run, l *rl.Loss[kit.Sample, rl.Tensor], s kit.Sample) {
	g, loss := l.Grad(rl.Key{}, s)
	t.opt.Apply(g, 1e-2)
	run.Log("loss", loss)
}
