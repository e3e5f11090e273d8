package nn

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// gaussian is independent normal distributions on the last axis.
type gaussian struct {
	mean, logStd *Node // [rows..., k]
	dims         []int // dimensions of an action
	dtype        dtypes.DType
}

// Gaussian returns the distribution of k independent normal numbers with means
// [rows..., k]. logStd, the logarithm of their deviations, is [k], or as large as
// the means where it depends on the state.
func Gaussian(mean, logStd *Node) Dist { return newGaussian(mean, logStd) }

func newGaussian(mean, logStd *Node) *gaussian {
	mean, logStd = number(mean), number(logStd)
	spread := BroadcastToDims(ExpandLeftToRank(logStd, mean.Rank()), mean.Shape().Dimensions...)
	return &gaussian{mean, spread, []int{lastDim(mean)}, dtypes.Float32}
}

// draw returns a sample [rows..., k].
func (d *gaussian) draw(c *rl.Ctx, use string) *Node {
	return Add(d.mean, Mul(Exp(d.logStd), c.Normal(use, d.mean.Shape().Dimensions...)))
}

// action returns x, [rows..., k], in the shape and dtype of the space.
func (d *gaussian) action(x *Node) rl.Tree {
	return rl.One(rl.Wrap(ConvertDType(Reshape(x, append(leadDims(x), d.dims...)...), d.dtype)))
}

// flat returns an action as float32 [rows..., k].
func (d *gaussian) flat(action rl.Tree) *Node {
	return Reshape(number(node(action)), d.mean.Shape().Dimensions...)
}

// logDensity of each number, [rows..., k].
func (d *gaussian) logDensity(x *Node) *Node {
	z := Mul(Sub(x, d.mean), Exp(Neg(d.logStd)))
	return AddScalar(Sub(MulScalar(Square(z), -.5), d.logStd), -.5*math.Log(2*math.Pi))
}

// Sample draws unbounded numbers.
func (d *gaussian) Sample(c *rl.Ctx, use string) rl.Tree { return d.action(d.draw(c, use)) }

// Mode returns the means.
func (d *gaussian) Mode() rl.Tree { return d.action(d.mean) }

// LogProb returns the logarithm of the joint density.
func (d *gaussian) LogProb(action rl.Tree) *Node { return ReduceSum(d.logDensity(d.flat(action)), -1) }

// Entropy depends on the deviations alone.
func (d *gaussian) Entropy() *Node {
	return ReduceSum(AddScalar(d.logStd, .5*math.Log(2*math.Pi*math.E)), -1)
}

// squashed is a gaussian whose numbers go through tanh and on to the bounds.
type squashed struct {
	*gaussian
	box          rl.Box
	middle, half *Node           // middle and half width of the bounds, to be broadcast over the rows
	before       map[*Node]*Node // values before they were squashed, by sample
}

// Squashed returns the distribution of normal numbers with the given means and
// logarithms of deviations, as for Gaussian, squashed by tanh into the bounds of
// a box. Densities are in the units of the box. An action on a bound, where the
// density has none, counts as one just inside. The log-probability of an action
// that the same Dist has sampled is computed from the number before squashing,
// which rounding cannot spoil. The mode is the squashed mean.
func Squashed(mean, logStd *Node, box rl.Box) Dist {
	g := newGaussian(mean, logStd)
	g.dims, g.dtype = box.Dims, box.Shape().DType
	if n := lastDim(mean); n != size(box.Dims) {
		rl.Failf("%d means for the %d numbers of %s", n, size(box.Dims), box)
	}
	middle, half := halves(mean, box)
	return &squashed{g, box, middle, half, map[*Node]*Node{}}
}

