// Package generic has a trainer and helpers with type parameters.
package generic

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Player chooses actions from whatever it is given.
type Player[I any] struct{ act *rl.Func[I, kit.Act] }

func (p *Player[I]) Act(k rl.Key, in I) kit.Act { return p.act.Call(k, in) }

type Trainer[S any] struct {
	Horizon int
	Env     env.Batch
	Rollout *replay.Rollout[S]
	Player  *Player[rl.Obs]
	make    *rl.Func[S, kit.Sample]
	loss    *rl.Loss[kit.Sample, rl.Tensor]
	opt     *rl.Opt
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer[kit.Step], error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	net := kit.New(s, "net", e.Spec())
	return &Trainer[kit.Step]{
		Horizon: 4, Env: e, Rollout: replay.NewRollout[kit.Step](s, "rollout"),
		Player: &Player[rl.Obs]{act: rl.NewFunc(s, "act", net.Policy)},
		make:   rl.NewFunc(s, "make", sampleGraph),
		loss:   rl.NewLoss(s, "loss", net.PolicyLoss, net.Params), opt: rl.NewOpt(s, "adam", nn.Adam{}, net.Params),
	}, nil
}

func sampleGraph(_ *rl.Ctx, s kit.Step) kit.Sample {
	return kit.Sample{Obs: s.Obs, Action: s.Act.Action, Adv: kit.Plus(s.Reward, s.Terminated, s.Over), Ret: kit.Plus(s.Reward, s.Act.LogProb, s.Act.Value)}
}

//weft:train
func (t *Trainer[S]) Train(run *rl.Run) error {
	for run.Next() {
		for i := range t.Horizon {
			in := pair(t.Env.Obs(), i)
			act := t.Player.Act(run.Key("act", in.second), in.first)
			out := t.Env.Step(act.Action)
			store(t.Rollout, convert[S](kit.Step{Obs: in.first, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over}))
		}
		g, loss := t.loss.Grad(run.Key("loss"), t.make.Call(rl.Key{}, t.Rollout.Drain()))
		t.opt.Apply(g, 1e-3)
		run.Log("loss", loss)
	}
	return run.Err()
}

type both[A, B any] struct {
	first  A
	second B
}

func pair[A, B any](a A, b B) both[A, B] { return both[A, B]{a, b} }

// store inserts into a rollout of anything.
func store[E any](r *replay.Rollout[E], e E) { r.Insert(e) }

// convert is a step as another type of the same tensors.
//
//weft:rows
func convert[S any](s kit.Step) S {
	return any(s).(S)
}
