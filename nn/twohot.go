package nn

import . "github.com/gomlx/gomlx/core/graph"

// TwoHot returns distributions over the atoms, [..., N], with means x: no more than two neighbours
// have a part of each. A number beyond the ends is the last atom's there.
func (a Atoms) TwoHot(x *Node) *Node {
	place := ClipScalar(DivScalar(AddScalar(x, -a.Min), a.step()), 0, float64(a.N-1))
	away := Abs(Sub(ExpandAxes(place, -1), a.numbers(x.Graph(), x.Rank()+1)))
	return MaxScalar(OneMinus(away), 0)
}

// Miss returns the cross entropies of distributions, by logits [..., N], with those that TwoHot
// makes of numbers x, [...]. No gradient flows into x.
func (a Atoms) Miss(x, logits *Node) *Node {
	return Neg(ReduceSum(Mul(StopGradient(a.TwoHot(x)), LogSoftmax(logits, -1)), -1))
}