// halves returns the middle between the bounds of a box's numbers and half the distance between
// them, to be broadcast over x, [rows..., k].
func halves(x *Node, box rl.Box) (middle, half *Node) {
	mid, dist := make([]float32, lastDim(x)), make([]float32, lastDim(x))
	for i := range mid {
		lo, hi := box.Bounds(i)
		if math.IsInf(hi-lo, 0) || !(lo < hi) {
			rl.Failf("%s: number %d has bounds %g and %g: actions within bounds need finite bounds, one above the other", box, i, lo, hi)
		}
		mid[i], dist[i] = float32((lo+hi)/2), float32((hi-lo)/2)
	}
	spread := func(v []float32) *Node { return ExpandLeftToRank(Const(x.Graph(), v), x.Rank()) }
	return spread(mid), spread(dist)
}

// between takes numbers from -1 to 1, [rows..., k], to the bounds of a box, and past no bound by
// rounding.
func between(x *Node, box rl.Box) *Node {
	middle, half := halves(x, box)
	a := Reshape(Add(middle, Mul(half, x)), append(leadDims(x), box.Dims...)...)
	return clipBox(ConvertDType(a, box.Shape().DType), box)
}

// squash takes unbounded numbers into the bounds.
func (d *squashed) squash(u *Node) rl.Tree { return rl.One(rl.Wrap(between(Tanh(u), d.box))) }

// Sample draws within the bounds.
func (d *squashed) Sample(c *rl.Ctx, use string) rl.Tree {
	u := d.draw(c, use)
	a := d.squash(u)
	d.before[node(a)] = u
	return a
}

// Mode returns the squashed means.
func (d *squashed) Mode() rl.Tree { return d.squash(d.mean) }

// LogProb returns the density before squashing over the slope of the squashing.
func (d *squashed) LogProb(action rl.Tree) *Node {
	u, mine := d.before[node(action)]
	if !mine {
		u = d.unsquash(d.flat(action))
	}
	return ReduceSum(Sub(d.logDensity(u), d.logSlope(u)), -1)
}

// edge is how near to a bound, as a part of half the range, an action is taken
// to be at most: a few steps of float32.
const edge = 1e-6

// unsquash returns the inverse of squash: atanh within the edges.
func (d *squashed) unsquash(a *Node) *Node {
	y := ClipScalar(Div(Sub(a, d.middle), d.half), -1+edge, 1-edge)
	return MulScalar(Sub(Log1p(y), Log1p(Neg(y))), .5)
}

// logSlope returns log(half (1-tanh²u)), in a form that neither overflows nor cancels
// for large u: 1-tanh²u = 4 e^-2|u| / (1+e^-2|u|)².
func (d *squashed) logSlope(u *Node) *Node {
	a := Abs(u)
	tanh := MulScalar(Add(a, Log1p(Exp(MulScalar(a, -2.0)))), -2.0)
	return Add(AddScalar(tanh, 2*math.Ln2), Log(d.half))
}

// Entropy returns the entropy before squashing plus the expected log-slope. That has
// no closed form; one number at a time it is a smooth integral, and the
// trapezoidal rule on 61 points from -6 to 6 deviations is wrong by less than
// 1e-5 for deviations up to 4, and 1e-3 up to e².
func (d *squashed) Entropy() *Node {
	const points, reach = 61, 6.0
	x, w := make([]float32, points), make([]float32, points)
	total := 0.0
	for i := range x {
		z := reach * (2*float64(i)/(points-1) - 1)
		x[i], w[i] = float32(z), float32(math.Exp(-z*z/2))
		total += math.Exp(-z * z / 2)
	}
	g := d.mean.Graph()
	row := func(v []float32) *Node { return ExpandLeftToRank(Const(g, v), d.mean.Rank()+1) }
	u := Add(ExpandAxes(d.mean, -1), Mul(ExpandAxes(Exp(d.logStd), -1), row(x)))
	wide := *d
	wide.half = ExpandAxes(d.half, -1)
	slope := DivScalar(ReduceSum(Mul(wide.logSlope(u), row(w)), -1), total)
	return Add(d.gaussian.Entropy(), ReduceSum(slope, -1))
}
