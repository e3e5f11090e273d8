package nn

import . "github.com/gomlx/gomlx/core/graph"

// rescaleEps is the linear part of Rescale, by which it can be inverted.
const rescaleEps = 1e-3

// Rescale returns h(x) = sign(x) (sqrt(|x|+1) - 1) + x/1000 of values x, element by element: large
// values are brought closer together, so that returns of any size can be learned without clipping
// rewards (Pohlen et al., 2018).
func Rescale(x *Node) *Node {
	root := AddScalar(Sqrt(AddScalar(Abs(x), 1)), -1)
	return Add(Mul(Sign(x), root), MulScalar(x, rescaleEps))
}

// Unscale returns the inverse of Rescale.
func Unscale(y *Node) *Node {
	const e = rescaleEps
	root := Sqrt(AddScalar(MulScalar(Abs(y), 4*e), 1+4*e*(1+e)))
	part := MulScalar(AddScalar(root, -1), 1/(2*e))
	return Mul(Sign(y), AddScalar(Square(part), -1))
}
