package classic

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Pendulum is Pendulum-v1: swing up and hold.
var Pendulum = entry(pendulum{}, "swing a pendulum up and hold it there; minus the squared distance from upright")

type pendulum struct{}

const (
	pendulumSpeed  = 8
	pendulumTorque = 2
)

func (pendulum) Spec() env.Spec {
	return env.Spec{
		ID: "Pendulum-v1", Limit: 200,
		Obs: symmetric(1, 1, pendulumSpeed), Action: symmetric(pendulumTorque),
	}
}

func (pendulum) Reset(c *rl.Ctx, n int) rl.Tree {
	return draw(c, n, []float64{-math.Pi, -1}, []float64{math.Pi, 1})
}

func (pendulum) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	s := state.Leaf("").Node()
	theta := column(s, 0)
	return rl.Obs{X: rl.One(rl.Wrap(join(Cos(theta), Sin(theta), column(s, 1))))}
}

// Step never wraps the angle in the state, only in the cost.
func (pendulum) Step(_ *rl.Ctx, state, action rl.Tree) env.Move {
	const tau, gravity = 0.05, 10
	s := state.Leaf("").Node()
	theta, speed := column(s, 0), column(s, 1)
	torque := ClipScalar(action.Leaf("").Node(), -pendulumTorque, pendulumTorque)

	terms := Square(join(wrap(theta), speed, torque))
	cost := ReduceSum(Mul(terms, constant(terms, -1, -.1, -.001)), 1)

	acc := Add(MulScalar(Sin(theta), 1.5*gravity*tau), MulScalar(torque, 3*tau))
	speed = ClipScalar(Add(speed, acc), -pendulumSpeed, pendulumSpeed)
	theta = Add(theta, MulScalar(speed, tau))
	never := BroadcastToDims(Const(s.Graph(), false), s.Shape().Dimensions[0])
	return env.Move{State: rl.One(rl.Wrap(join(theta, speed))), Reward: rl.Wrap(cost), Terminated: rl.Wrap(never)}
}

// wrap returns an angle in [-pi, pi).
func wrap(x *Node) *Node {
	turns := Floor(MulScalar(AddScalar(x, math.Pi), 1/(2*math.Pi)))
	return Sub(x, MulScalar(turns, 2*math.Pi))
}
