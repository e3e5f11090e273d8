package game

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Of returns the rules of the game that environments play; ok is false if they play none.
func Of(x any) (g Game, ok bool) { return env.Find[Game](x) }

// Seat returns the seat to move in each position, [n] int32.
func Seat(position *Node) *Node { return ConvertDType(Column(position, SeatAt), dtypes.Int32) }

// Over returns where the game is over, [n] bool.
func Over(position *Node) *Node { return Is(Column(position, OverAt), 1) }

// Return returns a seat's return, [n] float32: 0 where the game is not over. seat is [n] int32.
func Return(position, seat *Node) *Node {
	first := Column(position, ReturnAt)
	// A difference, because a product would make a zero negative.
	return Sub(first, Mul(MulScalar(ConvertDType(seat, dtypes.Float32), 2), first))
}

// Start returns n positions at the start of games, one of the rules' starts for each row.
func Start(c *rl.Ctx, r Rules, n int) *Node {
	starts := Const(c.Graph(), r.Starts)
	if len(r.Starts) == 1 {
		return BroadcastToDims(starts, n, r.Width)
	}
	which := Floor(MulScalar(c.Uniform("start", n), len(r.Starts)))
	return MatMul(OneHot(ConvertDType(which, dtypes.Int32), len(r.Starts), dtypes.Float32), starts)
}

// Column returns number i of each row, [n].
func Column(rows *Node, i int) *Node { return Squeeze(SliceAxis(rows, 1, AxisElem(i)), 1) }

// Is returns where x equals v, bool.
func Is(x *Node, v float64) *Node { return Equal(x, ConstAs(x, v)) }

// Number returns a condition as 0 and 1, float32.
func Number(condition *Node) *Node { return ConvertDType(condition, dtypes.Float32) }

// across returns x, [n], as a column that broadcasts over rows, [n, 1].
func across(x *Node) *Node { return ExpandAxes(x, 1) }

// chosen returns rows of x where a condition, [n], holds and of y elsewhere; both are [n, ...].
func chosen(condition, x, y *Node) *Node {
	return Where(BroadcastToDims(across(condition), x.Shape().Dimensions...), x, y)
}
