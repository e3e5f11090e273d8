package tag

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/rl"
)

const (
	quarter = math.Pi / 2
	circle  = 2 * math.Pi
	// hair is how near to a bound a speed counts as being there, as a part of the
	// most: levels cancel each other but for rounding, which devices do differently.
	hair = 1e-6
)

// bodies are agents on the plane, [env, agent] each. Coordinates are tensors of
// their own because a last axis of two would be a bad one to go along.
type bodies struct{ x, y, speed, heading, push *Node }

// part returns agents lo to hi.
func (b bodies) part(lo, hi int) bodies {
	cut := func(x *Node) *Node { return SliceAxis(x, 1, AxisRange(lo, hi)) }
	return bodies{cut(b.x), cut(b.y), cut(b.speed), cut(b.heading), cut(b.push)}
}

func (b bodies) rows() int   { return b.x.Shape().Dimensions[0] }
func (b bodies) agents() int { return b.x.Shape().Dimensions[1] }

// velocity returns where bodies are going to.
func (b bodies) velocity() (x, y *Node) {
	return Mul(b.speed, Cos(b.heading)), Mul(b.speed, Sin(b.heading))
}

// move returns bodies one step later, and which of them met a wall. Who is not playing, 0,
// stays where it is.
func (d game) move(b bodies, by choices, playing *Node) (next bodies, met *Node) {
	most := d.speeds(b.speed)
	next.heading = around(Add(b.heading, Mul(by.turn, playing)))
	push := Add(b.push, by.push)
	next.speed = Mul(Min(MaxScalar(Add(b.speed, push), 0), most), playing)
	free := LogicalAnd(GreaterThan(next.speed, MulScalar(most, hair)), LessThan(next.speed, MulScalar(most, 1-hair)))
	next.push = Where(free, push, ZerosLike(push))
	vx, vy := next.velocity()
	x, y := Add(b.x, vx), Add(b.y, vy)
	next.x, next.y = d.within(x), d.within(y)
	return next, LogicalOr(NotEqual(x, next.x), NotEqual(y, next.y))
}

func (d game) within(x *Node) *Node { return MinScalar(MaxScalar(x, 0), d.Size) }

// around returns angles as those of one turn.
func around(x *Node) *Node { return Sub(x, MulScalar(Floor(MulScalar(x, 1/circle)), circle)) }

// speeds returns the most that agents move in a step, like x [env, agent].
func (d game) speeds(x *Node) *Node {
	most := make([]float32, d.agents())
	for i := range most {
		most[i] = float32(d.TaggerSpeed)
		if i >= d.Taggers {
			most[i] = float32(d.RunnerSpeed)
		}
	}
	return BroadcastToShape(ConstAs(x, [][]float32{most}), x.Shape())
}

// state is that of a game.
type state struct {
	bodies
	time    *Node
	playing *Node // nil if no agent ever leaves
}

var stateNames = []string{"x", "y", "speed", "heading", "push", "time", "playing"}

func (s state) tree() rl.Tree {
	var leaves []rl.Tensor
	for _, x := range []*Node{s.x, s.y, s.speed, s.heading, s.push, s.time, s.playing} {
		if x != nil {
			leaves = append(leaves, rl.Wrap(x))
		}
	}
	return rl.NewTree(stateNames[:len(leaves)], leaves)
}

func stateOf(t rl.Tree) state {
	at := func(i int) *Node { return t.At(i).Node() }
	s := state{bodies: bodies{at(0), at(1), at(2), at(3), at(4)}, time: at(5)}
	if t.Len() > 6 {
		s.playing = at(6)
	}
	return s
}

// agentAxis returns x, [env, agent, ...], as a kind of agents has it: without the axis
// where it is only one.
func agentAxis(x *Node) rl.Tensor {
	if x.Shape().Dimensions[1] == 1 {
		x = Squeeze(x, 1)
	}
	return rl.Wrap(x)
}

// first and last are x, [env, agent], without what comes from agent n on, and without
// what comes before it.
func first(x *Node, n int) *Node { return SliceAxis(x, 1, AxisRange(0, n)) }
func last(x *Node, n int) *Node  { return SliceAxis(x, 1, AxisRange(n)) }

// each returns a flag of environments, [env], for n agents.
func each(flag *Node, n int) *Node { return across(flag, 1, n) }

// across returns x with an axis inserted, along which it is the same n times.
func across(x *Node, axis, n int) *Node {
	x = ExpandAxes(x, axis)
	dims := append([]int(nil), x.Shape().Dimensions...)
	dims[axis] = n
	return BroadcastToDims(x, dims...)
}

func float(x *Node) *Node { return ConvertDType(x, dtypes.Float32) }
