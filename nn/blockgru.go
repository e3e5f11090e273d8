package nn

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// BlockGRU is a gated recurrent unit whose memory is in blocks (Hafner et al., 2025). A layer of
// Hidden units for each of the memory and the input, which every block sees, comes before a layer
// and the gates of every block, which see of the memory itself their own block alone. So the
// weights grow with Units² / Blocks. Layers are divided by their root mean square. The memory is
// the output.
type BlockGRU struct {
	Units  int
	Blocks int // divides Units; 0 means 1
	Hidden int
	Act    Activation // none means silu
}

// StateSize returns the number of units.
func (r BlockGRU) StateSize() int { return r.Units }

// Inputs returns the input as the blocks see it.
func (r BlockGRU) Inputs(c *rl.Ctx, sc *model.Scope, x *Node) *Node {
	return r.layer(c, sc.At("input"), Dense(c, sc.At("input"), x, r.Hidden, 1))
}

// Step of the unit.
func (r BlockGRU) Step(c *rl.Ctx, sc *model.Scope, in, h *Node) (y, next *Node) {
	n := or(r.Blocks, 1)
	if r.Units%n != 0 {
		rl.Failf("a memory of %d units cannot be in %d blocks of one size", r.Units, n)
	}
	seen := Concatenate([]*Node{r.layer(c, sc.At("memory"), Dense(c, sc.At("memory"), h, r.Hidden, 1)), in}, -1)
	each := BroadcastToDims(ExpandAxes(seen, 1), h.Shape().Dimensions[0], n, lastDim(seen))
	own := Reshape(h, -1, n, r.Units/n)
	x := BlockDense(c, sc.At("mix"), Concatenate([]*Node{own, each}, -1), r.Units/n)
	x = Reshape(r.layer(c, sc.At("mix"), Reshape(x, -1, r.Units)), -1, n, r.Units/n)
	gates := BlockDense(c, sc.At("gates"), x, 3*r.Units/n)
	part := func(i int) *Node {
		return Reshape(SliceAxis(gates, -1, AxisRange(i*r.Units/n, (i+1)*r.Units/n)), -1, r.Units)
	}
	candidate := Tanh(Mul(Sigmoid(part(0)), part(1)))
	update := Sigmoid(AddScalar(part(2), -1)) // memory lasts from the outset
	next = Add(Mul(update, candidate), Mul(OneMinus(update), h))
	return next, next
}

// layer returns x normalised and activated.
func (r BlockGRU) layer(c *rl.Ctx, sc *model.Scope, x *Node) *Node {
	return activation.Apply(or(r.Act, activation.TypeSilu), RMSNorm(c, sc, x))
}

// BlockDense returns a dense layer for each block of x, [rows, blocks, features]: an orthogonal
// matrix and a bias of its own.
func BlockDense(c *rl.Ctx, sc *model.Scope, x *Node, units int) *Node {
	n, in := x.Shape().Dimensions[1], lastDim(x)
	blocks := func(k rl.Key, _ []int) []float64 {
		var out []float64
		for b := range n {
			out = append(out, orthogonal(k.Fold(uint64(b)), in, units, 1)...)
		}
		return out
	}
	w, b := Param(c, sc, "weights", blocks, n, in, units), Param(c, sc, "biases", Fill(0), n, units)
	if n == 1 { // a plain product needs no transpositions
		y := DotProduct(Squeeze(x, 1), Squeeze(w, 0))
		return Add(ExpandAxes(y, 1), ExpandLeftToRank(b, 3))
	}
	y := DotGeneral(x, []int{2}, []int{1}, w, []int{1}, []int{0}) // [blocks, rows, units]
	return Add(Transpose(y, 0, 1), ExpandLeftToRank(b, 3))
}
