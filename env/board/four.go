package board

import (
	"math/bits"

	"github.com/weft-rl/weft/env/game"
)

// Four says who wins positions of connect four if both play their best: an alpha-beta search to the
// end on bits, with a table of positions seen. Positions with 14 stones or more mostly take well
// below a second, those with 10 seconds; an empty board is out of reach. A Four is for one
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
	open := b.open()
	if b.wins(b.mine, open) != 0 {
		return 1
	}
	if open == 0 {
		return 0
	}
	// The opponent wins next wherever he can, so that is where to move; there may be one such
	// place.
	if threats := b.wins(b.all&^b.mine, open); threats != 0 {
		if bits.OnesCount64(threats) > 1 {
			return -1
		}
		open = threats
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

// deeper tries the moves of open.
func (f *Four) deeper(b fourBits, open uint64, low, top int) int {
	best := -1
	for _, c := range fourOrder {
		move := open & fourColumn(c)
		if move == 0 {
			continue
		}
		best = max(best, -f.search(fourBits{b.all &^ b.mine, b.all | move}, -top, -max(low, best)))
		if best >= top {
			break
		}
	}
	return best
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

// open returns the fields where a stone can come to lie.
func (b fourBits) open() (fields uint64) {
	for c := range fourCols {
		fields |= (b.all + 1<<(c*fourStep)) & fourColumn(c)
	}
	return fields &^ b.all
}

// wins returns the fields among open on which another stone completes four.
func (b fourBits) wins(stones, open uint64) (fields uint64) {
	for open != 0 {
		move := open & -open
		if open &^= move; four(stones | move) {
			fields |= move
		}
	}
	return fields
}

// four reports whether four stones are in a row.
func four(stones uint64) bool {
	for _, step := range []int{1, fourStep - 1, fourStep, fourStep + 1} {
		if pairs := stones & (stones >> step); pairs&(pairs>>(2*step)) != 0 {
			return true
		}
	}
	return false
}

// key returns a number that no other position has, and that is not 0.
func (b fourBits) key() uint64 { return b.mine + b.all + 1<<63 }

func (b fourBits) hash() uint64 { return b.key() * 0x9e3779b97f4a7c15 >> (64 - 21) }
