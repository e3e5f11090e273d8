package debug

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// TwoStep is TwoStep-v0, the two-step game of Rashid et al. ("QMIX", 2018). Of two agents the first
// one's action chooses one of two games with two actions each, which both play in the second step.
// The first game pays 7 whatever they do. The second pays 0, 1 or 8 where none, one or both of them
// take the second action. Each agent gets half of it. A learner that adds up what each agent's
// action is worth by itself values the second game at 6.5, if actions are random, and settles for
// 7.
var TwoStep = env.Entry{
	ID: "TwoStep-v0", Doc: "two agents choose a game that pays 7, or one that pays 8 if both play it right", Kind: env.Teams,
	New: func(s *rl.Scope, n int, options any) (env.Batch, error) {
		if options != nil {
			return nil, errNoOptions
		}
		return env.Graph(s, n, twoStep{})
	},
}

// twoStep's state is 0 in the first step, and the number of the game in the second, [env] int32.
type twoStep struct{}

const players = 2

func (twoStep) Spec() env.Spec {
	return env.Spec{
		ID: "TwoStep-v0", Agents: players, State: 3,
		Obs:    rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{3}},
		Action: rl.Discrete{N: 2},
	}
}

func (twoStep) Reset(c *rl.Ctx, n int) rl.Tree {
	return rl.One(rl.Wrap(graph.Zeros(c.Graph(), shapes.Make(dtypes.Int32, n))))
}

func (twoStep) Step(_ *rl.Ctx, state, action rl.Tree) env.Move {
	game, moves := state.Leaf("").Node(), action.Leaf("").Node()
	is := func(x *graph.Node, n int) *graph.Node { return graph.Equal(x, graph.ConstAs(x, n)) }
	pays := func(where *graph.Node, x float64) *graph.Node { return graph.MulScalar(float(where).Node(), x) }
	second := graph.ReduceSum(moves, 1) // agents that take the second action
	payoff := graph.Add(pays(is(second, 1), 1), pays(is(second, 2), 8))
	payoff = graph.Add(graph.Mul(payoff, float(is(game, 2)).Node()), pays(is(game, 1), 7))
	first := graph.Squeeze(graph.SliceAxis(moves, 1, graph.AxisElem(0)), 1)
	both := func(x *graph.Node) rl.Tensor {
		return rl.Wrap(graph.BroadcastToDims(graph.ExpandAxes(x, 1), x.Shape().Dimensions[0], players))
	}
	return env.Move{
		State:      rl.One(rl.Wrap(graph.AddScalar(first, 1))),
		Reward:     both(graph.MulScalar(payoff, 1./players)),
		Terminated: both(graph.LogicalNot(is(game, 0))),
	}
}

func (twoStep) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	x := graph.OneHot(state.Leaf("").Node(), 3, dtypes.Float32)
	each := graph.BroadcastToDims(graph.ExpandAxes(x, 1), x.Shape().Dimensions[0], players, 3)
	return rl.Obs{X: rl.One(rl.Wrap(each)), State: rl.Wrap(x)}
}
