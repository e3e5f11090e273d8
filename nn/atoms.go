package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Atoms are the values that a categorical distribution of returns is over (Bellemare et al., 2017):
// N of them, at equal distances from Min to Max.
type Atoms struct {
	N        int
	Min, Max float64
}

// step returns the distance of two neighbours.
func (a Atoms) step() float64 { return (a.Max - a.Min) / float64(a.N-1) }

// numbers returns 0, 1, ..., N-1, with axes of length 1 before them up to a rank.
func (a Atoms) numbers(g *Graph, rank int) *Node {
	return ExpandLeftToRank(Iota(g, shapes.Make(dtypes.Float32, a.N), 0), rank)
}

// Mean returns the means of distributions by logits [..., N].
func (a Atoms) Mean(logits *Node) *Node {
	z := AddScalar(MulScalar(a.numbers(logits.Graph(), logits.Rank()), a.step()), a.Min)
	return ReduceSum(Mul(Softmax(logits, -1), z), -1)
}

// Project returns the distribution of reward + discount Z over the atoms, where Z has probabilities
// p, [rows..., N]; reward and discount are [rows...]. What falls between two atoms is shared by
// them, the nearer one getting more; what falls on an atom is that atom's alone; what falls beyond
// the ends is the last atom's there.
func (a Atoms) Project(p, reward, discount *Node) *Node {
	// Places count in atoms from Min, so that those of atoms are whole numbers.
	origin := DivScalar(AddScalar(Add(reward, MulScalar(discount, a.Min)), -a.Min), a.step())
	place := Add(ExpandAxes(origin, -1), Mul(ExpandAxes(discount, -1), a.numbers(p.Graph(), p.Rank())))
	place = ClipScalar(place, 0, float64(a.N-1))
	away := Abs(Sub(ExpandAxes(place, -2), ExpandAxes(a.numbers(p.Graph(), p.Rank()), -1))) // [rows..., to, from]
	share := MaxScalar(OneMinus(away), 0)
	return ReduceSum(Mul(share, ExpandAxes(p, -2)), -1)
}

// KL returns the divergence of predicted distributions, by logits [..., N], from distributions p:
// what is lost by taking the former for the latter, in nats. Its gradient by the logits is that of
// the cross entropy.
func KL(p, logits *Node) *Node {
	none := LessOrEqual(p, ZerosLike(p))
	logp := Log(Where(none, OnesLike(p), p))
	return ReduceSum(Mul(p, Sub(logp, LogSoftmax(logits, -1))), -1)
}
