package league

import "fmt"

// Standings describes a league, as a checkpoint has it.
type Standings struct {
	Sides  [2][]Entrant
	Payoff [][]float64 // mean results of the first side, by its policies and the second's
	Games  [][]float64 // how many games each of them is the mean of
}

// Entrant is a frozen policy.
type Entrant struct {
	Born   int64   // the how manyth of its side it is, from 1
	Chance float64 // its part in what the side plays
}

// Saved is the arrays of a league in a checkpoint, by the names under which League saves them.
type Saved struct {
	Born, Games, Sums []float64
	Mix               [2][]float64 // running sums
}

// Standings returns what the arrays say. The oldest policies are first.
func (s Saved) Standings() (out Standings, err error) {
	n := len(s.Mix[0])
	if n < 2 || len(s.Mix[1]) != n || len(s.Born) != 2*n || len(s.Games) != n*n || len(s.Sums) != n*n {
		return out, fmt.Errorf("the arrays of the league do not fit each other: born %d, games %d, sums %d, chances %d and %d",
			len(s.Born), len(s.Games), len(s.Sums), len(s.Mix[0]), len(s.Mix[1]))
	}
	p := newPayoff(n - 1)
	p.games, p.sums = s.Games, s.Sums
	for side := range 2 {
		for number := range n {
			p.born[side][number] = int64(s.Born[side*n+number])
		}
		for _, number := range p.policies(side) {
			out.Sides[side] = append(out.Sides[side], Entrant{p.born[side][number], s.Mix[side][number] - s.Mix[side][number-1]})
		}
	}
	out.Payoff = p.matrix()
	for _, a := range p.policies(0) {
		var row []float64
		for _, b := range p.policies(1) {
			row = append(row, p.games[p.pair(a, b)])
		}
		out.Games = append(out.Games, row)
	}
	return out, nil
}
