// Package returning returns from the middle of things: inner branches, switches and
// loops of functions that are read through, and the training function itself.
package returning

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
	Net             *kit.Net
	act             *rl.Func[rl.Obs, kit.Act]
	value           *rl.Func[rl.Obs, rl.Tensor]
	loss            *rl.Loss[kit.Sample, rl.Tensor]
	opt             *rl.Opt
}

func New(s *rl.Scope, makeEnv algo.MakeEnv, n int) (*Trainer, error) {
	e, err := makeEnv.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Horizon: 4, Rounds: 4, Env: e, Rollout: replay.NewRollout[kit.Step](s, "rollout"), Net: kit.New(s, "net", e.Spec())}
	t.act, t.value = rl.NewFunc(s, "act", t.Net.Policy), rl.NewFunc(s, "value", t.Net.Value)
	t.loss, t.opt = rl.NewLoss(s, "loss", t.Net.PolicyLoss, t.Net.Params), rl.NewOpt(s, "adam", nn.Adam{}, t.Net.Params)
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		b, mean := t.collect(run)
		p, q := 1., 2.
		var r int
		for r = range t.Rounds {
			p, q = turn(p, q)
			if done := t.update(run.At("round", r), b, mean, r, p); done {
				break
			}
		}
		run.Log("rounds", rl.Scalar(float64(r)+q))
	}
	return run.Err()
}

func turn(p, q float64) (float64, float64) { return q, p }

// collect may end early, and then has fewer steps.
func (t *Trainer) collect(run *rl.Run) (b kit.Step, mean float64) {
	obs := t.Env.Obs()
	for i := range t.Horizon {
		act := t.act.Call(run.Key("act", i), obs)
		out := t.Env.Step(act.Action)
		t.Rollout.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
		obs = out.Obs
		if mean = run.Value(rl.Mean(out.Reward)); mean > .4 {
			b = t.Rollout.Drain()
			return
		}
	}
	run.Log("all", t.value.Call(rl.Key{}, obs))
	return t.Rollout.Drain(), mean
}

// update reports whether the rounds are over.
func (t *Trainer) update(run *rl.Run, b kit.Step, mean float64, r int, scale float64) bool {
	if run.Iter() > 0 {
		if r == 2 && mean > .1 {
			return true
		}
		if r == 3 {
			t.learn(run, b, 2*scale)
			return false
		}
		t.note(run, mean)
	}
	switch {
	case r == 1 && mean > .2:
		for i := range 3 {
			if t.learn(run.At("again", i), b, scale); i == r {
				return false
			}
		}
	case r == 0:
		if mean < .2 {
			break
		}
		run.Log("high", rl.Scalar(mean))
	}
	t.learn(run, b, scale)
	return false
}

// note returns nothing, and from a branch.
func (t *Trainer) note(run *rl.Run, mean float64) {
	if mean > .3 {
		return
	}
	run.Log("low", rl.Scalar(mean))
}

func (t *Trainer) learn(run *rl.Run, b kit.Step, scale float64) {
	g, loss := t.loss.Grad(run.Key("loss"), kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: b.Reward})
	t.opt.Apply(g, 1e-3*scale)
	run.Log("loss", loss)
}
