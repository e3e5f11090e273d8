package suite

import (
	"image"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/sketch"
	"github.com/weft-rl/weft/rl"
)

// CartPoleSwingUp is the suite's cartpole swingup.
var CartPoleSwingUp = entry(swingUp{}, "swing a pole up by moving the cart that it hangs from, and hold it there; 0..1 by step")

// swingUp is a cart on a rail with a pole that hangs down at first. A state is the place of the
// cart, the angle of the pole (0 is upright) and their velocities.
type swingUp struct{}

// The model, from the suite's cartpole.xml; what MuJoCo derives from it, by its rules.
const (
	cartMass, poleMass       = 1, .1
	poleLength, poleRadius   = 1, .045 // a capsule between its two ends
	cartDamping, poleDamping = 5e-4, 2e-6
	gear, gravity, tau       = 10, 9.81, .01

	rail                = 1.8 // the cart may be so far from the middle
	railTime, railWidth = .08, .001
	railSoft, railHard  = 1e-4, .95 // impedance of the soft constraint at the end and, railWidth beyond it, at most
)

// poleInertia returns the pole's moment of inertia about its middle.
func poleInertia() float64 {
	const r, h = poleRadius, poleLength
	ends := poleMass * 4 * r / (4*r + 3*h) // mass of the two half spheres
	tube := poleMass - ends
	return tube*(3*r*r+h*h)/12 + ends*(2*r*r/5+h*(3*r+2*h)/8)
}

func (swingUp) Spec() env.Spec {
	inf := math.Inf(1)
	return env.Spec{
		ID: "suite/CartPoleSwingUp-v0", Limit: 1000,
		Obs:    rl.Box{Low: []float64{-inf, -1, -1, -inf, -inf}, High: []float64{inf, 1, 1, inf, inf}, Dims: []int{5}},
		Action: rl.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{1}},
	}
}

// Reset hangs the pole down, all but still.
func (swingUp) Reset(c *rl.Ctx, n int) rl.Tree {
	x := MulScalar(c.Normal("state", n, 4), .01)
	return rl.One(rl.Wrap(Add(x, ConstAs(x, [][]float32{{0, math.Pi, 0, 0}}))))
}

func (swingUp) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	s := state.Leaf("").Node()
	angle := column(s, 1)
	return rl.Obs{X: rl.One(rl.Wrap(join(column(s, 0), Cos(angle), Sin(angle), column(s, 2), column(s, 3))))}
}

// Step integrates by the method of Runge and Kutta. A reward is a product: upright, in the middle,
// without effort and slow.
func (swingUp) Step(_ *rl.Ctx, state, action rl.Tree) env.Move {
	s, u := state.Leaf("").Node(), Reshape(action.Leaf("").Node(), -1, 1)
	force := MulScalar(ClipScalar(u, -1, 1), gear)
	k1 := swing(s, force)
	k2 := swing(Add(s, MulScalar(k1, tau/2)), force)
	k3 := swing(Add(s, MulScalar(k2, tau/2)), force)
	k4 := swing(Add(s, MulScalar(k3, tau)), force)
	s = Add(s, MulScalar(Add(Add(k1, k4), MulScalar(Add(k2, k3), 2)), tau/6))

	reward := least(1, Cos(column(s, 1)))
	reward = Mul(reward, least(1, near(column(s, 0), 2)))
	reward = Mul(reward, Mul(least(4, calm(u, 1)), least(1, near(column(s, 3), 5))))
	never := Zeros(s.Graph(), shapes.Make(dtypes.Bool, s.Shape().Dimensions[0]))
	return env.Move{State: rl.One(rl.Wrap(s)), Reward: rl.Wrap(Squeeze(reward, 1)), Terminated: rl.Wrap(never)}
}

// swing returns the derivative of states under a force on the cart.
func swing(s, force *Node) *Node {
	const half = poleLength / 2.
	x, angle, v, w := column(s, 0), column(s, 1), column(s, 2), column(s, 3)
	sin, cos := Sin(angle), Cos(angle)
	// The inertia is a symmetric matrix ((all, both), (both, turn)) over the two coordinates.
	const all, turn = cartMass + poleMass, poleMass * half * half
	inertia := poleInertia() + turn
	both := MulScalar(cos, poleMass*half)
	det := Sub(ConstAs(both, all*inertia), Square(both))
	push := Sub(Add(force, MulScalar(Mul(sin, Square(w)), poleMass*half)), MulScalar(v, cartDamping))
	fall := Sub(MulScalar(sin, poleMass*half*gravity), MulScalar(w, poleDamping))
	free := Div(Sub(MulScalar(push, inertia), Mul(both, fall)), det) // the cart's acceleration
	push = Add(push, stop(x, v, free, Div(ConstAs(det, inertia), det)))
	dv := Div(Sub(MulScalar(push, inertia), Mul(both, fall)), det)
	dw := Div(Sub(MulScalar(fall, all), Mul(both, push)), det)
	return join(v, w, dv, dw)
}

// stop returns the force by which the end of the rail holds the cart, where it is beyond it: that
// of MuJoCo's soft constraints. free is the cart's acceleration without it, and ease the
// acceleration that a unit of force adds.
func stop(x, v, free, ease *Node) *Node {
	side := Sign(x)
	depth := SubScalar(Abs(x), rail)
	hard := AddScalar(MulScalar(impedance(DivScalar(depth, railWidth)), railHard-railSoft), railSoft)
	const stiff = 1 / (railHard * railHard * railTime * railTime)
	want := Add(MulScalar(Mul(side, v), -2/(railHard*railTime)), MulScalar(Mul(hard, depth), -stiff)) // outwards
	// At rest at the middle, with the pole upright, a unit of force adds this acceleration.
	const still = poleMass * poleLength / 2
	inertia := poleInertia() + still*poleLength/2
	slack := Div(MulScalar(OneMinus(hard), inertia/((cartMass+poleMass)*inertia-still*still)), hard)
	f := MaxScalar(Div(Sub(Mul(side, free), want), Add(ease, slack)), 0)
	return Where(GreaterThan(depth, ZerosLike(depth)), Mul(Neg(side), f), ZerosLike(f))
}

// impedance returns the part of its greatest value that the impedance of a soft constraint has at a
// depth, in widths: two parabolas from 0 to 1.
func impedance(depth *Node) *Node {
	depth = ClipScalar(depth, 0, 1)
	low, high := MulScalar(Square(depth), 2), OneMinus(MulScalar(Square(OneMinus(depth)), 2))
	return Where(LessThan(depth, ConstAs(depth, .5)), low, high)
}

// Draw returns a picture of the cart on its rail.
func (swingUp) Draw(state rl.Tree) image.Image {
	s := rl.Floats(state.At(0))
	x, angle := s[0], s[1]
	c := sketch.New(300, sketch.Point{X: -2.2, Y: -1.3}, sketch.Point{X: 2.2, Y: 1.3})
	c.Line(sketch.Point{X: -rail - .2}, sketch.Point{X: rail + .2}, .03, sketch.Grey)
	c.Block(sketch.Point{X: x - .2, Y: -.1}, sketch.Point{X: x + .2, Y: .1}, sketch.Black)
	top := sketch.Point{X: x + poleLength*math.Sin(angle), Y: poleLength * math.Cos(angle)}
	c.Line(sketch.Point{X: x}, top, 2*poleRadius, sketch.Brown)
	return c.Paletted
}

// Rate returns that of its time steps.
func (swingUp) Rate() float64 { return 1 / tau }
