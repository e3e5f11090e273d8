// Package refined says by directives where its fragments are: a critic of its own,
// with its weights and optimiser, a judge, and values that the critic computes.
package refined

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
	value   *rl.Func[rl.Obs, rl.Tensor]
	Policy  *Learner
	Critic  *Learner
	Judge   *Judge
}

type Learner struct {
	loss *rl.Loss[kit.Sample, rl.Tensor]
	opt  *rl.Opt
}

// Judge counts what it saw.
//
//weft:fragment judge
type Judge struct{ seen int }

func (j *Judge) Axis() rl.Axis        { return rl.None }
func (j *Judge) Save(*rl.State)       {}
func (j *Judge) Load(*rl.State) error { return nil }

// Weigh says how much a batch matters.
//
//weft:op writes
//weft:axis environments
func (j *Judge) Weigh(reward rl.Tensor) rl.Tensor {
	j.seen++
	return reward
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	pi, v := kit.New(s, "policy", e.Spec()), kit.New(s, "critic", e.Spec())
	t := &Trainer{Horizon: 4, Env: e, Rollout: replay.NewRollout[kit.Step](s, "rollout"), Judge: &Judge{}}
	s.Register("judge", t.Judge)
	t.act, t.value = rl.NewFunc(s, "act", pi.Policy), rl.NewFunc(s, "value", v.Value)
	t.Policy = &Learner{rl.NewLoss(s, "policy loss", pi.PolicyLoss, pi.Params), rl.NewOpt(s, "policy opt", nn.Adam{}, pi.Params)}
	t.Critic = &Learner{rl.NewLoss(s, "critic loss", v.ValueLoss, v.Params), rl.NewOpt(s, "critic opt", nn.Adam{}, v.Params)}
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		for i := range t.Horizon {
			act := t.act.Call(run.Key("act", i), obs)
			act.Value = t.value.Call(rl.Key{}, obs) //weft:fragment critic
			out := t.Env.Step(act.Action)
			t.Rollout.Insert(kit.Step{Obs: obs, Act: act, Reward: t.Judge.Weigh(out.Reward), Terminated: out.Terminated, Over: out.Over})
			obs = out.Obs
		}
		b := t.Rollout.Drain()
		s := kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: b.Reward}
		t.Policy.learn(run, s)
		//weft:fragment critic
		t.Critic.learn(run, s)
	}
	return run.Err()
}

func (l *Learner) learn(run *rl.Run, s kit.Sample) {
	g, loss := l.loss.Grad(run.Key("loss"), s)
	l.opt.Apply(g, 1e-3)
	run.Log("loss", loss)
}
