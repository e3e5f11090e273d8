package mpe

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/rl"
)

// world is bodies in the plane: agents, which move, and then landmarks, which do
// not. Its state is their positions "pos" [env, body, 2] and the velocities of the
// agents "vel" [env, agent, 2]. Nothing here is a matrix product, which some
// devices round more coarsely than they subtract.
type world struct {
	bodies []body
	agents int
}

// body is one of mpe2's entities. Masses are 1.
type body struct {
	size     float64
	collides bool
	accel    float64 // force of an agent's full action
	speed    float64 // maximum speed of an agent; 0 is no bound
}

const (
	timestep      = 0.1
	damping       = 0.25
	contactForce  = 100
	contactMargin = 1e-3
)

func newWorld(agents, landmarks []body) world {
	return world{bodies: append(append([]body(nil), agents...), landmarks...), agents: len(agents)}
}

func place(pos, vel *Node) rl.Tree {
	return rl.NewTree([]string{"pos", "vel"}, []rl.Tensor{rl.Wrap(pos), rl.Wrap(vel)})
}

func placed(state rl.Tree) (pos, vel *Node) { return state.At(0).Node(), state.At(1).Node() }

// reset draws positions, those of landmarks within reach of the origin.
func (w world) reset(c *rl.Ctx, n int, reach float32) rl.Tree {
	u := AddScalar(MulScalar(c.Uniform("positions", n, len(w.bodies), 2), 2), -1)
	scale := w.each(func(i int, _ body) float64 {
		if i < w.agents {
			return 1
		}
		return float64(reach)
	})
	return place(Mul(u, column(u, scale)), Zeros(c.Graph(), shape(n, w.agents, 2)))
}

// step moves the world by agents' pushes, [env, agent, 2]: bodies that touch push
// each other away, positions advance with the old velocities.
func (w world) step(state rl.Tree, push *Node) rl.Tree {
	pos, old := placed(state)
	vel := w.slow(Add(MulScalar(old, 1-damping), MulScalar(Add(push, w.contact(pos)), timestep)))
	next := Add(part(pos, 0, w.agents), MulScalar(old, timestep))
	if len(w.bodies) > w.agents {
		next = Concatenate([]*Node{next, part(pos, w.agents, len(w.bodies))}, 1)
	}
	return place(next, vel)
}

// contact returns the force on each agent of all bodies that it touches or nearly does.
func (w world) contact(pos *Node) *Node {
	away := Neg(w.from(pos, 0, w.agents))
	dist := length(away)
	deep := MulScalar(Softplus(DivScalar(Sub(w.touching(dist), dist), contactMargin)), contactMargin)
	// Two bodies in one place have no direction to go: mpe2 would divide by 0.
	force := MulScalar(Div(Mul(deep, w.solid(dist)), MaxScalar(dist, 1e-30)), contactForce)
	return ReduceSum(Mul(away, ExpandAxes(force, -1)), 2)
}

// from returns where all bodies are from where some agents are, [env, agent, body, 2].
func (w world) from(pos *Node, first, last int) *Node {
	d := pos.Shape().Dimensions
	to := []int{d[0], last - first, d[1], 2}
	return Sub(
		BroadcastToDims(ExpandAxes(pos, 1), to...),
		BroadcastToDims(ExpandAxes(part(pos, first, last), 2), to...))
}

// touching returns the distances at which agents and bodies touch, like dist [env,
// agent, body].
func (w world) touching(dist *Node) *Node {
	return w.between(dist, func(a, b int) float64 { return w.bodies[a].size + w.bodies[b].size })
}

// solid returns 1 where an agent and a body can push each other away, else 0.
func (w world) solid(dist *Node) *Node {
	return w.between(dist, func(a, b int) float64 {
		if a != b && w.bodies[a].collides && w.bodies[b].collides {
			return 1
		}
		return 0
	})
}

// between returns a constant of all agents and bodies, like x [env, agent, body].
func (w world) between(x *Node, f func(a, b int) float64) *Node {
	rows := make([][]float32, w.agents)
	for a := range rows {
		for b := range w.bodies {
			rows[a] = append(rows[a], float32(f(a, b)))
		}
	}
	return BroadcastToShape(ConstAs(x, [][][]float32{rows}), x.Shape())
}

