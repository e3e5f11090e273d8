// Package selfplay draws its rival from a pool of past selves: a component of its
// own, which reads parameters.
package selfplay

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Horizon  int
	AddEvery int64
	Env      env.Batch
	Pool     *Pool
	Rival    *rl.Slots[rl.Tensor]
	Rollout  *replay.Rollout[kit.Step]
	Net      *kit.Net
	act      *rl.Func[rl.Obs, kit.Act]
	loss     *rl.Loss[kit.Sample, rl.Tensor]
	opt      *rl.Opt
}

// Pool is snapshots of one network.
type Pool struct{ count int }

func (p *Pool) Axis() rl.Axis        { return rl.Members }
func (p *Pool) Save(*rl.State)       {}
func (p *Pool) Load(*rl.State) error { return nil }

// Add takes a snapshot.
//
//weft:op writes
func (p *Pool) Add(of *rl.Params) { p.count++ }

// Call lets the rivals act.
//
//weft:op reads
//weft:axis environments
func (p *Pool) Call(f *rl.Func[rl.Obs, kit.Act], rival rl.Tensor, k rl.Key, obs rl.Obs) kit.Act {
	return f.Call(k, obs)
}

// Pick draws a rival for every environment.
//
//weft:op reads
//weft:axis environments
func (p *Pool) Pick(k rl.Key, like rl.Tensor) rl.Tensor { return like }

func New(s *rl.Scope, makeEnv algo.MakeEnv, n int) (*Trainer, error) {
	e, err := makeEnv.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Horizon: 4, AddEvery: 16, Env: e, Pool: &Pool{}, Net: kit.New(s, "net", e.Spec()), Rollout: replay.NewRollout[kit.Step](s, "rollout")}
	s.Register("pool", t.Pool)
	t.Rival = rl.NewSlots(s, "rival", rl.FromFlat(s, make([]float32, e.Spec().Rows), e.Spec().Rows))
	t.act, t.loss = rl.NewFunc(s, "act", t.Net.Policy), rl.NewLoss(s, "loss", t.Net.PolicyLoss, t.Net.Params)
	t.opt = rl.NewOpt(s, "adam", nn.Adam{}, t.Net.Params)
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs, rival := t.Env.Obs(), t.Rival.Get()
		for i := range t.Horizon {
			act := t.act.Call(run.Key("me", i), obs)
			foe := t.Pool.Call(t.act, rival, run.Key("foe", i), obs)
			act.Value = foe.Value
			out := t.Env.Step(act.Action)
			t.Rollout.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
			rival = rl.Select(out.Over, t.Pool.Pick(run.Key("rival", i), rival), rival)
			obs = out.Obs
		}
		t.Rival.Set(rival)
		b := t.Rollout.Drain()
		g, loss := t.loss.Grad(run.Key("loss"), kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: b.Reward})
		t.opt.Apply(g, 3e-4)
		run.Log("loss", loss)
		if run.Every(t.AddEvery) {
			t.Pool.Add(t.Net.Params)
		}
	}
	return run.Err()
}
