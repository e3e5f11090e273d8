package play

import (
	"math"
	"slices"

	"github.com/weft-rl/weft/env/game"
	"github.com/weft-rl/weft/internal/stat"
)

// Side is a policy that plays many games at once.
type Side interface {
	// Moves returns the actions of the seats to move in positions of some games, by their numbers.
	// Each game is asked about in the order of its moves.
	Moves(games []int, positions [][]float32) ([]int, error)
}

// Match is how games between two policies are played. Games are pairs that begin alike, with the
// sides exchanged.
type Match struct {
	Game     game.Game
	Pairs    int
	Openings int // moves that are drawn at the beginning of a pair, so that games differ
	// Draw returns a number below n, as a pair and a count decide: the same whenever it is asked.
	Draw func(pair, count, n int) int
}

// Result is how the games ended, from the first side's point of view.
type Result struct {
	Wins   int     `json:"wins"`
	Draws  int     `json:"draws"`
	Losses int     `json:"losses"`
	Return float64 `json:"return"` // mean of all games
	// Elo is the difference of ratings that the score stands for, with its 95 % interval over
	// pairs of games.
	Elo stat.Estimate `json:"elo"`
}

// Play plays all games together, every side's moves of a ply in one batch.
func (m Match) Play(first, second Side) (Result, error) {
	positions := make([][]float32, 2*m.Pairs)
	for i := range positions {
		positions[i] = m.opening(i / 2)
	}
	for {
		var games [2][]int // by side
		for i, p := range positions {
			if p[game.OverAt] == 0 {
				// The first side has seat 0 in the first game of a pair.
				side := (int(p[game.SeatAt]) + i) % 2
				games[side] = append(games[side], i)
			}
		}
		if len(games[0])+len(games[1]) == 0 {
			return m.result(positions), nil
		}
		for side, s := range []Side{first, second} {
			if err := m.ply(s, games[side], positions); err != nil {
				return Result{}, err
			}
		}
	}
}

// opening returns the position that the games of a pair begin with. It is not over.
func (m Match) opening(pair int) []float32 {
	r, host, count := m.Game.Rules(), m.Game.Host(), 0
	draw := func(n int) int {
		count++
		return m.Draw(pair, count-1, n)
	}
	legal := make([]bool, r.Actions)
	for {
		p := slices.Clone(r.Starts[draw(len(r.Starts))])
		for range m.Openings {
			host.Legal(p, legal)
			var open []int
			for a, ok := range legal {
				if ok {
					open = append(open, a)
				}
			}
			if len(open) > 0 {
				host.Play(p, open[draw(len(open))])
			}
		}
		if p[game.OverAt] == 0 {
			return p
		}
	}
}

// ply makes a side's moves.
func (m Match) ply(s Side, games []int, positions [][]float32) error {
	if len(games) == 0 {
		return nil
	}
	seen := make([][]float32, len(games))
	for i, g := range games {
		seen[i] = positions[g]
	}
	actions, err := s.Moves(games, seen)
	if err != nil {
		return err
	}
	for i, g := range games {
		m.Game.Host().Play(positions[g], actions[i])
	}
	return nil
}

// result counts the games.
func (m Match) result(positions [][]float32) (r Result) {
	scores := make([]float64, m.Pairs)
	for i, p := range positions {
		x := float64(p[game.ReturnAt]) * float64(1-2*(i%2))
		r.Return += x
		switch {
		case x > 0:
			r.Wins++
			scores[i/2] += .5
		case x < 0:
			r.Losses++
		default:
			r.Draws++
			scores[i/2] += .25
		}
	}
	r.Return /= float64(len(positions))
	r.Elo.Value = elo(scores)
	r.Elo.Low, r.Elo.High = stat.Usual.Interval(scores, elo)
	return r
}

// elo returns the difference of ratings that a mean score, from 0 to 1 by pair, stands for. A side
// that wins all games counts as having won half a game less, because no finite number stands for
// it.
func elo(scores []float64) float64 {
	games, sum := 2*float64(len(scores)), 0.
	for _, s := range scores {
		sum += 2 * s
	}
	sum = min(max(sum, .5), games-.5)
	return 400 * math.Log10(sum/(games-sum))
}
