// Package rl is the vocabulary in which training loops are written.
//
// An algorithm is a [Trainer]: a struct of components, and a method Train that is one plain Go
// loop. Run as it stands the loop is the reference; the compiler reads the same source to
// distribute it, so the words below are all that an author needs to know of the system.
//
//	func (t *Trainer) Train(run *rl.Run) error {
//		for run.Next() {
//			obs := t.Env.Obs()
//			for i := range t.Horizon {
//				act := t.Policy.Call(run.Key("act", i), obs)
//				out := t.Env.Step(act.Action)
//				t.Rollout.Insert(Step{obs, act, out.Reward, out.Terminated, out.Over})
//				obs = out.Obs
//			}
//			last := t.Value.Call(rl.Key{}, obs)
//			s := t.Rollout.Drain()
//			next := rl.Shift(s.Act.Value, last)
//			adv, ret := rl.GAE(t.Gamma, t.Lambda, s.Reward, s.Act.Value, next, s.Terminated, s.Over)
//			g, m := t.Loss.Grad(run.Key("loss"), Sample{s.Obs, s.Act.Action, adv, ret})
//			t.Opt.Apply(g, t.LearningRate)
//			run.Log("loss", m.Loss)
//		}
//		return run.Err()
//	}
//
// The words, in the order in which one meets them:
//
//   - A [Component] is state that outlives an iteration: parameters, an optimiser, a rollout,
//     environments. A checkpoint holds the state of all components and the run's counters. State
//     that fits no component of this module goes into [Slots], or into a type of one's own that
//     implements Component.
//   - A [Scope] is where the constructor makes components. It gives them a [Device], a seed and
//     the environments they own.
//   - A [Run] is the training run as the loop sees it: Next begins an iteration, Key names a random
//     draw, Log reports a number, Progress drives schedules.
//   - A [Key] names random numbers. They are a function of the key, the row and the position in the
//     row; nothing is consumed, so splitting a batch changes no draw.
//   - A [Tensor] is a batch of rows: a value in the loop, a GoMLX node in a graph function. Structs
//     of tensors, a [Tree] among them, name what operations take and return; [Obs] and [Step] are
//     those of environments, and a [Space] says what observations and actions look like. [Select],
//     [Shift], [Stack] and [Gather] move rows about.
//   - A [Func] is a graph function: arithmetic on tensors, compiled once for each shape. A [Ctx]
//     gives it parameters and random draws.
//   - A [Loss] is a graph function with a loss for every row. Grad returns the gradient of their
//     weighted sum, [Grads].
//   - [Params] are parameters that any GoMLX layer can use, and an [Opt] steps them against
//     gradients by a [Rule], such as those of package nn.
//   - [GAE], [NStep], [Lambda] and [VTrace] estimate advantages and returns; [Standardise] and
//     [Mean] are the usual company.
//   - [Stats] are running means and deviations, by which inputs and targets are normalised.
//   - An [Agent] is what was trained, for evaluation and export: [NewAgent] makes one of graph
//     functions, and a [Team] is one for each kind of agent.
//
// Operations return no errors. One that fails stops the run with a [Failure], which has the file
// and line of the author's call.
//
// Components of one's own save and load a [State], and can take part in more: [Resident] ones live
// inside a device program, through [Carry], [Counter], [Stream] and [Lowering]; [Weighted] ones
// hold a part of what an agent needs; [Observation] lets checks see what they do.
package rl
