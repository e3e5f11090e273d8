package board

import (
	"sync"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env/game"
)

// ticTacToe is a grid small enough for a table of its best moves.
type ticTacToe struct {
	*grid
	table func() []float32 // best moves by board, as sums of powers of 2
}

func newTicTacToe() ticTacToe {
	t := ticTacToe{grid: newGrid("tic-tac-toe", 3, 3, 3, false)}
	t.table = sync.OnceValue(t.solved)
	return t
}

// boards is the number of ways to put stones on nine fields, legal or not.
const boards = 19683

// solved returns the best moves in each board, by the board's number in base 3.
func (t ticTacToe) solved() []float32 {
	s := Solve(t)
	table := make([]float32, boards)
	for key := range s.values {
		p := positionOf(key)
		for _, a := range s.Best(p) {
			table[boardNumber(p)] += float32(int(1) << a)
		}
	}
	return table
}

// boardNumber returns the board as a number in base 3, the first field last.
func boardNumber(position []float32) (n int) {
	for i := len(position) - 1; i >= game.Header; i-- {
		n = 3*n + int(position[i]) + 1
	}
	return n
}

// positionOf returns the position of a key.
func positionOf(key string) []float32 {
	out := make([]float32, len(key))
	for i := range out {
		out[i] = float32(int8(key[i]))
	}
	return out
}

// Best returns the moves that lose nothing against perfect play: all that keep the value of the
// game, which need not be those that win soonest.
func (t ticTacToe) Best(position *Node) *Node {
	g := position.Graph()
	thirds, halves := [][]float32{make([]float32, 9)}, [][]float32{make([]float32, 9)}
	for i, x, y := 0, 1, 1; i < 9; i, x, y = i+1, 3*x, 2*y {
		thirds[0][i], halves[0][i] = float32(x), float32(y)
	}
	// A sum and no product of matrices, whose numbers a GPU may round.
	number := ReduceAndKeep(Mul(AddScalar(t.fields(position), 1), Const(g, thirds)), ReduceSum, 1)
	moves := ExpandAxes(Gather(Const(g, t.table()), ConvertDType(number, dtypes.Int32)), 1) // [n, 1]
	bit := Floor(Div(moves, Const(g, halves)))
	odd := Sub(bit, MulScalar(Floor(MulScalar(bit, .5)), 2))
	return LogicalAnd(game.Is(odd, 1), LogicalNot(ExpandAxes(game.Over(position), 1)))
}
