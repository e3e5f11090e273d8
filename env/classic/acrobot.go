package classic

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Acrobot is Acrobot-v1: swing the tip of a double pendulum above the bar by the
// torque of the joint between its links.
var Acrobot = entry(acrobot{}, "swing a two-link robot's tip above the bar; -1 per step until there")

// acrobot has links of length, mass and inertia 1, with their centres of mass in
// the middle, so these factors do not appear.
type acrobot struct{}

const (
	acrobotTau     = 0.2
	acrobotGravity = 9.8
	acrobotSpeed1  = 4 * math.Pi
	acrobotSpeed2  = 9 * math.Pi
)

func (acrobot) Spec() env.Spec {
	return env.Spec{
		ID: "Acrobot-v1", Limit: 500,
		Obs: symmetric(1, 1, 1, 1, acrobotSpeed1, acrobotSpeed2), Action: rl.Discrete{N: 3},
	}
}

func (acrobot) Reset(c *rl.Ctx, n int) rl.Tree {
	return draw(c, n, []float64{-.1, -.1, -.1, -.1}, []float64{.1, .1, .1, .1})
}

func (acrobot) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	s := state.Leaf("").Node()
	t1, t2 := column(s, 0), column(s, 1)
	return rl.Obs{X: rl.One(rl.Wrap(join(Cos(t1), Sin(t1), Cos(t2), Sin(t2), SliceAxis(s, 1, AxisRange(2)))))}
}

// Step returns one classical Runge-Kutta step, the torque held; then angles are
// wrapped and speeds clipped.
func (acrobot) Step(_ *rl.Ctx, state, action rl.Tree) env.Move {
	s := state.Leaf("").Node()
	torque := AddScalar(number(action), -1)
	k1 := acrobotSlope(s, torque)
	k2 := acrobotSlope(Add(s, MulScalar(k1, acrobotTau/2)), torque)
	k3 := acrobotSlope(Add(s, MulScalar(k2, acrobotTau/2)), torque)
	k4 := acrobotSlope(Add(s, MulScalar(k3, acrobotTau)), torque)
	sum := Add(Add(k1, k4), MulScalar(Add(k2, k3), 2))
	next := acrobotTidy(Add(s, MulScalar(sum, acrobotTau/6)))

	t1, t2 := column(next, 0), column(next, 1)
	height := flat(Add(Cos(t1), Cos(Add(t1, t2))))
	up := LessThan(height, ConstAs(height, -1))
	reward := AddScalar(ConvertDType(up, float32Type), -1)
	return env.Move{State: rl.One(rl.Wrap(next)), Reward: rl.Wrap(reward), Terminated: rl.Wrap(up)}
}

// acrobotSlope returns the state's derivative, by the equations of Sutton and Barto's
// book.
func acrobotSlope(s, torque *Node) *Node {
	t1, t2, v1, v2 := column(s, 0), column(s, 1), column(s, 2), column(s, 3)
	cos2, halfSin2 := Cos(t2), MulScalar(Sin(t2), 0.5)
	d1 := AddScalar(cos2, 3.5)
	d2 := AddScalar(MulScalar(cos2, 0.5), 1.25)
	// cos(x - pi/2) is sin x.
	phi2 := MulScalar(Sin(Add(t1, t2)), 0.5*acrobotGravity)
	swing := Mul(Mul(halfSin2, v2), Add(v2, MulScalar(v1, 2)))
	phi1 := Add(Sub(MulScalar(Sin(t1), 1.5*acrobotGravity), swing), phi2)

	ratio := Div(d2, d1)
	pull := Sub(Add(torque, Mul(ratio, phi1)), Add(Mul(halfSin2, Square(v1)), phi2))
	a2 := Div(pull, Sub(ConstAs(d2, 1.25), Mul(ratio, d2)))
	a1 := Neg(Add(Mul(ratio, a2), Div(phi1, d1)))
	return join(v1, v2, a1, a2)
}

// acrobotTidy wraps the angles into [-pi, pi], its ends left as they are, and
// clips the speeds.
func acrobotTidy(s *Node) *Node {
	const turn = 2 * math.Pi
	turns := Round(Mul(s, constant(s, 1/turn, 1/turn, 0, 0)))
	s = Sub(s, MulScalar(turns, turn))
	limit := constant(s, 4, 4, acrobotSpeed1, acrobotSpeed2)
	return Min(Max(s, Neg(limit)), limit)
}
