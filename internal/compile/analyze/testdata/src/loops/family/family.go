// Package family has several learners alike, in a slice that is fixed after
// construction and gone through by range.
package family

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Horizon int
	Env     env.Batch
	Rollout *replay.Rollout[kit.Step]
	act     *rl.Func[rl.Obs, kit.Act]
	join    *rl.Func[Votes, rl.Tensor]
	Members []*Member
}

// Member is one of an ensemble of value functions.
type Member struct {
	Net  *kit.Net
	Old  *kit.Net
	vote *rl.Func[rl.Obs, rl.Tensor]
	loss *rl.Loss[kit.Sample, rl.Tensor]
	opt  *rl.Opt
}

// Votes are what the members think.
type Votes struct{ All []rl.Tensor }

func New(s *rl.Scope, makeEnv algo.MakeEnv, n int) (*Trainer, error) {
	e, err := makeEnv.Batch(n)
	if err != nil {
		return nil, err
	}
	pi := kit.New(s, "policy", e.Spec())
	t := &Trainer{
		Horizon: 4, Env: e, Rollout: replay.NewRollout[kit.Step](s, "rollout"),
		act: rl.NewFunc(s, "act", pi.Policy), join: rl.NewFunc(s, "join", joinGraph),
	}
	for _, name := range []string{"a", "b", "c"} {
		t.Members = append(t.Members, newMember(s, name, e.Spec()))
	}
	return t, nil
}

func newMember(s *rl.Scope, name string, spec env.Spec) *Member {
	m := &Member{Net: kit.New(s, name, spec), Old: kit.New(s, name+" old", spec)}
	m.vote = rl.NewFunc(s, name+" vote", m.Old.Value)
	m.loss = rl.NewLoss(s, name+" loss", m.Net.ValueLoss, m.Net.Params)
	m.opt = rl.NewOpt(s, name+" adam", nn.Adam{}, m.Net.Params)
	return m
}

func joinGraph(_ *rl.Ctx, v Votes) rl.Tensor { return kit.Plus(v.All...) }

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		for i := range t.Horizon {
			act := t.act.Call(run.Key("act", i), obs)
			out := t.Env.Step(act.Action)
			t.Rollout.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
			obs = out.Obs
		}
		b := t.Rollout.Drain()
		votes := make([]rl.Tensor, len(t.Members))
		for j, m := range t.Members {
			votes[j] = m.vote.Call(rl.Key{}, b.Obs)
		}
		target := t.join.Call(rl.Key{}, Votes{votes})
		for j, m := range t.Members {
			g, loss := m.loss.Grad(run.Key("loss", j), kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: target, Ret: target})
			m.opt.Apply(g, 1e-3)
			run.At("member", j).Log("loss", loss)
		}
		for _, m := range t.Members { // after all, so that the order of members does not matter
			m.Old.Params.Blend(m.Net.Params, .1)
		}
	}
	return run.Err()
}
