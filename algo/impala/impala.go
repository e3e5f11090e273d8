// Package impala is the actor-critic of IMPALA (Espeholt et al., 2018): actors
// write down how likely their actions were, and V-trace corrects for the learner's
// weights being newer than those that acted. In the plain loop they are the same,
// and V-trace is the n-step return; run asynchronously the loop is IMPALA.
package impala

import (
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer collects rollouts with its Actor and learns from each once.
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

// Collect steps every environment Horizon times.
func (t *Trainer) Collect(run *rl.Run) Batch {
	obs := t.Env.Obs()
	for i := range t.Horizon {
		act := t.Actor.Act(run.Key("act", i), obs)
		out := t.Env.Step(act.Action)
		cut := t.Actor.Value(out.Truncated, out.Final)
		t.Rollout.Insert(Step{obs, act, out.Reward, out.Terminated, out.Truncated, out.Over, cut})
		obs = out.Obs
	}
	return Batch{t.Rollout.Drain(), obs}
}

// Learn makes one update of the whole batch. Values are those of the learner's own
// weights, so V-trace is part of the loss.
func (l *Learner) Learn(run *rl.Run, b Batch) {
	g, m := l.loss.Grad(run.Key("loss"), b)
	lr := l.rate(run.Progress())
	l.opt.Apply(g, lr)
	run.Log("loss/policy", m.Policy)
	run.Log("loss/value", m.Value)
	run.Log("loss/entropy", m.Entropy)
	run.Log("ratio", m.Ratio)
	run.Log("learning_rate", rl.Scalar(lr))
}

type (
	// ActOut is what an actor decides, and how likely it was to. Raw is the sample,
	// Action the same within the bounds of the action space.
	ActOut struct {
		Action, Raw rl.Tree
		LogProb     rl.Tensor
	}
	// Step is one step of every environment. Cut is the actor's value of the state
	// that a truncation cut off.
	Step struct {
		Obs                                      rl.Obs
		Act                                      ActOut
		Reward, Terminated, Truncated, Over, Cut rl.Tensor
	}
	// Batch is what one iteration collected, and where it ended.
	Batch struct {
		Steps Step // [env, time, ...]
		Last  rl.Obs
	}
	// Metrics are reported of every update, by row. Ratio is how much likelier
	// actions are under the learner's weights than they were.
	Metrics struct{ Policy, Value, Entropy, Ratio rl.Tensor }
)

// Actor chooses actions.
type Actor struct {
	act    *rl.Func[rl.Obs, ActOut]
	greedy *rl.Func[rl.Obs, ActOut]
	value  *rl.Func[rl.Obs, rl.Tensor]
}

// Act samples an action for every environment.
func (a *Actor) Act(k rl.Key, obs rl.Obs) ActOut { return a.act.Call(k, obs) }

// Value is the value of the states where mask is true, and 0 elsewhere.
func (a *Actor) Value(mask rl.Tensor, obs rl.Obs) rl.Tensor { return a.value.Rows(mask, rl.Key{}, obs) }

// Learner improves the weights.
type Learner struct {
	Config
	opt  *rl.Opt
	loss *rl.Loss[Batch, Metrics]
}

func (l *Learner) rate(progress float64) float64 {
	if l.Anneal == "linear" {
		return l.LearningRate * (1 - progress)
	}
	return l.LearningRate
}
