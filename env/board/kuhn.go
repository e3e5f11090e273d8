package board

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env/game"
)

// kuhn is poker with the cards 0, 1 and 2 (Kuhn, "A Simplified Two-Person Poker", 1950). Each
// player puts in 1 and gets a card. Action 0 is to pass: to check, or to fold after a bet. Action 1
// is to bet 1, or to call a bet. In a position, the header is followed by both cards and by the
// three moves that there may be: 0 if not made, 1 for a pass, 2 for a bet.
type kuhn struct{}

const (
	kuhnCards = 3
	kuhnMoves = 3
	kuhnCard  = game.Header  // place of seat 0's card
	kuhnMove  = kuhnCard + 2 // place of the first move
	kuhnWidth = kuhnMove + kuhnMoves
	kuhnSeen  = 2 + kuhnCards + 2*kuhnMoves
)

var kuhnRules = game.Rules{
	Name: "Kuhn poker", Width: kuhnWidth, Actions: 2, Seen: kuhnSeen,
	Length: kuhnMoves, InRow: 1, Most: 2, Hidden: true, Starts: kuhnStarts(),
	Symmetries: []game.Symmetry{identity(kuhnWidth, kuhnSeen, 2)},
}

func kuhnStarts() (out [][]float32) {
	for a := range kuhnCards {
		for b := range kuhnCards {
			if a != b {
				p := make([]float32, kuhnWidth)
				p[kuhnCard], p[kuhnCard+1] = float32(a), float32(b)
				out = append(out, p)
			}
		}
	}
	return out
}

// identity returns the symmetry that changes nothing.
func identity(width, seen, actions int) game.Symmetry {
	same := func(n int) []int {
		out := make([]int, n)
		for i := range out {
			out[i] = i
		}
		return out
	}
	return game.Symmetry{Position: same(width), Obs: same(seen), Action: same(actions), Moved: same(actions)}
}

func (kuhn) Rules() game.Rules { return kuhnRules }

func (kuhn) Play(position, action *Node) *Node {
	at := columns(position)
	seat, over := at[game.SeatAt], game.Over(position)
	moves := at[kuhnMove:]
	made := number(action)
	bet := game.Is(made, 1)
	second, third := IsZero(moves[1]), LogicalNot(IsZero(moves[1])) // which move it is, if not the first
	opening := IsZero(moves[0])
	second = LogicalAnd(second, LogicalNot(opening))
	checked := game.Is(moves[0], 1)

	// A pass answers a pass, and a bet a bet, with a showdown; a pass after a bet folds.
	goesOn := LogicalOr(opening, all(second, checked, bet))
	called := all(LogicalNot(goesOn), bet)
	checks := all(second, checked, LogicalNot(bet))
	better := Sub(MulScalar(game.Number(GreaterThan(at[kuhnCard], at[kuhnCard+1])), 2), OnesLike(seat))
	mark := OneMinus(MulScalar(seat, 2))
	result := Where(called, MulScalar(better, 2), Where(checks, better, Neg(mark)))

	next := append([]*Node(nil), at...)
	next[game.SeatAt] = OneMinus(seat)
	next[game.OverAt] = game.Number(LogicalNot(goesOn))
	next[game.ReturnAt] = Where(goesOn, ZerosLike(result), result)
	for i, now := range []*Node{opening, second, third} {
		next[kuhnMove+i] = Where(now, AddScalar(made, 1), moves[i])
	}
	return unless(over, position, Stack(next, 1))
}

func (kuhn) Legal(position *Node) *Node {
	goesOn := LogicalNot(game.Over(position))
	return Stack([]*Node{goesOn, goesOn}, 1)
}

// Observe returns the seat, its card and all moves, each as a one-hot vector.
func (kuhn) Observe(position, seat *Node) *Node {
	at := columns(position)
	card := Where(IsZero(seat), at[kuhnCard], at[kuhnCard+1])
	parts := []*Node{oneHot(seat, 2), oneHot(card, kuhnCards)}
	for _, m := range at[kuhnMove:] {
		parts = append(parts, oneHot(AddScalar(m, -1), 2)) // nothing for a move not made
	}
	return Concatenate(parts, 1)
}

func (kuhn) Host() game.Host { return kuhnHost{} }

// columns returns the numbers of positions one by one, [n] each.
func columns(position *Node) []*Node {
	out := make([]*Node, position.Shape().Dimensions[1])
	for i := range out {
		out[i] = game.Column(position, i)
	}
	return out
}

// all returns where all conditions hold.
func all(first *Node, more ...*Node) *Node {
	for _, c := range more {
		first = LogicalAnd(first, c)
	}
	return first
}

// number returns whole numbers as float32.
func number(x *Node) *Node { return ConvertDType(x, dtypes.Float32) }

// oneHot returns [n, k]: 1 at the place that each of x, [n], names, if it is one of k.
func oneHot(x *Node, k int) *Node { return OneHot(ConvertDType(x, dtypes.Int32), k, dtypes.Float32) }

// unless returns positions before where a condition, [n], holds, and after elsewhere.
func unless(condition, before, after *Node) *Node {
	return Where(BroadcastToDims(ExpandAxes(condition, 1), before.Shape().Dimensions...), before, after)
}
