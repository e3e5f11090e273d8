package nn

import . "github.com/gomlx/gomlx/core/graph"

// LambdaReturns returns the lambda-returns of paths that a model made up, [rows..., steps], from
// rewards, the discounts of what comes after each step, and the values of the states that steps
// lead to, all [rows..., steps]. The discounts are numbers: a model knows only how likely it is
// that a path goes on. After the last step the value counts whole.
func LambdaReturns(reward, discount, next *Node, lambda float64) *Node {
	last := reward.Rank() - 1
	steps := lastDim(reward)
	at := func(x *Node, t int) *Node { return SliceAxis(x, last, AxisElem(t)) }
	out := make([]*Node, steps)
	ret := at(next, steps-1)
	for t := steps - 1; t >= 0; t-- {
		mixed := Add(MulScalar(at(next, t), 1-lambda), MulScalar(ret, lambda))
		ret = Add(at(reward, t), Mul(at(discount, t), mixed))
		out[t] = ret
	}
	return Concatenate(out, last)
}

// Reached returns the weights of steps of such paths, [rows..., steps]: the product of all
// discounts before each, 1 at the first.
func Reached(discount *Node) *Node {
	last := discount.Rank() - 1
	w := OnesLike(SliceAxis(discount, last, AxisElem(0)))
	out := []*Node{w}
	for t := range lastDim(discount) - 1 {
		w = Mul(w, SliceAxis(discount, last, AxisElem(t)))
		out = append(out, w)
	}
	return Concatenate(out, last)
}
