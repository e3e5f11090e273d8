package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

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

// ReplayedReturns returns the lambda-returns of replayed sequences, [rows, time], in which episodes
// may end and the next begin, with values of the states that steps were taken in. Nothing comes
// after a termination. Where another end of an episode (over) or of the sequence hides what came
// next, a return is the value itself.
func ReplayedReturns(gamma, lambda float64, reward, value, terminated, over *Node) *Node {
	dims := value.Shape().Dimensions
	time := Iota(value.Graph(), shapes.Make(dtypes.Int32, dims...), 1)
	last := Equal(time, ConstAs(time, dims[1]-1))
	hidden := LogicalAnd(LogicalOr(over, last), LogicalNot(terminated))
	none := ZerosLike(value)
	discount := Where(LogicalOr(hidden, terminated), none, AddScalar(none, gamma))
	next := Concatenate([]*Node{ButFirst(value), SliceAxis(none, 1, AxisElem(0))}, 1)
	return LambdaReturns(Where(hidden, value, reward), discount, next, lambda)
}
