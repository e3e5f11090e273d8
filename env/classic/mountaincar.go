package classic

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// MountainCar is MountainCar-v0: rock a weak car out of a valley.
var MountainCar = entry(mountainCar{}, "drive a weak car out of a valley, with three pushes; -1 per step until the goal")

// MountainCarContinuous is MountainCarContinuous-v0.
var MountainCarContinuous = entry(mountainCarContinuous{},
	"drive a weak car out of a valley, with a continuous force; 100 at the goal, less the force's cost")

type (
	mountainCar           struct{}
	mountainCarContinuous struct{}
)

const (
	carLeft, carRight = -1.2, 0.6
	carSpeed          = 0.07
	carGravity        = 0.0025
)

func carBox() rl.Box {
	return rl.Box{Low: []float64{carLeft, -carSpeed}, High: []float64{carRight, carSpeed}, Dims: []int{2}}
}

// drive moves the car by what its engine adds to the velocity, and says where it
// is then: past the goal and not rolling back, or not.
func drive(s, engine *Node, goal float64) (next, there *Node) {
	position, velocity := column(s, 0), column(s, 1)
	slope := MulScalar(Cos(MulScalar(position, 3)), -carGravity)
	velocity = ClipScalar(Add(velocity, Add(engine, slope)), -carSpeed, carSpeed)
	position = ClipScalar(Add(position, velocity), carLeft, carRight)
	wall := LessOrEqual(position, ConstAs(position, carLeft))
	velocity = Where(wall, MaxScalar(velocity, 0), velocity)
	next = join(position, velocity)
	return next, LogicalAll(GreaterOrEqual(next, constant(next, float32(goal), 0)), 1)
}

func drawCar(c *rl.Ctx, n int) rl.Tree { return draw(c, n, []float64{-.6, 0}, []float64{-.4, 0}) }

func (mountainCar) Spec() env.Spec {
	return env.Spec{ID: "MountainCar-v0", Limit: 200, Obs: carBox(), Action: rl.Discrete{N: 3}}
}

func (mountainCar) Reset(c *rl.Ctx, n int) rl.Tree { return drawCar(c, n) }

func (mountainCar) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs { return rl.Obs{X: state} }

func (mountainCar) Step(_ *rl.Ctx, state, action rl.Tree) env.Move {
	const force = 0.001
	engine := MulScalar(AddScalar(number(action), -1), force)
	next, there := drive(state.Leaf("").Node(), engine, 0.5)
	return env.Move{State: rl.One(rl.Wrap(next)), Reward: always(next, -1), Terminated: rl.Wrap(there)}
}

func (mountainCarContinuous) Spec() env.Spec {
	return env.Spec{ID: "MountainCarContinuous-v0", Limit: 999, Obs: carBox(), Action: symmetric(1)}
}

func (mountainCarContinuous) Reset(c *rl.Ctx, n int) rl.Tree { return drawCar(c, n) }

func (mountainCarContinuous) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs { return rl.Obs{X: state} }

// Step clips the force but not its cost, as Gymnasium does: where out-of-range
// actions are let through, asking for more than there is must not be free.
func (mountainCarContinuous) Step(_ *rl.Ctx, state, action rl.Tree) env.Move {
	const power = 0.0015
	force := action.Leaf("").Node()
	engine := MulScalar(ClipScalar(force, -1, 1), power)
	next, there := drive(state.Leaf("").Node(), engine, 0.45)
	cost := MulScalar(Square(flat(force)), -0.1)
	prize := MulScalar(ConvertDType(there, float32Type), 100)
	return env.Move{State: rl.One(rl.Wrap(next)), Reward: rl.Wrap(Add(cost, prize)), Terminated: rl.Wrap(there)}
}
