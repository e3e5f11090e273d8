package board

import "github.com/weft-rl/weft/env/game"

// Player returns the action of the seat to move in each of some positions. It may be asked for many
// at once, but for each position only once.
type Player func(positions [][]float32) []int

// Tally is how games ended, from a player's point of view.
type Tally struct{ Wins, Draws, Losses float64 }

func (t *Tally) add(result float32, weight float64) {
	switch {
	case result > 0:
		t.Wins += weight
	case result < 0:
		t.Losses += weight
	default:
		t.Draws += weight
	}
}

// Verdict tells how a player does in one seat of a game.
type Verdict struct {
	Lines  Tally // lines of play that the other seat can choose, each counted once
	Random Tally // exact probabilities of the ends against moves drawn uniformly
	Asked  int   // positions in which the player moved
}

// Judge plays every line of a game of perfect information that a player's opponent can choose, and
// returns what comes of it in each seat. Positions that several lines reach are looked at once, and
// the player is asked for all positions of a ply together.
func Judge(g game.Game, p Player) (seats [2]Verdict) {
	for seat := range seats {
		seats[seat] = judge(g, p, seat)
	}
	return seats
}

// reached is a position with the number of lines and the probability by which it is reached.
type reached struct {
	position      []float32
	lines, chance float64
}

func judge(g game.Game, p Player, seat int) (v Verdict) {
	ply := newFrontier(g)
	for len(ply.all) > 0 {
		next := &frontier{at: map[string]int{}}
		var asked [][]float32
		var from []reached
		for _, r := range ply.all {
			switch {
			case overOf(r.position):
				result := returnOf(r.position, seat)
				v.Lines.add(result, r.lines)
				v.Random.add(result, r.chance)
			case seatOf(r.position) == seat:
				asked, from = append(asked, r.position), append(from, r)
			default:
				moves := successors(g, r.position)
				for _, m := range moves {
					next.add(reached{m.position, r.lines, r.chance / float64(len(moves))})
				}
			}
		}
		v.Asked += len(asked)
		if len(asked) > 0 {
			for i, action := range p(asked) {
				position := append([]float32(nil), asked[i]...)
				g.Host().Play(position, action)
				next.add(reached{position, from[i].lines, from[i].chance})
			}
		}
		ply = next
	}
	return v
}

// frontier is the positions of a ply, each once, in the order in which they were reached.
type frontier struct {
	all []reached
	at  map[string]int
}

// newFrontier returns the starts of a game.
func newFrontier(g game.Game) *frontier {
	f := &frontier{at: map[string]int{}}
	starts := g.Rules().Starts
	for _, s := range starts {
		f.add(reached{s, 1, 1 / float64(len(starts))})
	}
	return f
}

func (f *frontier) add(r reached) {
	key := keyOf(r.position)
	if i, ok := f.at[key]; ok {
		f.all[i].lines += r.lines
		f.all[i].chance += r.chance
		return
	}
	f.at[key] = len(f.all)
	f.all = append(f.all, r)
}

// Strategy returns the probability of each action of the seat to move in a position.
type Strategy func(position []float32) []float64

// Uniform returns the strategy that plays all legal moves with equal probability.
func Uniform(g game.Game) Strategy {
	return func(position []float32) []float64 { return evenly(g, legalOf(g, position)) }
}

// Strategy returns the strategy that plays all best moves with equal probability.
func (s *Solution) Strategy() Strategy {
	return func(position []float32) []float64 { return evenly(s.game, s.Best(position)) }
}

// evenly returns equal probabilities of some actions.
func evenly(g game.Game, actions []int) []float64 {
	out := make([]float64, g.Rules().Actions)
	for _, a := range actions {
		out[a] = 1 / float64(len(actions))
	}
	return out
}

// Play returns the exact probabilities of how games between two strategies end, from the first
// seat's point of view.
func Play(g game.Game, first, second Strategy) (t Tally) {
	ply := newFrontier(g)
	for len(ply.all) > 0 {
		next := &frontier{at: map[string]int{}}
		for _, r := range ply.all {
			if overOf(r.position) {
				t.add(returnOf(r.position, 0), r.chance)
				continue
			}
			prob := []Strategy{first, second}[seatOf(r.position)](r.position)
			for _, m := range successors(g, r.position) {
				if p := prob[m.action]; p > 0 {
					next.add(reached{m.position, r.lines, r.chance * p})
				}
			}
		}
		ply = next
	}
	return t
}

// BestAgainstRandom returns a player that does best against moves drawn uniformly.
func BestAgainstRandom(g game.Game) Player {
	s := &responder{g, map[string]float64{}}
	return func(positions [][]float32) []int {
		out := make([]int, len(positions))
		for i, p := range positions {
			out[i], _ = s.best(p)
		}
		return out
	}
}

// responder values positions for a seat that plays its best against a random one. A value is that
// of the seat to move, which is the one that plays its best.
type responder struct {
	game   game.Game
	values map[string]float64
}

// best returns the action of greatest expected return, and that.
func (s *responder) best(position []float32) (action int, value float64) {
	for i, next := range successors(s.game, position) {
		v := s.after(next.position, seatOf(position))
		if i == 0 || v > value {
			action, value = next.action, v
		}
	}
	return action, value
}

// after returns the expected return of a seat in a position that is the other's to move, its own to
// move, or over.
func (s *responder) after(position []float32, seat int) (value float64) {
	if overOf(position) {
		return float64(returnOf(position, seat))
	}
	key := keyOf(position) + string(rune('0'+seat))
	if v, ok := s.values[key]; ok {
		return v
	}
	if seatOf(position) == seat {
		_, value = s.best(position)
	} else {
		moves := successors(s.game, position)
		for _, next := range moves {
			value += s.after(next.position, seat) / float64(len(moves))
		}
	}
	s.values[key] = value
	return value
}
