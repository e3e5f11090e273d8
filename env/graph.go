package env

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/rl"
)

// Dynamics is an environment as graph code over a batch of states. State is a
// tree of tensors [env, ...]; nothing else is remembered. Random numbers come
// from the Ctx, by row, so that an environment behaves the same in a batch of
// one and of a thousand.
type Dynamics interface {
	// Spec says what the environment is; the fields that depend on the batch are
	// filled in.
	Spec() Spec
	// Reset is the states of n episodes about to begin.
	Reset(c *rl.Ctx, n int) rl.Tree
	// Step moves each state by its action, without any reset or time limit.
	Step(c *rl.Ctx, state, action rl.Tree) Move
	// Observe is what agents see of the states: X, and Legal where masked.
	Observe(c *rl.Ctx, state rl.Tree) rl.Obs
}

// Move is what one step of Dynamics gives, by row.
type Move struct {
	State      rl.Tree
	Reward     rl.Tensor // float32
	Terminated rl.Tensor // bool
}

// Graph makes n environments of the given dynamics.
func Graph(s *rl.Scope, n int, d Dynamics) (Batch, error) {
	spec := d.Spec()
	spec.Graph, spec.Exact, spec.AutoReset = true, true, SameStep
	spec = spec.own(s, n)
	if err := spec.Check(); err != nil {
		return nil, err
	}
	g := &graphBatch{spec: spec, dyn: d, scope: s, key: s.Key("env").At(spec.First)}
	g.reset = rl.NewFunc(s, spec.ID+" reset", g.resetGraph)
	g.advance = rl.NewFunc(s, spec.ID+" step", g.advanceGraph)
	g.renew = rl.NewFunc(s, spec.ID+" renew", g.renewGraph)
	g.count = rl.FromFlat(s, make([]int32, spec.Rows), spec.Rows)
	return g, nil
}

// graphBatch steps Dynamics. A step is two graph functions: advance moves, and
// renew, only needed when an episode is over, begins the next ones. Inside a
// device program they are one.
type graphBatch struct {
	spec  Spec
	dyn   Dynamics
	scope *rl.Scope
	key   rl.Key
	time  int64     // steps taken: part of the key of every draw
	count rl.Tensor // [env] zeros, the shape for reset
	last  live

	reset   *rl.Func[rl.Tensor, live]
	advance *rl.Func[advanceIn, advanceOut]
	renew   *rl.Func[renewIn, live]
}

// live is the environments between two steps.
type live struct {
	State rl.Tree
	Age   rl.Tensor // [env] int32: steps of the episode
	Obs   rl.Obs
}

type advanceIn struct {
	State  rl.Tree
	Age    rl.Tensor
	Action rl.Tree
}

type advanceOut struct {
	Next                                live
	Reward, Terminated, Truncated, Over rl.Tensor
}

type renewIn struct {
	Next live
	Over rl.Tensor
}

func (g *graphBatch) Spec() Spec { return g.spec }

func (g *graphBatch) Obs() rl.Obs {
	if !g.last.Age.Ok() {
		g.last = g.reset.Call(g.key.Use("reset"), g.count)
	}
	return g.last.Obs
}

func (g *graphBatch) Step(action rl.Tree) rl.Step {
	g.Obs()
	g.time++
	k := g.key.Fold(uint64(g.time))
	out := g.advance.Call(k, advanceIn{g.last.State, g.last.Age, action})
	g.last = out.Next
	if rl.Any(out.Over) {
		g.last = g.renew.Call(k, renewIn{out.Next, out.Over})
	}
	return rl.Step{
		Obs: g.last.Obs, Final: out.Next.Obs, Reward: out.Reward,
		Terminated: out.Terminated, Truncated: out.Truncated, Over: out.Over,
	}
}

func (g *graphBatch) resetGraph(c *rl.Ctx, like rl.Tensor) live {
	n := like.Rows()
	return g.observe(c, g.dyn.Reset(c, n), graph.Zeros(c.Graph(), shapes.Make(dtypes.Int32, n)), true)
}

func (g *graphBatch) advanceGraph(c *rl.Ctx, in advanceIn) advanceOut {
	m := g.dyn.Step(c, in.State, in.Action)
	age := graph.AddScalar(in.Age.Node(), 1)
	truncated := everywhere(age, false)
	if g.spec.Limit > 0 {
		// As in Gymnasium, an episode that terminates at its limit is both.
		truncated = graph.GreaterOrEqual(age, graph.ConstAs(age, g.spec.Limit))
	}
	return advanceOut{
		Next:       g.observe(c, m.State, age, false),
		Reward:     m.Reward,
		Terminated: m.Terminated,
		Truncated:  rl.Wrap(truncated),
		Over:       rl.Wrap(graph.LogicalOr(m.Terminated.Node(), truncated)),
	}
}

func (g *graphBatch) renewGraph(c *rl.Ctx, in renewIn) live {
	var fresh live
	c.Within("renew", func() { fresh = g.resetGraph(c, in.Over) })
	old := rl.Leaves(in.Next)
	next := rl.Leaves(fresh)
	for i := range next {
		if next[i].Ok() {
			next[i] = rl.Select(in.Over, next[i], old[i])
		}
	}
	return rl.Rebuild(fresh, next)
}

// observe completes the live environments with what is seen of them.
func (g *graphBatch) observe(c *rl.Ctx, state rl.Tree, age *graph.Node, first bool) live {
	obs := g.dyn.Observe(c, state)
	obs.First = rl.Wrap(everywhere(age, first))
	return live{state, rl.Wrap(age), obs}
}

// everywhere is the flag for each row of like.
func everywhere(like *graph.Node, flag bool) *graph.Node {
	return graph.BroadcastToDims(graph.Const(like.Graph(), flag), like.Shape().Dimensions...)
}

func (g *graphBatch) Axis() rl.Axis { return rl.Envs }

func (g *graphBatch) Save(s *rl.State) {
	g.Obs()
	rl.PutSlice(s, "time", []int64{g.time})
	for i, t := range rl.Leaves(g.last) {
		s.PutRows(fmt.Sprint(i), t)
	}
}

func (g *graphBatch) Load(s *rl.State) error {
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
	g.time, g.last = time[0], rl.Rebuild(g.last, leaves)
	return nil
}
