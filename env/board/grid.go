package board

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env/game"
)

// grid is a game of stones on a board: the first with so many of his own in a row, along any line,
// wins. A full board is a draw. In a position, the header is followed by the fields from the top
// left to the bottom right: 0 if empty, 1 with a stone of seat 0, -1 with one of seat 1.
type grid struct {
	rules      game.Rules
	rows, cols int
	need       int  // stones in a row that win
	drop       bool // stones fall to the lowest empty field of a column, else any field may be taken
	lines      [][]float32
}

func newGrid(name string, rows, cols, need int, drop bool) *grid {
	g := &grid{rows: rows, cols: cols, need: need, drop: drop}
	fields := rows * cols
	g.rules = game.Rules{
		Name: name, Width: game.Header + fields, Actions: fields, Seen: 2 * fields,
		Length: fields, InRow: 1, Most: 1, Planes: []int{rows, cols, 2},
		Starts: [][]float32{make([]float32, game.Header+fields)},
	}
	if drop {
		g.rules.Actions = cols
	}
	g.rules.Symmetries = g.symmetries()
	g.lines = g.allLines()
	return g
}

func (g *grid) Rules() game.Rules { return g.rules }

func (g *grid) Host() game.Host { return g.host() }

// field returns the number of the field in a row and a column.
func (g *grid) field(r, c int) int { return r*g.cols + c }

// directions in which stones are in a row, the other four being their reverse.
var directions = [][2]int{{0, 1}, {1, 0}, {1, 1}, {1, -1}}

// allLines returns a matrix [fields, lines]: 1 where a field is on a line.
func (g *grid) allLines() [][]float32 {
	out := make([][]float32, g.rows*g.cols)
	for _, d := range directions {
		for r := range g.rows {
			for c := range g.cols {
				if !g.inside(r+d[0]*(g.need-1), c+d[1]*(g.need-1)) {
					continue
				}
				for f := range out {
					out[f] = append(out[f], 0)
				}
				for i := range g.need {
					row := out[g.field(r+d[0]*i, c+d[1]*i)]
					row[len(row)-1] = 1
				}
			}
		}
	}
	return out
}

func (g *grid) inside(r, c int) bool { return r >= 0 && r < g.rows && c >= 0 && c < g.cols }

// Play puts the mover's stone, and looks for a line of his stones alone.
func (g *grid) Play(position, action *Node) *Node {
	fields := g.fields(position)
	mover, over := game.Column(position, game.SeatAt), game.Over(position)
	mark := OneMinus(MulScalar(mover, 2)) // 1 of seat 0, -1 of seat 1
	stone := Mul(g.target(fields, action), ExpandAxes(Where(over, ZerosLike(mark), mark), 1))
	next := Add(fields, stone)
	sums := MatMul(next, Const(next.Graph(), g.lines))
	won := LogicalAny(Equal(sums, ExpandAxes(MulScalar(mark, g.need), 1)), 1)
	full := game.Is(ReduceSum(Abs(next), 1), float64(g.rows*g.cols))
	won = LogicalAnd(won, LogicalNot(over))
	head := Stack([]*Node{
		Where(over, mover, OneMinus(mover)),
		game.Number(LogicalOr(over, LogicalOr(won, full))),
		Where(won, mark, game.Column(position, game.ReturnAt)),
	}, 1)
	return Concatenate([]*Node{head, next}, 1)
}

// fields returns the board of positions, [n, fields].
func (g *grid) fields(position *Node) *Node {
	return SliceAxis(position, 1, AxisRange(game.Header, g.rules.Width))
}

// target returns 1 at the field that an action takes and 0 at others, [n, fields].
func (g *grid) target(fields, action *Node) *Node {
	hot := OneHot(action, g.rules.Actions, dtypes.Float32)
	if !g.drop {
		return hot
	}
	// The lowest empty field of a column is the one whose row is the number of empty ones, from 1.
	lowest := Equal(ExpandAxes(g.empty(fields), 1), ConstAs(fields, g.rowNumbers()))
	return Reshape(Mul(game.Number(lowest), ExpandAxes(hot, 1)), -1, g.rows*g.cols)
}

// empty returns the number of empty fields of each column, [n, columns].
func (g *grid) empty(fields *Node) *Node {
	return ReduceSum(OneMinus(Abs(Reshape(fields, -1, g.rows, g.cols))), 1)
}

// rowNumbers returns the number of each row from the top, from 1: [1, rows, 1].
func (g *grid) rowNumbers() [][][]float32 {
	out := [][][]float32{make([][]float32, g.rows)}
	for r := range out[0] {
		out[0][r] = []float32{float32(r + 1)}
	}
	return out
}

// Legal returns empty fields, or columns that have one.
func (g *grid) Legal(position *Node) *Node {
	fields := g.fields(position)
	open := IsZero(fields)
	if g.drop {
		open = LogicalNot(IsZero(g.empty(fields)))
	}
	return LogicalAnd(open, LogicalNot(ExpandAxes(game.Over(position), 1)))
}

// Observe returns two planes: the seat's own stones and the other's.
func (g *grid) Observe(position, seat *Node) *Node {
	mark := ExpandAxes(OneMinus(MulScalar(ConvertDType(seat, dtypes.Float32), 2)), 1)
	fields := Mul(g.fields(position), mark)
	planes := Stack([]*Node{game.Number(game.Is(fields, 1)), game.Number(game.Is(fields, -1))}, 2)
	return Reshape(planes, -1, g.rules.Seen)
}
