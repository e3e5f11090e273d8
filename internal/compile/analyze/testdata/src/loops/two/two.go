// Package two has a learner for the policy and another one for the values, with
// parameters and optimisers of their own.
package two

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
	Actor   *Actor
	Policy  *Learner
	Critic  *Learner
}

type Actor struct {
	act   *rl.Func[rl.Obs, kit.Act]
	value *rl.Func[rl.Obs, rl.Tensor]
}

type Learner struct {
	Updates int
	rate    float64
	loss    *rl.Loss[kit.Sample, rl.Tensor]
	opt     *rl.Opt
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	pi, v := kit.New(s, "policy", e.Spec()), kit.New(s, "values", e.Spec())
	return &Trainer{
		Horizon: 4, Env: e, Rollout: replay.NewRollout[kit.Step](s, "rollout"),
		Actor:  &Actor{act: rl.NewFunc(s, "act", pi.Policy), value: rl.NewFunc(s, "value", v.Value)},
		Policy: newLearner(s, "policy loss", 1, rl.NewLoss(s, "policy loss", pi.PolicyLoss, pi.Params), pi.Params),
		Critic: newLearner(s, "value loss", 3, rl.NewLoss(s, "value loss", v.ValueLoss, v.Params), v.Params),
	}, nil
}

func newLearner(s *rl.Scope, name string, updates int, loss *rl.Loss[kit.Sample, rl.Tensor], of *rl.Params) *Learner {
	return &Learner{Updates: updates, rate: 1e-3, loss: loss, opt: rl.NewOpt(s, name+" adam", nn.Adam{}, of)}
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		batch := t.collect(run)
		t.Critic.learn(run.At("critic", 0), batch)
		t.Policy.learn(run.At("policy", 0), batch)
	}
	return run.Err()
}

func (t *Trainer) collect(run *rl.Run) kit.Sample {
	obs := t.Env.Obs()
	for i := range t.Horizon {
		act := t.Actor.act.Call(run.Key("act", i), obs)
		out := t.Env.Step(act.Action)
		act.Value = t.Actor.value.Call(rl.Key{}, obs)
		t.Rollout.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
		obs = out.Obs
	}
	b := t.Rollout.Drain()
	next := rl.Shift(b.Act.Value, t.Actor.value.Call(rl.Key{}, obs))
	adv, ret := rl.GAE(.99, .95, b.Reward, b.Act.Value, next, b.Terminated, b.Over)
	return kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: adv, Ret: ret}
}

func (l *Learner) learn(run *rl.Run, b kit.Sample) {
	for u := range l.Updates {
		g, loss := l.loss.Grad(run.Key("loss", u), b)
		l.opt.Apply(g, l.rate)
		run.Log("loss", loss)
	}
}
