// Package mappo is PPO for several agents with centralised critics (Yu et al.,
// "The Surprising Effectiveness of PPO in Cooperative Multi-Agent Games", 2022).
// Each kind of agents has a role: a policy that acts on what an agent sees, and a
// critic that sees the state of the whole environment, both shared by the agents
// of the kind. With separate policies every agent is a kind of its own.
//
// Tensors of a kind with several agents are [env, agent, ...]: its networks fold
// these axes, and every agent of every environment is a row of the loss.
package mappo

import (
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer has a role for each kind of agents. Roles share the environments and
// nothing else.
type Trainer struct {
	Config
	Env   env.Groups
	Roles []*Role
}

// Role is what the agents of one kind have in common.
type Role struct {
	Rollout *replay.Rollout[Step]
	Actor   *Actor
	Learner *Learner
}

// Train is the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Collect(run)
		for j, r := range t.Roles {
			batch := Batch{r.Rollout.Drain(), r.Actor.Last(obs[j])}
			r.Learner.Learn(run.At("role", j), batch)
		}
	}
	return run.Err()
}

// Collect steps every environment Horizon times under fixed weights, and gives
// what the agents see then.
func (t *Trainer) Collect(run *rl.Run) []rl.Obs {
	obs := t.Env.Obs()
	for i := range t.Horizon {
		acts := make([]ActOut, len(t.Roles))
		moves := make([]rl.Tree, len(t.Roles))
		for j, r := range t.Roles {
			acts[j] = r.Actor.Act(run.Key("act", i, j), obs[j])
			moves[j] = acts[j].Action
		}
		out := t.Env.Step(moves)
		for j, r := range t.Roles {
			cut := r.Actor.Value(out[j].Truncated, out[j].Final)
			r.Rollout.Insert(Step{obs[j], acts[j], out[j].Reward, out[j].Terminated, out[j].Truncated, cut})
		}
		obs = seen(out)
	}
	return obs
}

// seen is what the agents act on next.
func seen(out []rl.Step) []rl.Obs {
	obs := make([]rl.Obs, len(out))
	for j, x := range out {
		obs[j] = x.Obs
	}
	return obs
}

// Learn makes Epochs passes over the batch in minibatches.
func (l *Learner) Learn(run *rl.Run, b Batch) {
	s := b.Steps
	next := rl.Select(s.Truncated, s.Cut, rl.Shift(s.Act.Value, b.Last))
	v := l.worth.Call(rl.Key{}, Values{s.Act.Value, next})
	over := rl.Or(s.Terminated, s.Truncated) // by agent: one may be out of play before the others
	adv, ret := rl.GAE(l.Gamma, l.Lambda, s.Reward, v.State, v.Next, s.Terminated, over)
	if l.NormalizeValue {
		l.net.returns.Update(ret)
	}
	if l.NormalizeAdvantage {
		adv = rl.Standardise(adv, s.Act.Weight) // crosses rows, so it is no part of the loss
	}
	sample := Sample{s.Obs, s.Act.Raw, s.Act.LogProb, s.Act.Value, s.Act.Weight, adv, ret}
	lr := l.rate(run.Progress())
	for e := range l.Epochs {
		for i := range l.Minibatches {
			mini := replay.Take(sample, run.Key("shuffle", e), replay.ByStep, i, l.Minibatches)
			g, m := l.loss.Grad(run.Key("loss", e, i), mini)
			l.opt.Apply(g, lr)
			m.log(run)
		}
	}
	run.Log("learning_rate", rl.Scalar(lr))
	run.Log("explained_variance", l.explained.Call(rl.Key{}, Explained{v.State, ret}))
}

type (
	// ActOut is what an actor decides. Raw is the sample, Action the same within
	// the bounds of the action space. Value is the critic's output: where values
	// are normalised it is not in the unit of rewards. Weight is 0 for agents out
	// of play and 1 for others; it is absent where all stay in play.
	ActOut struct {
		Action, Raw            rl.Tree
		LogProb, Value, Weight rl.Tensor
	}
	// Step is one step of every environment. Cut is the value of the state that a
	// truncation cut off.
	Step struct {
		Obs                                rl.Obs
		Act                                ActOut
		Reward, Terminated, Truncated, Cut rl.Tensor
	}
	// Batch is what one iteration collected, and the value of where it ended.
	Batch struct {
		Steps Step // [env, time, ...] or [env, time, agent, ...]
		Last  rl.Tensor
	}
	// Values are of the states acted in and of those reached.
	Values struct{ State, Next rl.Tensor }
	// Sample is what the loss needs of a step.
	Sample struct {
		Obs                              rl.Obs
		Action                           rl.Tree
		LogProb, Value, Weight, Adv, Ret rl.Tensor
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

// Actor chooses actions for the agents of a kind, and values states with the
// critic.
type Actor struct {
	act    *rl.Func[rl.Obs, ActOut]
	value  *rl.Func[rl.Obs, rl.Tensor]
	sample *rl.Func[rl.Obs, rl.Tree] // the policy alone
	greedy *rl.Func[rl.Obs, rl.Tree]
}

// Act samples an action for every agent of every environment.
func (a *Actor) Act(k rl.Key, obs rl.Obs) ActOut { return a.act.Call(k, obs) }

// Value is the value of the states where mask is true, and 0 elsewhere.
func (a *Actor) Value(mask rl.Tensor, obs rl.Obs) rl.Tensor { return a.value.Rows(mask, rl.Key{}, obs) }

// Last is the value of every state.
func (a *Actor) Last(obs rl.Obs) rl.Tensor { return a.value.Call(rl.Key{}, obs) }

// Learner improves the weights of a role.
type Learner struct {
	Config
	net       *Net
	opt       *rl.Opt
	loss      *rl.Loss[Sample, Metrics]
	worth     *rl.Func[Values, Values] // the critic's outputs in the unit of rewards
	explained *rl.Func[Explained, rl.Tensor]
}

func (l *Learner) rate(progress float64) float64 {
	if l.Anneal == "linear" {
		return l.LearningRate * (1 - progress)
	}
	return l.LearningRate
}
