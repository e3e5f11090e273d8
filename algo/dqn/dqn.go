// Package dqn is deep Q-learning (Mnih et al., 2015) and what has become usual
// with it: double (van Hasselt et al., 2016) and dueling networks (Wang et al.,
// 2016), prioritised replay (Schaul et al., 2016), rows of several steps, target
// networks that are copied now and then or follow slowly. Where collectors and
// the learner do not wait for each other, the prioritised loop is Ape-X.
package dqn

import (
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer fills a table with what its Actor does, and its Learner learns from
// samples of it.
type Trainer struct {
	Config
	Env     env.Batch
	Replay  *replay.Table[Transition]
	Actor   *Actor
	Learner *Learner
}

// Train is the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		t.Collect(run)
		if run.Steps() >= t.LearningStarts {
			t.Learn(run)
		}
	}
	return run.Err()
}

// Collect steps every environment TrainEvery times.
func (t *Trainer) Collect(run *rl.Run) {
	obs := t.Env.Obs()
	epsilon := rl.Scalar(t.Epsilon(run.Progress()))
	for i := range t.TrainEvery {
		action := t.Actor.Act(run.Key("act", i), ActIn{obs, epsilon})
		out := t.Env.Step(action)
		t.Replay.Insert(Transition{obs, action, out.Reward, out.Final, out.Terminated}, out.Over)
		obs = out.Obs
	}
	run.Log("epsilon", epsilon)
}

// Learn makes Updates updates, each of a sample.
func (t *Trainer) Learn(run *rl.Run) {
	beta := rl.Scalar(t.BetaAt(run.Progress()))
	for u := range t.Updates {
		s := t.Replay.Sample(run.Key("sample", u), t.Batch)
		priority := t.Learner.Update(run, u, Batch{s, beta})
		if t.Prioritised {
			t.Replay.Prioritise(s.Index, priority)
		}
	}
	if run.Every(t.TargetEvery) {
		t.Learner.target.params.Blend(t.Learner.net.params, t.Tau)
	}
}

type (
	// ActIn is an observation, and how often to act at random.
	ActIn struct {
		Obs     rl.Obs
		Epsilon rl.Tensor
	}
	// Transition is one step of every environment. Next is where it led, before any
	// reset.
	Transition struct {
		Obs        rl.Obs
		Action     rl.Tree
		Reward     rl.Tensor `replay:"sum"`
		Next       rl.Obs    `replay:"last"`
		Terminated rl.Tensor `replay:"last"`
	}
	// Batch is a sample, and how far its probabilities are corrected for.
	Batch struct {
		Sample replay.Sample[Transition]
		Beta   rl.Tensor
	}
	// Metrics are those of an update, by row. Priority is how much there is to
	// learn from a row.
	Metrics struct{ Priority, Loss, Q rl.Tensor }
)

// Actor takes what seems best, and now and then anything.
type Actor struct {
	act    *rl.Func[ActIn, rl.Tree]
	greedy *rl.Func[rl.Obs, rl.Tree]
}

// Act chooses an action for every environment.
func (a *Actor) Act(k rl.Key, in ActIn) rl.Tree { return a.act.Call(k, in) }

// Learner improves the weights.
type Learner struct {
	Config
	net, target *Net
	opt         *rl.Opt
	loss        *rl.Loss[Batch, Metrics]
	values      *rl.Func[rl.Obs, rl.Tensor]
}

// Values are those of all actions, [rows, actions].
func (l *Learner) Values(obs rl.Obs) rl.Tensor { return l.values.Call(rl.Key{}, obs) }

// Update makes update u of an iteration and returns the rows' priorities.
func (l *Learner) Update(run *rl.Run, u int, b Batch) rl.Tensor {
	g, m := l.loss.Grad(run.Key("loss", u), b)
	l.opt.Apply(g, l.rate(run.Progress()))
	run.Log("loss/td", m.Loss)
	run.Log("q", m.Q)
	return m.Priority
}

func (l *Learner) rate(progress float64) float64 {
	if l.Anneal == "linear" {
		return l.LearningRate * (1 - progress)
	}
	return l.LearningRate
}

// Epsilon is how often to act at random: from the start's value straight to the
// end's, over the first part of the budget.
func (c Config) Epsilon(progress float64) float64 {
	return nn.Linear(c.EpsilonStart, c.EpsilonEnd)(progress / c.Exploration)
}

// BetaAt is how far a sample's probabilities are corrected for: fully at the end.
func (c Config) BetaAt(progress float64) float64 { return nn.Linear(c.Beta, 1)(progress) }
