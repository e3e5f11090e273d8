package ppo

import (
	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Programs for the groups of the built-in policies, written by hand: the runtime
// is tested with them apart from the compiler.

func group(name string, over fdg.Axis, fragments ...string) plan.Group {
	return plan.Group{Name: name, Over: over, Fragments: fragments}
}

func link(name string, kind edge.Kind, from, to string) edge.Edge {
	return edge.Edge{Name: name, Kind: kind, From: from, To: to}
}

var byHand = []edge.Grouping{
	{
		Grouping: plan.Grouping{Name: "coarse", Groups: []plan.Group{
			group("collector", fdg.Environments, "environment", "actor", "replay"),
			group("learner", fdg.None, "gradient", "apply"),
		}},
		Programs: []edge.Main{edge.Of((*Trainer).coarseCollector), edge.Of((*Trainer).coarseLearner)},
		Edges: []edge.Edge{
			link("steps", edge.Gathers, "collector", "learner"), link("last", edge.Gathers, "collector", "learner"),
			link("net", edge.Copies, "learner", "collector"), link("observations", edge.Copies, "learner", "collector"),
		},
	},
	{
		Grouping: plan.Grouping{Name: "fine", Groups: []plan.Group{
			group("environment", fdg.Environments, "environment"),
			group("learner", fdg.None, "actor", "replay", "gradient", "apply"),
		}},
		Programs: []edge.Main{edge.Of((*Trainer).fineEnvironment), edge.Of((*Trainer).fineLearner)},
		Edges: []edge.Edge{
			link("obs", edge.Gathers, "environment", "learner"), link("action", edge.Scatters, "learner", "environment"),
			link("out", edge.Gathers, "environment", "learner"),
		},
	},
	{
		Grouping: plan.Grouping{Name: "learners", Groups: []plan.Group{
			group("learner", fdg.Environments, "environment", "actor", "replay", "gradient", "apply"),
		}},
		Programs: []edge.Main{edge.Of((*Trainer).learnersLearner)},
		Edges: []edge.Edge{
			link("out", edge.AllGathers, "learner", "learner"), link("adv", edge.AllGathers, "learner", "learner"),
			link("g", edge.AllReduces, "learner", "learner"), link("kl", edge.AllGathers, "learner", "learner"),
			link("explained", edge.AllGathers, "learner", "learner"), link("features", edge.AllGathers, "learner", "learner"),
		},
	},
	{
		Grouping: plan.Grouping{Name: "central", Groups: []plan.Group{
			group("worker", fdg.Environments, "environment", "actor", "replay", "gradient"),
			group("server", fdg.None, "apply"),
		}},
		Programs: []edge.Main{edge.Of((*Trainer).centralWorker), edge.Of((*Trainer).centralServer)},
		Edges: []edge.Edge{
			link("out", edge.Gathers, "worker", "server"), link("returns", edge.Copies, "server", "worker"),
			link("adv", edge.AllGathers, "worker", "worker"), link("g", edge.Reduces, "worker", "server"),
			link("net", edge.Copies, "server", "worker"), link("kl", edge.AllGathers, "worker", "worker"),
			link("stop", edge.Sends, "worker", "server"), link("explained", edge.AllGathers, "worker", "worker"),
			link("features", edge.Gathers, "worker", "server"), link("observations", edge.Copies, "server", "worker"),
		},
	},
}

func (t *Trainer) coarseCollector(run *rl.Run, x *edge.X) error {
	for run.Next() {
		b := t.Collect(run)
		edge.Gather(x, 0, b.Steps)
		edge.Gather(x, 1, b.Last)
		edge.Fetch(x, 2, t.Actor.net.params)
		if t.NormalizeObs {
			edge.Fetch(x, 3, t.Actor.net.norm)
		}
	}
	return run.Err()
}

func (t *Trainer) coarseLearner(run *rl.Run, x *edge.X) error {
	for run.Next() {
		steps := edge.Gathered[Step](x, 0)
		t.Learner.Learn(run, Batch{steps, edge.Gathered[rl.Tensor](x, 1)})
		edge.Publish(x, 2, t.Learner.net.params)
		if t.NormalizeObs {
			edge.Publish(x, 3, t.Learner.net.norm)
		}
	}
	return run.Err()
}

func (t *Trainer) fineEnvironment(run *rl.Run, x *edge.X) error {
	for run.Next() {
		edge.Gather(x, 0, t.Env.Obs())
		for range t.Horizon {
			edge.Gather(x, 2, t.Env.Step(edge.Scattered[rl.Tree](x, 1)))
		}
	}
	return run.Err()
}

// remote is the environments of the other group.
type remote struct {
	env.Batch
	x *edge.X
}

func (r remote) Obs() rl.Obs { return edge.Gathered[rl.Obs](r.x, 0) }

func (r remote) Step(action rl.Tree) rl.Step {
	edge.Scatter(r.x, 1, action)
	return edge.Gathered[rl.Step](r.x, 2)
}

func (t *Trainer) fineLearner(run *rl.Run, x *edge.X) error {
	there := *t
	there.Env = remote{t.Env, x}
	for run.Next() {
		t.Learner.Learn(run, there.Collect(run))
	}
	return run.Err()
}

// meets are the places where a replicated learner needs the others.
type meets interface {
	scaled(Outcome) rl.Tensor
	standardise(rl.Tensor) rl.Tensor
	apply(g rl.Grads, lr float64)
	mean(kl rl.Tensor) float64
	explain(Explained)
	observe(rl.Obs)
}

// learn is Learn with those places taken out.
func (l *Learner) learn(run *rl.Run, b Batch, m meets) {
	steps := b.Steps
	reward := m.scaled(steps.Out)
	next := rl.Select(steps.Out.Truncated, steps.Cut, rl.Shift(steps.Act.Value, b.Last))
	adv, ret := rl.GAE(l.Gamma, l.Lambda, reward, steps.Act.Value, next, steps.Out.Terminated, steps.Out.Over)
	sample := Sample{steps.In, steps.Act.Raw, steps.Act.LogProb, steps.Act.Value, adv, ret}
	lr := l.rate(run.Progress())
	for e := range l.Epochs {
		var aux Metrics
		for i := range l.Minibatches {
			mini := replay.Take(sample, run.Key("shuffle", e), l.rows(), i, l.Minibatches)
			if l.NormalizeAdvantage {
				mini.Adv = m.standardise(mini.Adv)
			}
			var g rl.Grads
			g, aux = l.loss.Grad(run.Key("loss", e, i), mini)
			m.apply(g, lr)
			aux.log(run)
		}
		if l.TargetKL > 0 && m.mean(aux.KL) > l.TargetKL {
			break
		}
	}
	m.explain(Explained{steps.Act.Value, ret})
	m.observe(steps.In.Obs)
}

// replicated is a learner of several that hold the same.
type replicated struct {
	*Learner
	run *rl.Run
	x   *edge.X
}

func (r replicated) scaled(out Outcome) rl.Tensor {
	if !r.NormalizeReward {
		return out.Reward
	}
	all := edge.AllGather(r.x, 0, out)
	r.returns.Update(all.Reward, all.Over)
	return r.scale.Call(rl.Key{}, out.Reward)
}

func (r replicated) standardise(adv rl.Tensor) rl.Tensor {
	return edge.OwnRows(r.x, 1, rl.Standardise(edge.AllGather(r.x, 1, adv), rl.Tensor{}))
}

func (r replicated) apply(g rl.Grads, lr float64) { r.opt.Apply(edge.AllReduce(r.x, 2, g), lr) }

func (r replicated) mean(kl rl.Tensor) float64 {
	return r.run.Value(rl.Mean(edge.AllGather(r.x, 3, kl)))
}

func (r replicated) explain(e Explained) {
	edge.LogOnce(r.x, r.run, "learning_rate", rl.Scalar(r.rate(r.run.Progress())))
	edge.LogOnce(r.x, r.run, "explained_variance", r.explained.Call(rl.Key{}, edge.AllGather(r.x, 4, e)))
}

func (r replicated) observe(obs rl.Obs) {
	if r.NormalizeObs {
		r.net.norm.Update(edge.AllGather(r.x, 5, r.features.Call(rl.Key{}, obs.X)))
	}
}

func (t *Trainer) learnersLearner(run *rl.Run, x *edge.X) error {
	for run.Next() {
		b := t.Collect(run)
		t.Learner.learn(run, b, replicated{t.Learner, run, x})
	}
	return run.Err()
}

// worker is a learner whose weights are at a server.
type worker struct{ replicated }

func (w worker) scaled(out Outcome) rl.Tensor {
	if !w.NormalizeReward {
		return out.Reward
	}
	edge.Gather(w.x, 0, out)
	edge.Fetch(w.x, 1, w.returns.Stats())
	return w.scale.Call(rl.Key{}, out.Reward)
}

func (w worker) standardise(adv rl.Tensor) rl.Tensor {
	return edge.OwnRows(w.x, 2, rl.Standardise(edge.AllGather(w.x, 2, adv), rl.Tensor{}))
}

func (w worker) apply(g rl.Grads, _ float64) {
	edge.Reduce(w.x, 3, g)
	edge.Fetch(w.x, 4, w.net.params)
}

func (w worker) mean(kl rl.Tensor) float64 {
	x := w.run.Value(rl.Mean(edge.AllGather(w.x, 5, kl)))
	edge.Send(w.x, 6, x)
	return x
}

func (w worker) explain(e Explained) {
	edge.LogOnce(w.x, w.run, "learning_rate", rl.Scalar(w.rate(w.run.Progress())))
	edge.LogOnce(w.x, w.run, "explained_variance", w.explained.Call(rl.Key{}, edge.AllGather(w.x, 7, e)))
}

func (w worker) observe(obs rl.Obs) {
	if w.NormalizeObs {
		edge.Gather(w.x, 8, w.features.Call(rl.Key{}, obs.X))
		edge.Fetch(w.x, 9, w.net.norm)
	}
}

func (t *Trainer) centralWorker(run *rl.Run, x *edge.X) error {
	for run.Next() {
		b := t.Collect(run)
		t.Learner.learn(run, b, worker{replicated{t.Learner, run, x}})
	}
	return run.Err()
}

func (t *Trainer) centralServer(run *rl.Run, x *edge.X) error {
	for run.Next() {
		l := t.Learner
		if l.NormalizeReward {
			out := edge.Gathered[Outcome](x, 0)
			l.returns.Update(out.Reward, out.Over)
			edge.Publish(x, 1, l.returns.Stats())
		}
		lr := l.rate(run.Progress())
		for range l.Epochs {
			for range l.Minibatches {
				l.opt.Apply(edge.Reduced(x, 3), lr)
				edge.Publish(x, 4, l.net.params)
			}
			if l.TargetKL > 0 && edge.Sent[float64](x, 6) > l.TargetKL {
				break
			}
		}
		if l.NormalizeObs {
			l.net.norm.Update(edge.Gathered[rl.Tensor](x, 8))
			edge.Publish(x, 9, l.net.norm)
		}
	}
	return run.Err()
}
