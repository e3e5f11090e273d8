package debug

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// EndlessOptions are the settings of Endless.
type EndlessOptions struct {
	Terminates bool `default:"false" doc:"terminate episodes after 8 steps, instead of truncating them"`
	Numbers    bool `default:"false" doc:"make actions numbers from -1 to 1, instead of choices"`
}

// EndlessLength is the steps of an episode of Endless.
const EndlessLength = 8

// Endless is Endless-v0: there is nothing but noise to see and nothing to decide, and every
// step earns 1. Under a time limit a state is worth 1/(1-gamma), because the
// reward would have gone on; where episodes terminate it is worth less. A learner
// that takes one for the other shows it in its values.
var Endless = entry("Endless-v0", "nothing to decide, 1 at every step of 8; a learner's values show how it bootstraps", EndlessOptions{},
	func(o EndlessOptions) (env.Dynamics, error) { return endless{o}, nil })

// endless's state is the steps taken, which agents do not see, and the noise that
// they see instead.
type endless struct{ EndlessOptions }

func (d endless) Spec() env.Spec {
	s := env.Spec{
		ID: "Endless-v0", Action: rl.Discrete{N: 2},
		Obs: rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{1}},
	}
	if d.Numbers {
		s.Action = rl.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{1}}
	}
	if !d.Terminates {
		s.Limit = EndlessLength
	}
	return s
}

func (endless) state(c *rl.Ctx, age *graph.Node) rl.Tree {
	noise := c.Uniform("noise", age.Shape().Dimensions[0], 1)
	return rl.NewTree([]string{"age", "noise"}, []rl.Tensor{rl.Wrap(age), rl.Wrap(noise)})
}

func (d endless) Reset(c *rl.Ctx, n int) rl.Tree {
	return d.state(c, graph.Zeros(c.Graph(), shapes.Make(dtypes.Int32, n)))
}

func (d endless) Step(c *rl.Ctx, state, _ rl.Tree) env.Move {
	age := graph.AddScalar(state.Leaf("age").Node(), 1)
	over := never(c.Graph(), age.Shape().Dimensions[0])
	if d.Terminates {
		over = rl.Wrap(graph.GreaterOrEqual(age, graph.ConstAs(age, EndlessLength)))
	}
	return env.Move{State: d.state(c, age), Reward: float(graph.OnesLike(age)), Terminated: over}
}

func (endless) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	return rl.Obs{X: rl.One(state.Leaf("noise"))}
}
