package env

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/rl"
)

// Dynamics is an environment with one kind of agent as graph code over a batch of
// states. State is a tree of tensors [env, ...]; nothing else is remembered.
// Random numbers come from the Ctx, by row, so that an environment behaves the
// same in a batch of one and of a thousand.
type Dynamics interface {
	// Spec says what the environment is; the fields that depend on the batch are
	// filled in.
	Spec() Spec
	// Reset is the states of n episodes about to begin.
	Reset(c *rl.Ctx, n int) rl.Tree
	// Step moves each state by its action, without any reset or time limit.
	Step(c *rl.Ctx, state, action rl.Tree) Move
	// Observe returns the observations of the states: all fields of Obs but First.
	Observe(c *rl.Ctx, state rl.Tree) rl.Obs
}

// Move is the result of one step of Dynamics, by row. With several agents Reward and Terminated are
// [env, agent].
type Move struct {
	State      rl.Tree
	Reward     rl.Tensor // float32
	Terminated rl.Tensor // bool
	Over       rl.Tensor // [env] bool: the episode ended; absent, it does when all agents have terminated
}

// Joint is Dynamics with several kinds of agents: what belongs to agents has one
// element for each kind, in the order of Spec.
type Joint interface {
	Spec() []Spec
	Reset(c *rl.Ctx, n int) rl.Tree
	Step(c *rl.Ctx, state rl.Tree, action []rl.Tree) Moves
	Observe(c *rl.Ctx, state rl.Tree) []rl.Obs
}

// Moves is the result of one step of a Joint.
type Moves struct {
	State              rl.Tree
	Reward, Terminated []rl.Tensor
	Over               rl.Tensor // whether each episode is over, as in Move
}

// Graph makes n environments of the given dynamics.
//
//weft:makes
func Graph(s *rl.Scope, n int, d Dynamics) (Batch, error) {
	g, err := GraphGroups(s, n, lone{d})
	if err != nil {
		return nil, err
	}
	return alone{g}, nil
}

// Apart is dynamics whose environments do not look at each other though their graph
// cannot show it, because they gather by numbers that they compute. The conformance
// kit envtest splits batches, and so sees whether it is true.
type Apart interface {
	Joint
	Apart()
}

// lone is dynamics as those of the only kind of agent.
type lone struct{ d Dynamics }

func (l lone) Spec() []Spec                              { return []Spec{l.d.Spec()} }
func (l lone) Reset(c *rl.Ctx, n int) rl.Tree            { return l.d.Reset(c, n) }
func (l lone) Observe(c *rl.Ctx, state rl.Tree) []rl.Obs { return []rl.Obs{l.d.Observe(c, state)} }

func (l lone) Step(c *rl.Ctx, state rl.Tree, action []rl.Tree) Moves {
	m := l.d.Step(c, state, action[0])
	return Moves{m.State, []rl.Tensor{m.Reward}, []rl.Tensor{m.Terminated}, m.Over}
}

// GraphGroups makes n environments of the given dynamics with several kinds of
// agents.
//
//weft:makes
func GraphGroups(s *rl.Scope, n int, d Joint) (Groups, error) {
	specs := d.Spec()
	for i := range specs {
		specs[i].Graph, specs[i].Exact, specs[i].AutoReset = true, true, SameStep
		specs[i] = specs[i].own(s, n)
	}
	if err := checkKinds(specs); err != nil {
		return nil, err
	}
	one := specs[0]
	g := &graphGroups{specs: specs, dyn: d, scope: s, key: s.Key("env").At(one.First)}
	g.reset = rl.NewFunc(s, one.ID+" reset", g.resetGraph)
	g.advance = rl.NewFunc(s, one.ID+" step", g.advanceGraph)
	g.renew = rl.NewFunc(s, one.ID+" renew", g.renewGraph)
	if _, ok := d.(Apart); ok {
		g.reset, g.advance, g.renew = g.reset.Apart(), g.advance.Apart(), g.renew.Apart()
	}
	g.count = rl.FromFlat(s, make([]int32, one.Rows), one.Rows)
	return g, nil
}

// graphGroups steps a Joint. A step is two graph functions: advance moves, and
// renew, only needed when an episode is over, begins the next ones. Inside a
// device program they are one.
type graphGroups struct {
	specs []Spec
	dyn   Joint
	scope *rl.Scope
	key   rl.Key
	time  rl.Counter // steps taken: part of the key of every draw
	count rl.Tensor  // [env] zeros, the shape for reset
	last  live
	film  film

	reset   *rl.Func[rl.Tensor, live]
	advance *rl.Func[advanceIn, advanceOut]
	renew   *rl.Func[renewIn, live]
}

// live is the environments between two steps.
type live struct {
	State rl.Tree
	Age   rl.Tensor // [env] int32: steps of the episode
	Obs   []rl.Obs  // observations, by kind
}

type advanceIn struct {
	State  rl.Tree
	Age    rl.Tensor
	Action []rl.Tree
}

type advanceOut struct {
	Next                          live
	Reward, Terminated, Truncated []rl.Tensor
	Over                          rl.Tensor
}

type renewIn struct {
	Next live
	Over rl.Tensor
}

func (g *graphGroups) Spec() []Spec { return g.specs }

func (g *graphGroups) Obs() []rl.Obs {
	if !g.last.Age.Ok() {
		g.last = g.reset.Call(g.key.Use("reset"), g.count)
		g.shoot(g.last.State)
	}
	return g.last.Obs
}

