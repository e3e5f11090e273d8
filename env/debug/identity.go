package debug

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// IdentityOptions are the settings of Identity and of Host.
type IdentityOptions struct {
	Symbols int `default:"4" unit:"symbols" range:"[2,)" doc:"number of symbols, and of actions"`
}

var identityDefaults = IdentityOptions{Symbols: 4}

func (o IdentityOptions) check() error { return atLeast("symbols", o.Symbols, 2) }

// spec returns what Identity and Host have in common.
func (o IdentityOptions) spec(id string) env.Spec {
	return env.Spec{
		ID: id, Limit: Length,
		Obs:    rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{o.Symbols}},
		Action: rl.Discrete{N: o.Symbols},
	}
}

// Identity is Identity-v0: a symbol is shown as a one-hot vector, and naming it
// earns 1. The next symbol does not depend on the action.
var Identity = entry("Identity-v0", "name the symbol that is shown; 1 for each of 16 steps", identityDefaults,
	func(o IdentityOptions) (env.Dynamics, error) { return identity{o}, o.check() })

type identity struct{ IdentityOptions }

func (d identity) Spec() env.Spec { return d.spec("Identity-v0") }

func (d identity) Reset(c *rl.Ctx, n int) rl.Tree {
	return rl.One(rl.Wrap(pick(c, "symbol", d.Symbols, n)))
}

func (d identity) Step(c *rl.Ctx, state, action rl.Tree) env.Move {
	shown := state.Leaf("").Node()
	n := shown.Shape().Dimensions[0]
	return env.Move{
		State:      d.Reset(c, n),
		Reward:     float(graph.Equal(action.Leaf("").Node(), shown)),
		Terminated: never(c.Graph(), n),
	}
}

func (d identity) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	return rl.Obs{X: rl.One(rl.Wrap(graph.OneHot(state.Leaf("").Node(), d.Symbols, dtypes.Float32)))}
}

// IdentityContinuous is Identity with numbers for symbols: repeating the number
// shown earns 1, and less the further away the action is.
var IdentityContinuous = env.Entry{
	ID: "IdentityContinuous-v0", Doc: "repeat the number that is shown; 1 less the squared distance for each of 16 steps", Kind: env.Continuous,
	New: func(s *rl.Scope, n int, options any) (env.Batch, error) {
		if options != nil {
			return nil, errNoOptions
		}
		return env.Graph(s, n, identityContinuous{})
	},
}

type identityContinuous struct{}

func (identityContinuous) Spec() env.Spec {
	one := rl.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{1}}
	return env.Spec{ID: "IdentityContinuous-v0", Limit: Length, Obs: one, Action: one}
}

func (identityContinuous) Reset(c *rl.Ctx, n int) rl.Tree {
	return rl.One(rl.Wrap(graph.AddScalar(graph.MulScalar(c.Uniform("number", n, 1), 2), -1)))
}

func (d identityContinuous) Step(c *rl.Ctx, state, action rl.Tree) env.Move {
	shown := state.Leaf("").Node()
	n := shown.Shape().Dimensions[0]
	miss := graph.Reshape(graph.Square(graph.Sub(action.Leaf("").Node(), shown)), n)
	return env.Move{
		State:      d.Reset(c, n),
		Reward:     rl.Wrap(graph.OneMinus(miss)),
		Terminated: never(c.Graph(), n),
	}
}

func (identityContinuous) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs { return rl.Obs{X: state} }
