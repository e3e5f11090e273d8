package classic

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// CartPole is CartPole-v1: push a cart so that its pole stays up.
var CartPole = entry(cartPole{}, "balance a pole on a cart pushed left or right; 1 per step, 500 at most")

type cartPole struct{}

const (
	cartTau      = 0.02 // seconds
	cartForce    = 10
	cartGravity  = 9.8
	cartLength   = 0.5 // half of the pole's
	cartPoleMass = 0.1
	cartMass     = 1 + cartPoleMass
	cartX        = 2.4
	cartTheta    = 12 * 2 * math.Pi / 360
)

func (cartPole) Spec() env.Spec {
	return env.Spec{
		ID: "CartPole-v1", Limit: 500,
		Obs:    symmetric(2*cartX, math.Inf(1), 2*cartTheta, math.Inf(1)),
		Action: rl.Discrete{N: 2},
	}
}

func (cartPole) Reset(c *rl.Ctx, n int) rl.Tree {
	return draw(c, n, []float64{-.05, -.05, -.05, -.05}, []float64{.05, .05, .05, .05})
}

func (cartPole) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs { return rl.Obs{X: state} }

// Step returns one explicit Euler step: positions advance with the old velocities.
func (cartPole) Step(_ *rl.Ctx, state, action rl.Tree) env.Move {
	const m = cartPoleMass * cartLength / cartMass
	s := state.Leaf("").Node()
	xDot, theta, thetaDot := column(s, 1), column(s, 2), column(s, 3)
	sin, cos := Sin(theta), Cos(theta)
	mcos := MulScalar(cos, m)

	push := AddScalar(MulScalar(number(action), 2*cartForce/cartMass), -cartForce/cartMass)
	temp := Add(push, Mul(Square(thetaDot), MulScalar(sin, m)))
	thetaAcc := Div(
		Sub(MulScalar(sin, cartGravity), Mul(cos, temp)),
		Sub(ConstAs(cos, cartLength*4/3.), Mul(cos, mcos)))
	xAcc := Sub(temp, Mul(thetaAcc, mcos))

	next := Add(s, MulScalar(join(xDot, xAcc, thetaDot, thetaAcc), cartTau))
	inf := float32(math.Inf(1))
	out := GreaterThan(Abs(next), constant(next, cartX, inf, cartTheta, inf))
	return env.Move{
		State:      rl.One(rl.Wrap(next)),
		Reward:     always(next, 1),
		Terminated: rl.Wrap(ReduceLogicalOr(out, 1)),
	}
}
