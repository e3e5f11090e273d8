package board

import (
	"math/bits"

	"github.com/weft-rl/weft/env/game"
)

// Four says who wins positions of connect four if both play their best: an alpha-beta search to
// the end on bits, with a table of positions seen. Random positions with 14 stones take some
// 30,000 nodes, those with 10 about a million; an empty board is out of reach. A Four is for one
// goroutine.
type Four struct {
	Nodes int64 // positions looked at so far
	table []fourSeen
}

// fourSeen is a position whose value lies between two bounds. The key is 0 where nothing is stored.
type fourSeen struct {
	key      uint64
	low, top int8
}

const fourTable = 1 << 21

// NewFour returns a solver with an empty table.
func NewFour() *Four { return &Four{table: make([]fourSeen, fourTable)} }

// fourBits is a position: a bit for each field, from the bottom of the leftmost column upwards,
// with an empty one above each column.
type fourBits struct{ mine, all uint64 }

const (
	fourRows, fourCols = 6, 7
	fourStep           = fourRows + 1 // from a column to the next

	fourBottom = 1 | 1<<7 | 1<<14 | 1<<21 | 1<<28 | 1<<35 | 1<<42 // the lowest row
	fourBoard  = fourBottom * (1<<fourRows - 1)
)

// columns from the middle outwards: the middle ones are on more lines.
var fourOrder = [fourCols]int{3, 2, 4, 1, 5, 0, 6}

// fourOf returns a position of ConnectFour from the mover's point of view.
func fourOf(position []float32) (b fourBits) {
	mark := 1 - 2*position[game.SeatAt]
	for i, x := range position[game.Header:] {
		bit := uint64(1) << (i%fourCols*fourStep + fourRows - 1 - i/fourCols)
		if x == mark {
			b.mine |= bit
		}
		if x != 0 {
			b.all |= bit
		}
	}
	return b
}

// Value returns 1 if the seat to move wins, -1 if it loses and 0 for a draw. Where the game is over
// it is the return of the seat that would be next.
func (f *Four) Value(position []float32) int {
	if overOf(position) {
		return int(returnOf(position, seatOf(position)))
	}
	return f.search(fourOf(position), -1, 1)
}

// Best returns the columns that keep a position's value.
func (f *Four) Best(position []float32) (columns []int) {
	value := f.Value(position)
	for _, next := range successors(ConnectFour, position) {
		if -f.Value(next.position) == value {
			columns = append(columns, next.action)
		}
	}
	return columns
}

// search returns the mover's value if it lies between low and top; else a bound on it.
func (f *Four) search(b fourBits, low, top int) int {
	f.Nodes++
	open := (b.all + fourBottom) & fourBoard
	if open&fours(b.mine) != 0 {
		return 1
	}
	if open == 0 {
		return 0
	}
	threats := fours(b.all&^b.mine) &^ b.all
	// The opponent wins next wherever he can, so that is where to move, if there is one such place.
	if forced := open & threats; forced != 0 {
		open = forced
	}
	// To move below a place where he wins is to lose, too.
	if open &^= threats >> 1; bits.OnesCount64(open&threats) > 1 || open == 0 {
		return -1
	}
	seen := &f.table[b.hash()]
	if seen.key == b.key() {
		low, top = max(low, int(seen.low)), min(top, int(seen.top))
		if low >= top {
			return low
		}
	} else {
		*seen = fourSeen{b.key(), -1, 1}
	}
	return f.store(b, f.deeper(b, open, low, top), low, top)
}

// deeper tries the moves of open, those that make most places to win first.
func (f *Four) deeper(b fourBits, open uint64, low, top int) int {
	best := -1
	for _, move := range b.ordered(open) {
		if move == 0 || best >= top {
			break
		}
		best = max(best, -f.search(fourBits{b.all &^ b.mine, b.all | move}, -top, -max(low, best)))
	}
	return best
}

// ordered returns the moves of open, the most promising first, and zeros behind them. Of equal ones
// those nearer to the middle are first.
func (b fourBits) ordered(open uint64) (moves [fourCols]uint64) {
	var worth [fourCols]int
	n := 0
	for _, c := range fourOrder {
		move := open & fourColumn(c)
		if move == 0 {
			continue
		}
		w := bits.OnesCount64(fours(b.mine|move) &^ b.all)
		at := n
		for ; at > 0 && worth[at-1] < w; at-- {
			moves[at], worth[at] = moves[at-1], worth[at-1]
		}
		moves[at], worth[at] = move, w
		n++
	}
	return moves
}

// store remembers what a search between low and top has shown.
func (f *Four) store(b fourBits, value, low, top int) int {
	if seen := &f.table[b.hash()]; seen.key == b.key() { // else the search below needed its place
		if value < top {
			seen.top = min(seen.top, int8(value))
		}
		if value > low {
			seen.low = max(seen.low, int8(value))
		}
	}
	return value
}

func fourColumn(c int) uint64 { return (1<<fourRows - 1) << (c * fourStep) }

// fours returns the fields of the board on which another stone completes four, taken or not.
func fours(stones uint64) uint64 {
	out := stones << 1 & (stones << 2) & (stones << 3)
	for _, step := range [3]int{fourStep - 1, fourStep, fourStep + 1} {
		up, down := stones<<step&(stones<<(2*step)), stones>>step&(stones>>(2*step))
		out |= up&(stones<<(3*step)) | up&(stones>>step) | down&(stones<<step) | down&(stones>>(3*step))
	}
	return out & fourBoard
}

// key returns a number that no other position has, and that is not 0.
func (b fourBits) key() uint64 { return b.mine + b.all + 1<<63 }

func (b fourBits) hash() uint64 { return b.key() * 0x9e3779b97f4a7c15 >> (64 - 21) }
