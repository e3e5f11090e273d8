// Package helpers spreads its loop over functions: some contain operations and
// are read through, some only compute.
package helpers

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Horizon, Updates int
	Rate             float64
	Env              env.Batch
	Rollout          *replay.Rollout[kit.Step]
	Actor            Player
	loss             *rl.Loss[kit.Sample, rl.Tensor]
	opt              *rl.Opt
}

// Player is behind an interface, which the constructor fills.
type Player interface {
	Play(k rl.Key, obs rl.Obs) kit.Act
}

type player struct{ act *rl.Func[rl.Obs, kit.Act] }

func (p *player) Play(k rl.Key, obs rl.Obs) kit.Act { return p.act.Call(k, obs) }

type batch struct {
	steps kit.Step
	from  rl.Obs
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	net := kit.New(s, "net", e.Spec())
	return &Trainer{
		Horizon: 4, Updates: 2, Rate: 1e-3, Env: e, Rollout: replay.NewRollout[kit.Step](s, "rollout"),
		Actor: &player{rl.NewFunc(s, "act", net.Policy)},
		loss:  rl.NewLoss(s, "loss", net.PolicyLoss, net.Params), opt: rl.NewOpt(s, "adam", nn.Adam{}, net.Params),
	}, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		b := t.collect(run)
		if s, ok := t.sample(run, b); ok {
			t.learn(run, s, decay(t.Rate, run.Progress()))
		}
	}
	return run.Err()
}

func (t *Trainer) collect(run *rl.Run) (b batch) {
	obs := t.Env.Obs()
	b.from = obs
	for i := range t.Horizon {
		obs = t.step(run.Key("act", i), obs)
	}
	b.steps = t.Rollout.Drain()
	return
}

func (t *Trainer) step(k rl.Key, obs rl.Obs) rl.Obs {
	act := t.Actor.Play(k, obs)
	out := t.Env.Step(act.Action)
	t.Rollout.Insert(record(obs, act, out))
	return out.Obs
}

func record(obs rl.Obs, act kit.Act, out rl.Step) kit.Step {
	return kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Done()}
}

func (t *Trainer) sample(run *rl.Run, b batch) (kit.Sample, bool) {
	if run.Iter() < 1 {
		return kit.Sample{}, false
	}
	adv := rl.Standardise(b.steps.Reward, rl.Tensor{})
	return kit.Sample{Obs: b.steps.Obs, Action: b.steps.Act.Action, Adv: adv, Ret: adv}, true
}

func (t *Trainer) learn(run *rl.Run, s kit.Sample, rate float64) {
	sum := 0.
	for u := range t.Updates {
		g, loss := t.loss.Grad(run.Key("loss", u), s)
		t.opt.Apply(g, rate)
		sum += run.Value(rl.Mean(loss))
	}
	run.Log("loss", rl.Scalar(sum/float64(t.Updates)))
}

func decay(rate, progress float64) float64 {
	if progress > .5 {
		return rate / 2
	}
	return rate
}
