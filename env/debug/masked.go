package debug

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// MaskedOptions are the settings of Masked.
type MaskedOptions struct {
	Actions int `default:"5" unit:"actions" range:"[2,)" doc:"number of actions, legal or not"`
}

// Masked is Masked-v0: a random set of the actions, never empty, is legal at
// each step, and the highest legal one earns 1. Taking an illegal one stops the
// run.
var Masked = entry("Masked-v0", "take the highest of the actions that are legal; 1 for each of 16 steps", MaskedOptions{Actions: 5},
	func(o MaskedOptions) (env.Dynamics, error) { return masked{o}, atLeast("actions", o.Actions, 2) })

// masked's state is the mask, [env, action] bool.
type masked struct{ MaskedOptions }

func (d masked) Spec() env.Spec {
	return env.Spec{
		ID: "Masked-v0", Limit: Length, Masked: true,
		Obs:    rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{d.Actions}},
		Action: rl.Discrete{N: d.Actions},
	}
}

func (d masked) Reset(c *rl.Ctx, n int) rl.Tree {
	u := c.Uniform("legal", n, d.Actions)
	sure := graph.OneHot(pick(c, "sure", d.Actions, n), d.Actions, dtypes.Bool)
	return rl.One(rl.Wrap(graph.LogicalOr(graph.LessThan(u, graph.ConstAs(u, 0.5)), sure)))
}

func (d masked) Step(c *rl.Ctx, state, action rl.Tree) env.Move {
	legal := state.Leaf("").Node()
	n := legal.Shape().Dimensions[0]
	// Legal actions count as their number, others as 0: the maximum is the highest.
	number := graph.Iota(c.Graph(), shapes.Make(dtypes.Int32, n, d.Actions), 1)
	best := graph.ReduceMax(graph.Where(legal, number, graph.ZerosLike(number)), 1)
	return env.Move{
		State:      d.Reset(c, n),
		Reward:     float(graph.Equal(action.Leaf("").Node(), best)),
		Terminated: never(c.Graph(), n),
	}
}

func (d masked) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	return rl.Obs{X: rl.One(float(state.Leaf("").Node())), Legal: state}
}
