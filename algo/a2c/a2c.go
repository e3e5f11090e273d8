// Package a2c is the synchronous advantage actor-critic: every environment takes
// a few steps under fixed weights, and the whole of them is one gradient (Mnih et
// al., 2016, without its asynchrony). Where replicas apply their gradients as
// they arrive, this same loop is A3C.
package a2c

import (
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer collects short rollouts with its Actor and learns from each once.
type Trainer struct {
	Config
	Env     env.Batch
	Rollout *replay.Rollout[Step]
	Actor   *Actor
	Learner *Learner
}

// Train is the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		batch := t.Collect(run)
		t.Learner.Learn(run, batch)
	}
	return run.Err()
}

// Collect steps every environment Horizon times under fixed weights.
func (t *Trainer) Collect(run *rl.Run) Batch {
	obs := t.Env.Obs()
	for i := range t.Horizon {
		act := t.Actor.Act(run.Key("act", i), obs)
		out := t.Env.Step(act.Action)
		cut := t.Actor.Value(out.Truncated, out.Final)
		t.Rollout.Insert(Step{obs, act, out.Reward, out.Terminated, out.Truncated, out.Over, cut})
		obs = out.Obs
	}
	return Batch{t.Rollout.Drain(), t.Actor.Last(obs)}
}

// Learn makes one update of the whole batch.
func (l *Learner) Learn(run *rl.Run, b Batch) {
	s := b.Steps
	next := rl.Select(s.Truncated, s.Cut, rl.Shift(s.Act.Value, b.Last))
	adv, ret := rl.GAE(l.Gamma, l.Lambda, s.Reward, s.Act.Value, next, s.Terminated, s.Over)
	if l.NormalizeAdvantage {
		adv = rl.Standardise(adv, rl.Tensor{}) // crosses rows, so it is no part of the loss
	}
	g, m := l.loss.Grad(run.Key("loss"), Sample{s.Obs, s.Act.Raw, adv, ret})
	lr := l.rate(run.Progress())
	l.opt.Apply(g, lr)
	run.Log("loss/policy", m.Policy)
	run.Log("loss/value", m.Value)
	run.Log("loss/entropy", m.Entropy)
	run.Log("learning_rate", rl.Scalar(lr))
}

type (
	// ActOut is what an actor decides. Raw is the sample, Action the same within
	// the bounds of the action space.
	ActOut struct {
		Action, Raw rl.Tree
		Value       rl.Tensor
	}
	// Step is one step of every environment. Cut is the value of the state that a
	// truncation cut off.
	Step struct {
		Obs                                      rl.Obs
		Act                                      ActOut
		Reward, Terminated, Truncated, Over, Cut rl.Tensor
	}
	// Batch is what one iteration collected, and the value of where it ended.
	Batch struct {
		Steps Step // [env, time, ...]
		Last  rl.Tensor
	}
	// Sample is what the loss needs, [env, time, ...].
	Sample struct {
		Obs      rl.Obs
		Action   rl.Tree
		Adv, Ret rl.Tensor
	}
	// Metrics are reported of every update, by row.
	Metrics struct{ Policy, Value, Entropy rl.Tensor }
)

// Actor chooses actions and values states with the current weights.
type Actor struct {
	act    *rl.Func[rl.Obs, ActOut]
	greedy *rl.Func[rl.Obs, ActOut]
	value  *rl.Func[rl.Obs, rl.Tensor]
}

// Act samples an action for every environment.
func (a *Actor) Act(k rl.Key, obs rl.Obs) ActOut { return a.act.Call(k, obs) }

// Value is the value of the states where mask is true, and 0 elsewhere.
func (a *Actor) Value(mask rl.Tensor, obs rl.Obs) rl.Tensor { return a.value.Rows(mask, rl.Key{}, obs) }

// Last is the value of every state.
func (a *Actor) Last(obs rl.Obs) rl.Tensor { return a.value.Call(rl.Key{}, obs) }

// Learner improves the weights.
type Learner struct {
	Config
	opt  *rl.Opt
	loss *rl.Loss[Sample, Metrics]
}

func (l *Learner) rate(progress float64) float64 {
	if l.Anneal == "linear" {
		return l.LearningRate * (1 - progress)
	}
	return l.LearningRate
}
