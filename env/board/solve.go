package board

import (
	"slices"

	"github.com/weft-rl/weft/env/game"
)

// Solution is a game of perfect information solved over its whole tree.
type Solution struct {
	game   game.Game
	values map[string]float32
}

// Solve values every position that can be reached from the starts. It is for games with few of
// them: tic-tac-toe has 5,478.
func Solve(g game.Game) *Solution {
	s := &Solution{g, map[string]float32{}}
	for _, p := range g.Rules().Starts {
		s.Value(p)
	}
	return s
}

// Positions returns how many positions were reached, finished games included.
func (s *Solution) Positions() int { return len(s.values) }

// Value returns the return of the seat to move if both play their best from a position on; where
// the game is over, of the seat that would be next.
func (s *Solution) Value(position []float32) float32 {
	key := keyOf(position)
	if v, ok := s.values[key]; ok {
		return v
	}
	best := returnOf(position, seatOf(position))
	for i, next := range successors(s.game, position) {
		v := s.Value(next.position)
		if seatOf(next.position) != seatOf(position) {
			v = -v
		}
		if i == 0 || v > best {
			best = v
		}
	}
	s.values[key] = best
	return best
}

// Best returns the moves that keep a position's value.
func (s *Solution) Best(position []float32) (actions []int) {
	for _, next := range successors(s.game, position) {
		v := s.Value(next.position)
		if seatOf(next.position) != seatOf(position) {
			v = -v
		}
		if v == s.Value(position) {
			actions = append(actions, next.action)
		}
	}
	return actions
}

// successor is a position after an action.
type successor struct {
	action   int
	position []float32
}

// successors returns the positions that legal actions lead to, by action.
func successors(g game.Game, position []float32) (out []successor) {
	host := g.Host()
	for _, a := range legalOf(g, position) {
		next := slices.Clone(position)
		host.Play(next, a)
		out = append(out, successor{a, next})
	}
	return out
}

// legalOf returns the legal actions.
func legalOf(g game.Game, position []float32) (actions []int) {
	legal := make([]bool, g.Rules().Actions)
	g.Host().Legal(position, legal)
	for a, ok := range legal {
		if ok {
			actions = append(actions, a)
		}
	}
	return actions
}

func seatOf(position []float32) int  { return int(position[game.SeatAt]) }
func overOf(position []float32) bool { return position[game.OverAt] == 1 }

// returnOf returns a seat's return, 0 if the game is not over.
func returnOf(position []float32, seat int) float32 {
	if seat == 1 && position[game.ReturnAt] != 0 {
		return -position[game.ReturnAt]
	}
	return position[game.ReturnAt]
}

// keyOf returns a position as a key of maps: its numbers are small whole ones.
func keyOf(position []float32) string {
	b := make([]byte, len(position))
	for i, x := range position {
		b[i] = byte(int8(x))
	}
	return string(b)
}
