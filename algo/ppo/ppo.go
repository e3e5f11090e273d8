// Package ppo is proximal policy optimisation (Schulman et al., 2017), with the
// details that matter in practice (Huang et al., "The 37 implementation details
// of PPO", 2022): discrete and continuous actions, masks of legal actions,
// recurrence, and values that are bootstrapped where an episode was cut off and
// not where it ended.
package ppo

import (
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer collects experience with its Actor and learns from it with its
// Learner.
type Trainer struct {
	Config
	Env     env.Batch
	Memory  *rl.Slots[rl.Tensor] // recurrent memory, by environment
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
	obs, memory := t.Env.Obs(), t.Memory.Get()
	for i := range t.Horizon {
		in := ActIn{obs, memory}
		act := t.Actor.Act(run.Key("act", i), in)
		out := t.Env.Step(act.Action)
		cut := t.Actor.Value(out.Truncated, ActIn{out.Final, act.Memory})
		t.Rollout.Insert(Step{in, act, Outcome{out.Reward, out.Terminated, out.Truncated, out.Over}, cut})
		obs, memory = out.Obs, rl.Keep(act.Memory, out.Over)
	}
	t.Memory.Set(memory)
	steps := t.Rollout.Drain()
	values := t.Actor.Values(steps.In)
	last := t.Actor.Values(ActIn{obs, memory})
	return Batch{steps, values, last}
}

// Learn makes Epochs passes over the batch in minibatches.
func (l *Learner) Learn(run *rl.Run, b Batch) {
	steps := b.Steps
	reward := l.scaled(steps.Out)
	next := rl.Select(steps.Out.Truncated, steps.Cut, rl.Shift(b.Values, b.Last))
	adv, ret := rl.GAE(l.Gamma, l.Lambda, reward, b.Values, next, steps.Out.Terminated, steps.Out.Over)
	sample := Sample{steps.In, steps.Act.Raw, steps.Act.LogProb, b.Values, adv, ret}
	lr := l.rate(run.Progress())
	for e := range l.Epochs {
		var m Metrics
		for i := range l.Minibatches {
			mini := replay.Take(sample, run.Key("shuffle", e), l.rows(), i, l.Minibatches)
			if l.NormalizeAdvantage {
				mini.Adv = rl.Standardise(mini.Adv, rl.Tensor{}) // crosses rows, so it is no part of the loss
			}
			g, aux := l.loss.Grad(run.Key("loss", e, i), mini)
			l.opt.Apply(g, lr)
			m = aux
			m.log(run)
		}
		if l.TargetKL > 0 && run.Value(rl.Mean(m.KL)) > l.TargetKL {
			break
		}
	}
	run.Log("learning_rate", rl.Scalar(lr))
	run.Log("explained_variance", l.explained.Call(rl.Key{}, Explained{b.Values, ret}))
	l.observe(steps.In.Obs)
}

type (
	// ActIn is what an actor acts on.
	ActIn struct {
		Obs    rl.Obs
		Memory rl.Tensor // absent without recurrence
	}
	// ActOut is what it decides. Raw is the sample, Action the same within the
	// bounds of the action space.
	ActOut struct {
		Action, Raw rl.Tree
		LogProb     rl.Tensor
		Memory      rl.Tensor
	}
	// Outcome is what an environment made of it.
	Outcome struct{ Reward, Terminated, Truncated, Over rl.Tensor }
	// Step is one step of every environment. Cut is the value of the state that a
	// truncation cut off.
	Step struct {
		In  ActIn
		Act ActOut
		Out Outcome
		Cut rl.Tensor
	}
	// Batch is what one iteration collected, the values of its states, and that of
	// where it ended. Acting needs no values, so they are computed for all steps at
	// once.
	Batch struct {
		Steps  Step      // [env, time, ...]
		Values rl.Tensor // [env, time]
		Last   rl.Tensor
	}
	// Sample is what the loss needs of a step.
	Sample struct {
		In                       ActIn
		Action                   rl.Tree
		LogProb, Value, Adv, Ret rl.Tensor
	}
	// Metrics are reported of every minibatch, by row.
	Metrics struct{ Policy, Value, Entropy, KL, Clipped rl.Tensor }
	// Explained compares values with the returns they were to predict.
	Explained struct{ Value, Return rl.Tensor }
)

func (m Metrics) log(run *rl.Run) {
	run.Log("loss/policy", m.Policy)
	run.Log("loss/value", m.Value)
	run.Log("loss/entropy", m.Entropy)
	run.Log("approx_kl", m.KL)
	run.Log("clip_fraction", m.Clipped)
}

// Actor chooses actions and values states with the current weights.
type Actor struct {
	net    *Net
	act    *rl.Func[ActIn, ActOut]
	greedy *rl.Func[ActIn, ActOut]
	value  *rl.Func[ActIn, rl.Tensor]
}

// Act samples an action for every environment.
func (a *Actor) Act(k rl.Key, in ActIn) ActOut { return a.act.Call(k, in) }

// Value is the value of the states where mask is true, and 0 elsewhere.
func (a *Actor) Value(mask rl.Tensor, in ActIn) rl.Tensor { return a.value.Rows(mask, rl.Key{}, in) }

// Values are those of all states.
func (a *Actor) Values(in ActIn) rl.Tensor { return a.value.Call(rl.Key{}, in) }

// Learner improves the weights.
type Learner struct {
	Config
	net       *Net
	opt       *rl.Opt
	loss      *rl.Loss[Sample, Metrics]
	explained *rl.Func[Explained, rl.Tensor]
	features  *rl.Func[rl.Tree, rl.Tensor]
	returns   *nn.Returns
	scale     *rl.Func[rl.Tensor, rl.Tensor]
}

// scaled is the rewards as the learner sees them.
func (l *Learner) scaled(out Outcome) rl.Tensor {
	if !l.NormalizeReward {
		return out.Reward
	}
	l.returns.Update(out.Reward, out.Over)
	return l.scale.Call(rl.Key{}, out.Reward)
}

// observe updates the statistics of observations, once an iteration and after
// learning, so that acting and learning normalise alike.
func (l *Learner) observe(obs rl.Obs) {
	if l.NormalizeObs {
		l.net.norm.Update(l.features.Call(rl.Key{}, obs.X))
	}
}

// rows are what a minibatch is made of: a recurrent network needs sequences.
func (l *Learner) rows() replay.By {
	if l.Config.Memory > 0 {
		return replay.ByEnv
	}
	return replay.ByStep
}

func (l *Learner) rate(progress float64) float64 {
	if l.Anneal == "linear" {
		return l.LearningRate * (1 - progress)
	}
	return l.LearningRate
}