// touches returns which agents touch which bodies, [env, agent, body], 1 or 0.
func (w world) touches(pos *Node) *Node {
	dist := length(w.from(pos, 0, w.agents))
	return Mul(ConvertDType(LessThan(dist, w.touching(dist)), dtypes.Float32), w.solid(dist))
}

// slow holds velocities to the agents' bounds.
func (w world) slow(vel *Node) *Node {
	most := w.each(func(_ int, b body) float64 { return b.speed })[:w.agents]
	if most[0] == 0 {
		return vel // either all agents of a world have a bound or none has
	}
	speed := ExpandAxes(length(vel), -1)
	bound := BroadcastToShape(column(speed, most), speed.Shape())
	fast := GreaterThan(speed, bound)
	return Mul(vel, Where(fast, Div(bound, Where(fast, speed, bound)), OnesLike(speed)))
}

// push returns the force of actions of agents, the first of which is given, on
// themselves, [env, agent, 2].
func (w world) push(action *Node, first, agents int) *Node {
	if action.DType() != dtypes.Float32 {
		action = OneHot(action, moves, dtypes.Float32)
	}
	a := Reshape(action, -1, agents, moves)
	at := func(i int) *Node { return SliceAxis(a, 2, AxisRange(i, i+1)) }
	u := Concatenate([]*Node{Sub(at(2), at(1)), Sub(at(4), at(3))}, 2)
	return Mul(u, column(u, w.each(func(_ int, b body) float64 { return b.accel })[first:first+agents]))
}

// sight returns what agents see, [env, agent, n]: their own velocities and positions,
// and the landmarks and the other agents from where they are.
func (w world) sight(state rl.Tree, first, last int) []*Node {
	pos, vel := placed(state)
	n := last - first
	rel := w.from(pos, first, last)
	out := []*Node{part(vel, first, last), part(pos, first, last)}
	if marks := len(w.bodies) - w.agents; marks > 0 {
		out = append(out, Reshape(SliceAxis(rel, 2, AxisRange(w.agents)), -1, n, 2*marks))
	}
	if w.agents > 1 {
		out = append(out, but(rel, first, n, w.agents))
	}
	return out
}

// but returns x [env, agent, body, 2] without each agent's own element, agent i's being
// that of body first+i, among the first bodies; flat, [env, agent, 2 (bodies-1)].
func but(x *Node, first, agents, bodies int) *Node {
	at := func(lo, hi int) *Node { return SliceAxis(x, 2, AxisRange(lo, hi)) }
	last := first + agents
	var parts []*Node
	if first > 0 {
		parts = append(parts, Reshape(at(0, first), -1, agents, 2*first))
	}
	if agents > 1 {
		parts = append(parts, Reshape(offDiagonal(at(first, last)), -1, agents, 2*(agents-1)))
	}
	if last < bodies {
		parts = append(parts, Reshape(at(last, bodies), -1, agents, 2*(bodies-last)))
	}
	return Concatenate(parts, 2)
}

// offDiagonal returns x [env, n, n, 2] without its diagonal, [env, n, n-1, 2]: after the
// first element, each n+1 elements are n others and one of the diagonal.
func offDiagonal(x *Node) *Node {
	n := x.Shape().Dimensions[1]
	x = SliceAxis(Reshape(x, -1, n*n, 2), 1, AxisRange(1))
	x = SliceAxis(Reshape(x, -1, n-1, n+1, 2), 2, AxisRange(0, n))
	return Reshape(x, -1, n, n-1, 2)
}

// each returns a number of every body.
func (w world) each(f func(i int, b body) float64) []float32 {
	out := make([]float32, len(w.bodies))
	for i, b := range w.bodies {
		out[i] = float32(f(i, b))
	}
	return out
}

// column returns a constant [1, n, 1] like x.
func column(x *Node, numbers []float32) *Node {
	rows := make([][]float32, len(numbers))
	for i, v := range numbers {
		rows[i] = []float32{v}
	}
	return ConstAs(x, [][][]float32{rows})
}

// part returns elements [first, last) of the second axis.
func part(x *Node, first, last int) *Node { return SliceAxis(x, 1, AxisRange(first, last)) }

// length returns the length of vectors [..., 2].
func length(v *Node) *Node { return Sqrt(ReduceSum(Square(v), -1)) }
