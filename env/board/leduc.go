package board

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env/game"
)

// leduc is poker with two cards each of three ranks (Southey et al., "Bayes' Bluff: Opponent
// Modelling in Poker", 2005). Each player puts in 1 and gets a card. There is a round of bets of 2,
// then a public card, then a round of bets of 4; a round has two raises at most, and seat 0 moves
// first in both. A pair with the public card wins, else the higher card; equal cards share the pot.
//
// The actions are to fold, which only answers a raise; to call, or check; and to raise.
type leduc struct{}

const (
	leducRanks  = 3
	leducMoves  = 4 // of a round, at most
	leducRaises = 2 // of a round, at most

	fold, call, raise = 0, 1, 2
)

// Places of numbers in a position.
const (
	leducCard   = game.Header     // ranks of the seats' cards
	leducPublic = leducCard + 2   // rank of the public card
	leducRound  = leducPublic + 1 // 0 or 1
	leducMade   = leducRound + 1  // moves made in the round
	leducRaised = leducMade + 1   // raises made in the round
	leducStake  = leducRaised + 1 // what each seat has put in
	leducMove   = leducStake + 2  // moves of both rounds: 0 if not made, 1 for a call, 2 for a raise
	leducWidth  = leducMove + 2*leducMoves
	leducSeen   = 2 + 2*leducRanks + 2*2*leducMoves
)

var leducRules = game.Rules{
	Name: "Leduc poker", Width: leducWidth, Actions: 3, Seen: leducSeen,
	Length: 2 * leducMoves, InRow: 2, Most: 13, Hidden: true, Starts: leducStarts(),
	Symmetries: []game.Symmetry{identity(leducWidth, leducSeen, 3)},
}

// leducStarts returns all deals of three of six cards.
func leducStarts() (out [][]float32) {
	const cards = 2 * leducRanks
	for a := range cards {
		for b := range cards {
			for c := range cards {
				if a == b || a == c || b == c {
					continue
				}
				p := make([]float32, leducWidth)
				p[leducCard], p[leducCard+1], p[leducPublic] = float32(a/2), float32(b/2), float32(c/2)
				p[leducStake], p[leducStake+1] = 1, 1
				out = append(out, p)
			}
		}
	}
	return out
}

func (leduc) Rules() game.Rules { return leducRules }

func (d leduc) Play(position, action *Node) *Node {
	at := columns(position)
	seat, round, made := at[game.SeatAt], at[leducRound], at[leducMade]
	act := number(action)
	folds, calls, raises := game.Is(act, fold), game.Is(act, call), game.Is(act, raise)
	mine, theirs := d.stakes(at)

	// A call ends the round, unless it opens it; the second round's end is the showdown.
	ends := LogicalAnd(calls, LogicalNot(IsZero(made)))
	showdown := LogicalAnd(ends, game.Is(round, 1))
	turned := LogicalAnd(ends, IsZero(round))
	put := Where(folds, mine, Where(raises, Add(theirs, AddScalar(MulScalar(round, 2), 2)), theirs))
	mark := OneMinus(MulScalar(seat, 2))
	result := Where(folds, Neg(Mul(mark, mine)), Where(showdown, Mul(d.better(at), theirs), ZerosLike(mine)))

	next := append([]*Node(nil), at...)
	next[game.SeatAt] = Where(turned, ZerosLike(seat), OneMinus(seat))
	next[game.OverAt] = game.Number(LogicalOr(folds, showdown))
	next[game.ReturnAt] = result
	next[leducRound] = Add(round, game.Number(turned))
	next[leducMade] = Where(turned, ZerosLike(made), AddScalar(made, 1))
	next[leducRaised] = Where(turned, ZerosLike(made), Add(at[leducRaised], game.Number(raises)))
	next[leducStake] = Where(IsZero(seat), put, at[leducStake])
	next[leducStake+1] = Where(IsZero(seat), at[leducStake+1], put)
	place := Add(MulScalar(round, leducMoves), made)
	for i := range 2 * leducMoves {
		next[leducMove+i] = Where(game.Is(place, float64(i)), act, at[leducMove+i])
	}
	return unless(game.Over(position), position, Stack(next, 1))
}

// stakes returns what the mover and the other have put in.
func (leduc) stakes(at []*Node) (mine, theirs *Node) {
	first := IsZero(at[game.SeatAt])
	a, b := at[leducStake], at[leducStake+1]
	return Where(first, a, b), Where(first, b, a)
}

// better returns 1 where seat 0 has the better hand, -1 where seat 1 has, else 0.
func (leduc) better(at []*Node) *Node {
	// A pair is worth more than any card.
	worth := func(card *Node) *Node {
		return Add(card, MulScalar(game.Number(Equal(card, at[leducPublic])), leducRanks))
	}
	return Sign(Sub(worth(at[leducCard]), worth(at[leducCard+1])))
}

func (d leduc) Legal(position *Node) *Node {
	at := columns(position)
	mine, theirs := d.stakes(at)
	goesOn := LogicalNot(game.Over(position))
	return Stack([]*Node{
		LogicalAnd(goesOn, GreaterThan(theirs, mine)),
		goesOn,
		LogicalAnd(goesOn, LessThan(at[leducRaised], ConstAs(mine, leducRaises))),
	}, 1)
}

// Observe returns the seat, its card, the public card once it is dealt and all moves, each as a
// one-hot vector.
func (leduc) Observe(position, seat *Node) *Node {
	at := columns(position)
	card := Where(IsZero(seat), at[leducCard], at[leducCard+1])
	none := Neg(OnesLike(card)) // of which oneHot makes zeros
	public := Where(IsZero(at[leducRound]), none, at[leducPublic])
	parts := []*Node{oneHot(seat, 2), oneHot(card, leducRanks), oneHot(public, leducRanks)}
	for _, m := range at[leducMove:] {
		parts = append(parts, oneHot(AddScalar(m, -1), 2))
	}
	return Concatenate(parts, 1)
}

func (leduc) Host() game.Host { return leducHost{} }
