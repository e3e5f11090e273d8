package rl

// Trainer owns the loop. Run as plain Go it is the reference that every
// distribution policy must match.
//
//weft:trainer
type Trainer interface {
	Train(*Run) error
	// Agent returns the trained agent, for evaluation, export and serving.
	Agent() Agent
}

// Agent is the trained policy as evaluation, export and serving use it. With several agents of one
// kind it acts for all of them: observations, actions and memory are [env, agent, ...].
type Agent interface {
	// Memory is fresh memory for n environments; empty for an agent without.
	Memory(n int) Tree
	// Act chooses actions, greedily or as in training, and the memory to act
	// with next. Memory of episodes that end is cleared by the caller.
	Act(k Key, obs Obs, mem Tree, greedy bool) (action, next Tree)
}

// NewAgent returns an agent without memory that samples by one function, or acts greedily by
// another; action returns the action in their results.
func NewAgent[A any](sample, greedy *Func[Obs, A], action func(A) Tree) Agent {
	return Acting[Obs, A]{
		Sample: sample, Greedy: greedy,
		In:  func(obs Obs, _ Tree) Obs { return obs },
		Out: func(a A) (Tree, Tree) { return action(a), Tree{} },
	}
}

// Acting is an agent that acts by graph functions.
type Acting[I, A any] struct {
	Sample, Greedy *Func[I, A]
	In             func(obs Obs, memory Tree) I  // makes the functions' input
	Out            func(a A) (action, next Tree) // splits their output
	Fresh          func(n int) Tree              // memory for n environments; nil for an agent without
	Why            func(a A) Thoughts            // what led to the action; nil if nothing can be said
}

// Memory returns fresh memory for n environments.
func (a Acting[I, A]) Memory(n int) Tree {
	if a.Fresh == nil {
		return Tree{}
	}
	return a.Fresh(n)
}

// Act calls the function that is asked for.
func (a Acting[I, A]) Act(k Key, obs Obs, mem Tree, greedy bool) (action, next Tree) {
	return a.Out(a.call(k, obs, mem, greedy))
}

func (a Acting[I, A]) call(k Key, obs Obs, mem Tree, greedy bool) A {
	f := a.Sample
	if greedy {
		f = a.Greedy
	}
	return f.Call(k, a.In(obs, mem))
}

// Think implements Thinker. The thoughts are empty if Why is nil.
func (a Acting[I, A]) Think(k Key, obs Obs, mem Tree, greedy bool) (action, next Tree, why Thoughts) {
	out := a.call(k, obs, mem, greedy)
	if a.Why != nil {
		why = a.Why(out)
	}
	action, next = a.Out(out)
	return action, next, why
}

// Thinker is an agent that can say what led to its actions.
type Thinker interface {
	// Think does what Act does, and returns what led to the action.
	Think(k Key, obs Obs, mem Tree, greedy bool) (action, next Tree, why Thoughts)
}

// Thoughts are an agent's opinions of the states it acts in. Those that it has not are absent.
type Thoughts struct {
	Policy Tensor // [env, choices]: shares of the choices, which add up to 1; of a search, of its visits
	Value  Tensor // [env]: expected return
}

// Team is agents for environments with several kinds of them, one for each kind
// and in their order: what a trainer on groups of environments returns as its
// Agent. Agents act by themselves, whatever they shared in training.
type Team []Agent

// TeamOf returns an agent as a team: of one, if it is not a Team already.
func TeamOf(a Agent) Team {
	if t, ok := a.(Team); ok {
		return t
	}
	return Team{a}
}

// Memory returns the memory of the only member; in a team of several each member has its own.
func (t Team) Memory(n int) Tree { return t.only().Memory(n) }

// Act returns what the only member does; one of several is asked itself.
func (t Team) Act(k Key, obs Obs, mem Tree, greedy bool) (action, next Tree) {
	return t.only().Act(k, obs, mem, greedy)
}

func (t Team) only() Agent {
	if len(t) != 1 {
		failf("a team of %d kinds of agents has no single one to act: ask its members", len(t))
	}
	return t[0]
}

// Obs holds the observations of all environments. Leaves that an environment does not have are
// absent.
//
//weft:batch ask the environments for it: Env.Obs() is the last observation
type Obs struct {
	X     Tree   // [env, ...] or [env, agent, ...]
	Legal Tree   // masks of legal actions, by leaf of the action
	State Tensor // global state, for centralised critics
	Turn  Tensor // [env, agent]: to move, in turn-based games
	Alive Tensor // [env, agent]: still in play
	First Tensor // [env] bool: first observation of an episode
}

// Step is the result of one step of every environment, which has reset itself
// where its episode is over.
//
//weft:batch
type Step struct {
	Obs        Obs    // observation to act on next
	Final      Obs    // the successor as it was before any reset; Obs elsewhere
	Reward     Tensor // [env] or [env, agent] float32
	Terminated Tensor // bool: the task ended; no value beyond
	Truncated  Tensor // bool: cut off, say by a time limit; the value beyond is Final's
	Over       Tensor // [env] bool: the whole episode ended
}

// Done returns where an episode ended in either way.
//
//weft:op batch rows
func (s Step) Done() Tensor { return Or(s.Terminated, s.Truncated) }
