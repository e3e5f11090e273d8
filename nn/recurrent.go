package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// Cell is a recurrent network. Its memory is one tensor [rows, StateSize]. The
// part of a step that needs only the input is apart from the rest, so that it
// can be computed for all times at once.
type Cell interface {
	// StateSize is the number of floats remembered for each row.
	StateSize() int
	// Inputs is the part of Step that depends on x, [..., features], alone.
	Inputs(c *rl.Ctx, sc *model.Scope, x *Node) *Node
	// Step is the output and the next memory, for inputs and memory of rows.
	Step(c *rl.Ctx, sc *model.Scope, in, state *Node) (y, next *Node)
}

// NewMemory returns the empty memory of n environments.
//
//weft:sizes 2
func NewMemory(s *rl.Scope, cell Cell, n int) rl.Tensor {
	return rl.FromFlat(s, make([]float32, n*cell.StateSize()), n, cell.StateSize())
}

// Unroll runs a cell over x, [env, time, features], from the memory state, and
// gives the outputs [env, time, units] and the memory after the last step. The
// memory is cleared before every step whose observation is the first of an
// episode, as first, [env, time], says. For a single step x is [env, features]
// and first [env]. A nil state is empty memory, a nil first clears nothing.
//
// The steps are laid out one after another in the graph, or are a loop of it where
// [rl.Ctx.Rolls] says so.
func Unroll(c *rl.Ctx, sc *model.Scope, cell Cell, x, state, first *Node) (y, last *Node) {
	in := cell.Inputs(c, sc, x)
	if state == nil {
		state = Zeros(c.Graph(), shapes.Make(dtypes.Float32, x.Shape().Dimensions[0], cell.StateSize()))
	}
	if x.Rank() == 2 {
		return cell.Step(c, sc, in, clearWhere(first, state))
	}
	outputs := make([]*Node, x.Shape().Dimensions[1])
	for t := range outputs {
		outputs[t], state = cell.Step(c, sc, column(in, t), clearWhere(column(first, t), state))
		if t == 0 && len(outputs) > 2 && c.Rolls() { // the weights are in the graph now
			y, last := newScan(c, sc, cell, rest(in), rest(first)).run(state, outputs[0])
			return Concatenate([]*Node{ExpandAxes(outputs[0], 1), y}, 1), last
		}
	}
	return Stack(outputs, 1), state
}

// rest returns what comes after the first step in [env, time, ...].
func rest(x *Node) *Node {
	if x == nil {
		return nil
	}
	return SliceAxis(x, 1, AxisRangeToEnd(1))
}

// column returns time t of [env, time, ...].
func column(x *Node, t int) *Node {
	if x == nil {
		return nil
	}
	return Squeeze(SliceAxis(x, 1, AxisElem(t)), 1)
}

// clearWhere returns state with the rows zeroed where first. It selects and does not
// multiply, so that not even a NaN survives.
func clearWhere(first, state *Node) *Node {
	if first == nil {
		return state
	}
	return Where(truth(first), ZerosLike(state), state)
}

// truth returns x as bool.
func truth(x *Node) *Node {
	if x.DType() == dtypes.Bool {
		return x
	}
	return NotEqual(x, ZerosLike(x))
}

// GRU is a gated recurrent unit (Cho et al., 2014), with the reset gate after
// the recurrent product as in PyTorch and cuDNN. Each gate's kernels start
// orthogonal, biases at 0. The memory is the output.
type GRU struct{ Units int }

// StateSize returns the number of units.
func (r GRU) StateSize() int { return r.Units }

// Inputs returns the gates' share of x: reset, update, candidate.
func (r GRU) Inputs(c *rl.Ctx, sc *model.Scope, x *Node) *Node {
	return gateInputs(c, sc, x, 3, r.Units, Param(c, sc, "biases", Fill(0), 3*r.Units))
}

// Step of the unit.
func (r GRU) Step(c *rl.Ctx, sc *model.Scope, in, h *Node) (y, next *Node) {
	i := Split(in, -1, 3)
	s := Split(gateState(c, sc, h, 3, r.Units), -1, 3)
	bias := ExpandLeftToRank(Param(c, sc, "candidate_biases", Fill(0), r.Units), 2)
	reset, update := Sigmoid(Add(i[0], s[0])), Sigmoid(Add(i[1], s[1]))
	candidate := Tanh(Add(i[2], Mul(reset, Add(s[2], bias))))
	next = Add(Mul(OneMinus(update), candidate), Mul(update, h))
	return next, next
}

// LSTM is long short-term memory (Hochreiter and Schmidhuber, 1997). Each gate's
// kernels start orthogonal, biases at 0 but for the forget gate's, which start
// at 1 so that memory lasts from the outset (Jozefowicz et al., 2015). The
// memory is the output, then the cell.
//
// GoMLX's own LSTM cannot clear its state in mid-sequence.
type LSTM struct{ Units int }

// StateSize returns twice the number of units.
func (r LSTM) StateSize() int { return 2 * r.Units }

// Inputs returns the gates' share of x: input, forget, cell, output.
func (r LSTM) Inputs(c *rl.Ctx, sc *model.Scope, x *Node) *Node {
	forget := func(k rl.Key, dims []int) []float64 {
		b := Fill(0)(k, dims)
		copy(b[r.Units:], Fill(1)(k, []int{r.Units}))
		return b
	}
	return gateInputs(c, sc, x, 4, r.Units, Param(c, sc, "biases", forget, 4*r.Units))
}

// Step of the unit.
func (r LSTM) Step(c *rl.Ctx, sc *model.Scope, in, state *Node) (y, next *Node) {
	old := Split(state, -1, 2)
	g := Split(Add(in, gateState(c, sc, old[0], 4, r.Units)), -1, 4)
	cell := Add(Mul(Sigmoid(g[1]), old[1]), Mul(Sigmoid(g[0]), Tanh(g[2])))
	y = Mul(Sigmoid(g[3]), Tanh(cell))
	return y, Concatenate([]*Node{y, cell}, -1)
}

// gateInputs returns what n gates take of x, side by side.
func gateInputs(c *rl.Ctx, sc *model.Scope, x *Node, n, units int, bias *Node) *Node {
	x = number(x)
	return affine(x, Param(c, sc, "input_weights", orthogonalBlocks(n), lastDim(x), n*units), bias)
}

// gateState returns what n gates take of the hidden state, side by side.
func gateState(c *rl.Ctx, sc *model.Scope, h *Node, n, units int) *Node {
	return DotProduct(h, Param(c, sc, "recurrent_weights", orthogonalBlocks(n), units, n*units))
}
