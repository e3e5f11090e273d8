package nn

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// boundedGaussian is a gaussian whose means lie between the bounds of a box. Its samples need not.
type boundedGaussian struct {
	*gaussian
	middle, half *Node // middle and half-width of the bounds, to be broadcast over the rows
}

// inside is the largest distance of an action from the middle of its bounds, as a part of half
// their distance.
const inside = 1 - 1e-5

// newBounded returns the distribution with means tanh(x) and the given logarithms of deviations,
// both in units of half the distance between the bounds.
func newBounded(x, logStd *Node, box rl.Box) *boundedGaussian {
	middle, half := halves(x, box)
	g := newGaussian(Add(middle, Mul(half, Tanh(x))), Add(ExpandLeftToRank(logStd, x.Rank()), Log(half)))
	g.dims, g.dtype = box.Dims, box.Shape().DType
	return &boundedGaussian{g, middle, half}
}

// LogProb returns the logarithm of the joint density, of actions just inside the bounds.
func (d *boundedGaussian) LogProb(action rl.Tree) *Node {
	reach := MulScalar(d.half, inside)
	x := Min(Max(d.flat(action), Sub(d.middle, reach)), Add(d.middle, reach))
	return ReduceSum(d.logDensity(x), -1)
}

// newSpread returns the distribution of NewSpreadHead by outputs x, [rows..., 2k].
func newSpread(x *Node, box rl.Box) *gaussian {
	y := Split(x, -1, 2)
	middle, half := halves(y[0], box)
	deviation := AddScalar(MulScalar(Sigmoid(AddScalar(y[1], 2)), .9), .1)
	g := newGaussian(Add(middle, Mul(half, Tanh(y[0]))), Add(Log(deviation), Log(half)))
	g.dims, g.dtype = box.Dims, box.Shape().DType
	return g
}
