package nn

import (
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// scan is a cell's steps over time as a loop of the graph, and their derivative as
// another one that goes backwards. GoMLX differentiates no loops, so the second is
// made here: the first puts the memory aside that each step begins with, and from
// there the second makes a step once more and differentiates it by itself.
type scan struct {
	c     *rl.Ctx
	sc    *model.Scope
	cell  Cell
	in    *Node // [time, env, ...], of Cell.Inputs
	first *Node // [time, env] bool, or nil
	vars  []*model.Variable
}

// newScan takes inputs and firsts as Unroll has them, [env, time, ...]. The cell's
// weights must be in the graph already: a loop cannot bring them there.
func newScan(c *rl.Ctx, sc *model.Scope, cell Cell, in, first *Node) *scan {
	s := &scan{c: c, sc: sc, cell: cell, in: timeFirst(in)}
	if first != nil {
		s.first = timeFirst(truth(first))
	}
	for v := range sc.IterVariables() {
		if v.InUseByGraph(c.Graph()) {
			s.vars = append(s.vars, v)
		}
	}
	slices.SortFunc(s.vars, func(a, b *model.Variable) int { return strings.Compare(a.Path(), b.Path()) })
	return s
}

// run returns the outputs, [env, time, units], and the memory after the last step, from
// state on. like is an output of a step.
func (s *scan) run(state, like *Node) (y, last *Node) {
	y, began, last := s.forward(state, like)
	inputs := append([]*Node{s.in, state}, s.weights()...)
	out := derived(inputs, []*Node{y, last}, func(v []*Node) []*Node { return s.backward(began, v[0], v[1]) })
	return timeFirst(out[0]), out[1]
}

// forward returns the outputs and the memory before each step, by time, and the last one.
func (s *scan) forward(state, like *Node) (y, began, last *Node) {
	start := []*Node{state, s.room(like), s.room(state)}
	out := rl.Repeat(s.c.Graph(), s.steps(), start, func(t *Node, now []*Node) []*Node {
		y, next := s.step(t, at(s.in, t), now[0])
		return []*Node{next, put(now[1], t, y), put(now[2], t, now[0])}
	})
	return out[1], out[2], out[0]
}

// backward returns the derivatives by inputs, first memory and weights, of what has these
// by the outputs and by the last memory.
func (s *scan) backward(began, y, last *Node) []*Node {
	start := []*Node{ZerosLike(s.in), last}
	for _, w := range s.weights() {
		start = append(start, ZerosLike(w))
	}
	return rl.Repeat(s.c.Graph(), s.steps(), start, func(i *Node, now []*Node) []*Node {
		t := Sub(Const(i.Graph(), int32(s.steps()-1)), i)
		d := s.stepBackward(t, at(began, t), at(y, t), now[1])
		next := []*Node{put(now[0], t, d[0]), d[1]}
		for j, w := range d[2:] {
			next = append(next, Add(now[2+j], w))
		}
		return next
	})
}

// stepBackward returns backward for the step at time t. The weights are nodes of the loop
// meanwhile, so that it is there that they are differentiated by.
func (s *scan) stepBackward(t, state, dy, dnext *Node) []*Node {
	wrt := []*Node{Identity(at(s.in, t)), Identity(state)}
	for i, w := range s.weights() {
		v := s.vars[i]
		defer v.SetNodeValue(w)
		own := Identity(w)
		v.SetNodeValue(own)
		wrt = append(wrt, own)
	}
	y, next := s.step(t, wrt[0], wrt[1])
	return Gradient(Add(ReduceAllSum(Mul(y, dy)), ReduceAllSum(Mul(next, dnext))), wrt...)
}

// step returns the cell's at time t.
func (s *scan) step(t, in, state *Node) (y, next *Node) {
	if s.first != nil {
		state = clearWhere(at(s.first, t), state)
	}
	return s.cell.Step(s.c, s.sc, in, state)
}

func (s *scan) steps() int { return s.in.Shape().Dimensions[0] }

func (s *scan) weights() []*Node {
	out := make([]*Node, len(s.vars))
	for i, v := range s.vars {
		out[i] = v.NodeValue(s.c.Graph())
	}
	return out
}

// room returns zeros for what is like x at each time.
func (s *scan) room(x *Node) *Node {
	return Zeros(s.c.Graph(), shapes.Make(x.DType(), slices.Concat([]int{s.steps()}, x.Shape().Dimensions)...))
}

// derived returns outputs, which were computed from inputs in a way that GoMLX cannot
// differentiate, with back for a derivative: from those by the outputs it makes
// those by the inputs. All are float32.
//
// GoMLX lets one node's derivative be replaced, where it leaves its shape as it is.
// So there is one vector of all inputs and, behind them, zeros that are added to the
// outputs: what comes back for the zeros is what back is given.
func derived(inputs, outputs []*Node, back func([]*Node) []*Node) []*Node {
	g := inputs[0].Graph()
	var zeros []*Node
	for _, x := range outputs {
		zeros = append(zeros, ZerosLike(x))
	}
	ends := func(v *Node) []*Node { return cutUp(v, slices.Concat(inputs, outputs))[len(inputs):] }
	all := IdentityWithCustomGradient(flat(slices.Concat(inputs, zeros)), func(_, v *Node) *Node {
		return flat(append(back(ends(v)), Zeros(g, shapes.Make(dtypes.Float32, total(outputs)))))
	})
	out := ends(all)
	for i, x := range outputs {
		out[i] = Add(StopGradient(x), out[i])
	}
	return out
}

// flat returns all of x in one vector.
func flat(x []*Node) *Node {
	parts := make([]*Node, len(x))
	for i, n := range x {
		parts[i] = Reshape(n, -1)
	}
	return Concatenate(parts, 0)
}

// cutUp returns a vector's parts, like those of like.
func cutUp(v *Node, like []*Node) []*Node {
	out, from := make([]*Node, len(like)), 0
	for i, x := range like {
		to := from + x.Shape().Size()
		out[i], from = Reshape(Slice(v, AxisRange(from, to)), x.Shape().Dimensions...), to
	}
	return out
}

func total(x []*Node) int {
	n := 0
	for _, x := range x {
		n += x.Shape().Size()
	}
	return n
}

// timeFirst returns [time, env, ...] of [env, time, ...], and the other way round.
func timeFirst(x *Node) *Node { return Transpose(x, 0, 1) }

// at returns x at time t, of [time, ...].
func at(x, t *Node) *Node {
	dims := slices.Clone(x.Shape().Dimensions)
	dims[0] = 1
	return Squeeze(DynamicSlice(x, start(x, t), dims), 0)
}

// put returns x with y at time t.
func put(x, t, y *Node) *Node { return DynamicUpdateSlice(x, ExpandAxes(y, 0), start(x, t)) }

// start returns the position of time t in x.
func start(x, t *Node) []*Node {
	out := []*Node{t}
	for range x.Rank() - 1 {
		out = append(out, Const(t.Graph(), int32(0)))
	}
	return out
}
