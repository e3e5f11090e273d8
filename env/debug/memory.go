package debug

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// MemoryOptions are the settings of Memory.
type MemoryOptions struct {
	Delay int `default:"6" unit:"steps" range:"[1,)" doc:"blank observations between the cue and the question"`
}

// Memory is Memory-v0: one of two cues is shown in the first observation only;
// after Delay blank ones the agent is asked, and naming the cue earns 1. Every
// observation but the first is the same whatever the cue was, so without memory
// the expected return is one half.
var Memory = entry("Memory-v0", "name the cue that was shown some steps ago; 1 if right", MemoryOptions{Delay: 6},
	func(o MemoryOptions) (env.Dynamics, error) { return memory{o}, atLeast("delay", o.Delay, 1) })

// memory's observation is three numbers: the cue as a one-hot vector, and
// whether it is asked for now.
type memory struct{ MemoryOptions }

func (memory) Spec() env.Spec {
	return env.Spec{
		ID:     "Memory-v0",
		Obs:    rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{3}},
		Action: rl.Discrete{N: 2},
	}
}

// state returns the cue and the steps since it was shown.
func (memory) state(cue, age *graph.Node) rl.Tree {
	return rl.NewTree([]string{"cue", "age"}, []rl.Tensor{rl.Wrap(cue), rl.Wrap(age)})
}

func (d memory) Reset(c *rl.Ctx, n int) rl.Tree {
	cue := pick(c, "cue", 2, n)
	return d.state(cue, graph.ZerosLike(cue))
}

func (d memory) Step(_ *rl.Ctx, state, action rl.Tree) env.Move {
	cue, age := state.Leaf("cue").Node(), state.Leaf("age").Node()
	asked := d.asked(age)
	right := graph.Equal(action.Leaf("").Node(), cue)
	return env.Move{
		State:      d.state(cue, graph.AddScalar(age, 1)),
		Reward:     float(graph.LogicalAnd(asked, right)),
		Terminated: rl.Wrap(asked),
	}
}

func (d memory) asked(age *graph.Node) *graph.Node {
	return graph.Equal(age, graph.ConstAs(age, d.Delay+1))
}

func (d memory) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	cue, age := state.Leaf("cue").Node(), state.Leaf("age").Node()
	shown := graph.IsZero(age)
	number := func(x *graph.Node) *graph.Node { return graph.ConvertDType(x, dtypes.Float32) }
	x := graph.Stack([]*graph.Node{
		number(graph.LogicalAnd(shown, graph.IsZero(cue))),
		number(graph.LogicalAnd(shown, graph.LogicalNot(graph.IsZero(cue)))),
		number(d.asked(age)),
	}, 1)
	return rl.Obs{X: rl.One(rl.Wrap(x))}
}
