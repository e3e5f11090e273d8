package board

import (
	"fmt"

	"github.com/weft-rl/weft/env/game"
)

// kuhnHost is the rules of kuhn for one position.
type kuhnHost struct{}

// kuhnEnds has the ends of games by their moves: what the winner wins, and whether the cards decide
// or seat 0 wins (1) or loses (-1).
var kuhnEnds = map[string]struct{ stake, folded float32 }{
	"pp": {1, 0}, "bb": {2, 0}, "pbb": {2, 0}, "bp": {1, 1}, "pbp": {1, -1},
}

func (kuhnHost) Play(position []float32, action int) {
	if position[game.OverAt] == 1 {
		return
	}
	moves := kuhnHistory(position)
	position[kuhnMove+len(moves)] = float32(action + 1)
	position[game.SeatAt] = 1 - position[game.SeatAt]
	end, over := kuhnEnds[moves+"pb"[action:action+1]]
	if !over {
		return
	}
	sign := end.folded
	if sign == 0 {
		sign = compare(position[kuhnCard], position[kuhnCard+1])
	}
	position[game.OverAt], position[game.ReturnAt] = 1, sign*end.stake
}

// kuhnHistory returns the moves made so far as letters.
func kuhnHistory(position []float32) (moves string) {
	for _, m := range position[kuhnMove:] {
		if m > 0 {
			moves += string("pb"[int(m)-1])
		}
	}
	return moves
}

// compare returns 1 if a is more than b, -1 if it is less, else 0.
func compare(a, b float32) float32 {
	switch {
	case a > b:
		return 1
	case a < b:
		return -1
	}
	return 0
}

func (kuhnHost) Legal(position []float32, legal []bool) {
	legal[0] = position[game.OverAt] == 0
	legal[1] = legal[0]
}

func (kuhnHost) Observe(position []float32, seat int, obs []float32) {
	clear(obs)
	obs[seat] = 1
	obs[2+int(position[kuhnCard+seat])] = 1
	hotMoves(position[kuhnMove:], obs[2+kuhnCards:])
}

// hotMoves sets one of two numbers for each move that was made.
func hotMoves(moves, obs []float32) {
	for i, m := range moves {
		if m > 0 {
			obs[2*i+int(m)-1] = 1
		}
	}
}

func (kuhnHost) Text(position []float32) string {
	return fmt.Sprintf("%c against %c, moves %s\n", "JQK"[int(position[kuhnCard])], "JQK"[int(position[kuhnCard+1])], kuhnHistory(position))
}

// leducHost is the rules of leduc for one position.
type leducHost struct{}

func (h leducHost) Play(position []float32, action int) {
	if position[game.OverAt] == 1 {
		return
	}
	seat, round, made := int(position[game.SeatAt]), int(position[leducRound]), int(position[leducMade])
	mine, theirs := &position[leducStake+seat], position[leducStake+1-seat]
	position[leducMove+round*leducMoves+made] = float32(action)
	position[game.SeatAt] = float32(1 - seat)
	position[leducMade]++
	switch {
	case action == fold:
		h.end(position, *mine, float32(2*seat-1))
	case action == raise:
		*mine = theirs + float32(2+2*round)
		position[leducRaised]++
	case made == 0: // a check that opens the round
	case round == 1:
		*mine = theirs
		h.end(position, theirs, h.better(position))
	default:
		*mine = theirs
		position[leducRound], position[leducMade], position[leducRaised], position[game.SeatAt] = 1, 0, 0, 0
	}
}

// end ends the game: seat 0 wins the stake, loses it (sign -1) or gets its own back (0).
func (leducHost) end(position []float32, stake, sign float32) {
	position[game.OverAt], position[game.ReturnAt] = 1, sign*stake
}

// better returns 1 if seat 0 has the better hand, -1 if seat 1 has, else 0.
func (leducHost) better(position []float32) float32 {
	a, b, public := position[leducCard], position[leducCard+1], position[leducPublic]
	switch {
	case a == b:
		return 0
	case a == public:
		return 1
	case b == public:
		return -1
	}
	return compare(a, b)
}

func (leducHost) Legal(position []float32, legal []bool) {
	seat := int(position[game.SeatAt])
	goesOn := position[game.OverAt] == 0
	legal[fold] = goesOn && position[leducStake+1-seat] > position[leducStake+seat]
	legal[call] = goesOn
	legal[raise] = goesOn && position[leducRaised] < leducRaises
}

func (leducHost) Observe(position []float32, seat int, obs []float32) {
	clear(obs)
	obs[seat] = 1
	obs[2+int(position[leducCard+seat])] = 1
	if position[leducRound] == 1 {
		obs[2+leducRanks+int(position[leducPublic])] = 1
	}
	hotMoves(position[leducMove:], obs[2+2*leducRanks:])
}

func (leducHost) Text(position []float32) string {
	name := func(i int) byte { return "JQK"[int(position[i])] }
	public := byte('?')
	if position[leducRound] == 1 {
		public = name(leducPublic)
	}
	moves := ""
	for i, m := range position[leducMove:] {
		if i == leducMoves {
			moves += "/"
		}
		moves += []string{"", "c", "r"}[int(m)]
	}
	return fmt.Sprintf("%c against %c, public %c, stakes %v and %v, moves %s\n",
		name(leducCard), name(leducCard+1), public, position[leducStake], position[leducStake+1], moves)
}
