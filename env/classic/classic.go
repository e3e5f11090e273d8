// Package classic is Gymnasium's classic-control tasks as graph environments:
// the same dynamics, spaces, rewards and step limits under the same ids, in
// float32.
//
// A state is one tensor [env, n], so that an observation that is the state costs
// nothing and an integration step is three operations however many components
// there are: at a handful of environments the number of operations, not their
// size, is what a step costs.
package classic

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

const float32Type = dtypes.Float32

// All are the environments of this package.
var All = []env.Entry{CartPole, Acrobot, MountainCar, MountainCarContinuous, Pendulum, CartPolePositions}

// entry offers dynamics that have no options.
func entry(d env.Dynamics, doc string) env.Entry {
	return env.Entry{
		ID: d.Spec().ID, Doc: doc, Kind: env.KindOf(d.Spec()),
		New: func(s *rl.Scope, n int, _ any) (env.Batch, error) { return env.Graph(s, n, d) },
	}
}

// symmetric returns the box from -high to high.
func symmetric(high ...float64) rl.Box {
	low := make([]float64, len(high))
	for i, x := range high {
		low[i] = -x
	}
	return rl.Box{Low: low, High: high, Dims: []int{len(high)}}
}

// column returns component i of a state, [env, 1]: keeping the axis saves reshapes.
func column(state *Node, i int) *Node { return SliceAxis(state, 1, AxisRange(i, i+1)) }

// join puts columns side by side.
func join(columns ...*Node) *Node { return Concatenate(columns, 1) }

// flat returns a column as a vector [env].
func flat(column *Node) *Node { return Reshape(column, column.Shape().Dimensions[0]) }

// number returns a discrete action as a float32 column.
func number(action rl.Tree) *Node {
	a := action.Leaf("").Node()
	return ConvertDType(Reshape(a, a.Shape().Dimensions[0], 1), float32Type)
}

// constant returns a row vector [1, n] of the state's type.
func constant(like *Node, x ...float32) *Node { return ConstAs(like, [][]float32{x}) }

// always returns the number x for every row.
func always(state *Node, x float64) rl.Tensor {
	return rl.Wrap(BroadcastToDims(Scalar(state.Graph(), float32Type, x), state.Shape().Dimensions[0]))
}

// draw returns n initial states, component i uniform between low[i] and high[i].
func draw(c *rl.Ctx, n int, low, high []float64) rl.Tree {
	u := c.Uniform("state", n, len(low))
	scale, shift := make([]float32, len(low)), make([]float32, len(low))
	for i := range low {
		scale[i], shift[i] = float32(high[i]-low[i]), float32(low[i])
	}
	return rl.One(rl.Wrap(Add(Mul(u, constant(u, scale...)), constant(u, shift...))))
}