func (g *graphGroups) Step(action []rl.Tree) []rl.Step {
	g.Obs()
	g.time.Add(1)
	k := g.time.Fold(g.key)
	out := g.advance.Call(k, advanceIn{g.last.State, g.last.Age, action})
	g.shoot(out.Next.State)
	g.last = g.renew.Where(out.Over, k, renewIn{out.Next, out.Over}, out.Next)
	steps := make([]rl.Step, len(g.specs))
	for i := range steps {
		steps[i] = rl.Step{
			Obs: g.last.Obs[i], Final: out.Next.Obs[i], Reward: out.Reward[i],
			Terminated: out.Terminated[i], Truncated: out.Truncated[i], Over: out.Over,
		}
	}
	return steps
}

func (g *graphGroups) resetGraph(c *rl.Ctx, like rl.Tensor) live {
	n := like.Rows()
	age := graph.Zeros(c.Graph(), shapes.Make(dtypes.Int32, n))
	return g.observe(c, g.dyn.Reset(c, n), age, everywhere(age, true))
}

func (g *graphGroups) advanceGraph(c *rl.Ctx, in advanceIn) advanceOut {
	m := g.dyn.Step(c, in.State, in.Action)
	if n := len(g.specs); len(m.Reward) != n || len(m.Terminated) != n {
		rl.Failf("a step gives %d rewards and %d terminations for %d kinds of agents", len(m.Reward), len(m.Terminated), n)
	}
	age := graph.AddScalar(in.Age.Node(), 1)
	late := everywhere(age, false)
	if limit := g.specs[0].Limit; limit > 0 {
		// As in Gymnasium, an episode that terminates at its limit is both.
		late = graph.GreaterOrEqual(age, graph.ConstAs(age, limit))
	}
	out := advanceOut{Next: g.observe(c, m.State, age, everywhere(age, false)), Reward: m.Reward, Terminated: m.Terminated}
	for _, s := range g.specs {
		out.Truncated = append(out.Truncated, rl.Wrap(perAgent(late, s)))
	}
	out.Over = rl.Wrap(graph.LogicalOr(ended(m), late))
	return out
}

// perAgent returns a flag of environments for each of their agents.
func perAgent(flag *graph.Node, s Spec) *graph.Node {
	if s.Agents <= 1 {
		return flag
	}
	return graph.BroadcastToDims(graph.ExpandAxes(flag, 1), flag.Shape().Dimensions[0], s.Agents)
}

// ended returns where an episode is over by itself, [env].
func ended(m Moves) *graph.Node {
	if m.Over.Ok() {
		return m.Over.Node()
	}
	var all *graph.Node
	for _, t := range m.Terminated {
		x := t.Node()
		if x.Rank() == 2 {
			x = graph.ReduceLogicalAnd(x, 1)
		}
		if all != nil {
			x = graph.LogicalAnd(all, x)
		}
		all = x
	}
	return all
}

// renewGraph puts new environments where others ended, and then looks at all of them:
// the others look as they did. So where nobody asks for the last observation of an
// episode, nothing has to be looked at twice. If looking makes draws, what was seen stays.
func (g *graphGroups) renewGraph(c *rl.Ctx, in renewIn) (out live) {
	c.Within("renew", func() {
		state := renewed(in.Over, g.dyn.Reset(c, in.Over.Rows()), in.Next.State)
		age := rl.Select(in.Over, rl.Zero(in.Next.Age), in.Next.Age)
		before := c.Draws()
		out = g.observe(c, state, age.Node(), in.Over.Node())
		if c.Draws() > before {
			out.Obs = renewed(in.Over, out.Obs, in.Next.Obs)
		}
	})
	return out
}

// renewed returns fresh in the rows that are over, and old in the others.
func renewed[T any](over rl.Tensor, fresh, old T) T {
	next, before := rl.Leaves(fresh), rl.Leaves(old)
	for i := range next {
		if next[i].Ok() {
			next[i] = rl.Select(over, next[i], before[i])
		}
	}
	return rl.Rebuild(fresh, next)
}

// observe completes the live environments with what is seen of them; first is where
// an episode begins.
func (g *graphGroups) observe(c *rl.Ctx, state rl.Tree, age, first *graph.Node) live {
	obs := g.dyn.Observe(c, state)
	for i := range obs {
		obs[i].First = rl.Wrap(first)
	}
	return live{state, rl.Wrap(age), obs}
}

// everywhere returns the flag for each row of like.
func everywhere(like *graph.Node, flag bool) *graph.Node {
	return graph.BroadcastToDims(graph.Const(like.Graph(), flag), like.Shape().Dimensions...)
}

// Resident returns the whole state: a device program can hold it.
func (g *graphGroups) Resident() []rl.Carried {
	g.Obs()
	return []rl.Carried{rl.Carry(&g.last), g.time.Carried()}
}

func (g *graphGroups) Axis() rl.Axis { return rl.Envs }

func (g *graphGroups) Save(s *rl.State) {
	g.Obs()
	rl.PutSlice(s, "time", []int64{g.time.Int64()})
	for i, t := range rl.Leaves(g.last) {
		s.PutRows(fmt.Sprint(i), t)
	}
}

func (g *graphGroups) Load(s *rl.State) error {
	g.Obs() // the structure of the state is known once it was made
	time := rl.GetSliceN[int64](s, "time", 1)
	leaves := rl.Leaves(g.last)
	for i, t := range leaves {
		if t.Ok() {
			leaves[i] = s.GetRows(fmt.Sprint(i), t)
		}
	}
	if s.Err() != nil {
		return s.Err()
	}
	g.time.Set(time[0])
	g.last = rl.Rebuild(g.last, leaves)
	return nil
}
