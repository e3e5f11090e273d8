// Package env is the contract between algorithms and environments.
//
// Algorithms see a Batch: all environments of a run, stepped together; or, where
// an environment has several kinds of agents, Groups: one element for each kind.
// Authors of environments write one of two kinds. A graph environment (Dynamics,
// and Joint for several kinds of agents) is GoMLX graph code over a batch of
// states: it runs on any device, and inside one device program with the rest of
// the loop. A host environment (Host) is one environment in plain Go, with no
// thought of batches. Both become a Batch that resets itself, delivers the final
// observation of every episode, counts steps and episodes, and stops the run with
// a sentence when the environment breaks its contract.
//
// # Agents
//
// Agents of one kind are an axis: with Spec.Agents of them, tensors are
// [env, agent, ...]; with one there is no such axis. Whatever the number of
// agents, a step is a step of an environment, an episode belongs to the
// environment, and its return is the sum of the rewards of all agents of all
// kinds; where that is always 0 (Spec.ZeroSum), the first agent's. Over is when
// the episode ends for all. An agent may be out of play before (Spec.Mortal):
// then Obs.Alive is false for it, what it does is ignored, its reward is 0 and
// it stays Terminated.
//
// In turn-based games (Spec.Turns) a step is one move: Obs.Turn says whose it is,
// and what the others do is ignored. They stay in play, may be rewarded for what
// another one did, and have a single legal choice, the first: so their policy's
// log-probability and entropy are 0 whatever its parameters are, and nothing is
// learned from moves that nobody made.
//
//   - A step of a graph environment is two programs, the second only when an episode is over;
//     inside one device program they become one.
//   - Environments with one kind of agent are the special case of those with several, from the
//     dynamics (env.Joint) to the guard; a Batch is a view of Groups with one element. Agents of
//     one kind are an axis.
//   - What stands around environments is looked through (env.Find): the guard, wrappers and views
//     need not know what else an environment can do, such as being drawn or closed.
package env
