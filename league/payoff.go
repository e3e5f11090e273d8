package league

import (
	"slices"

	"github.com/weft-rl/weft/rl"
)

// payoff holds what is known of policies: when they were frozen, and how games between them ended,
// by pair. Games of a learner are kept until it is frozen.
type payoff struct {
	numbers           int        // policies of a side, the learner included
	born              [2][]int64 // the how manyth of its side a number is, from 1; 0 if it is free
	games, sums, wins []float64  // games played, and what the first side earned and won in them
}

func newPayoff(capacity int) payoff {
	n := capacity + 1
	p := payoff{numbers: n, games: make([]float64, n*n), sums: make([]float64, n*n), wins: make([]float64, n*n)}
	p.born[0], p.born[1] = make([]int64, n), make([]int64, n)
	return p
}

// pairs returns the number of casts.
func (p *payoff) pairs() int { return p.numbers * p.numbers }

// pair returns the place of a cast.
func (p *payoff) pair(first, second int) int { return first*p.numbers + second }

// Record adds the games that are over: cast is [env, time, 2] int32, result what the first side
// earned, [env, time] float32, and over where it is final, [env, time] bool. A win is a result
// above 0, and half of one is a draw.
//
//weft:op op writes whole
func (l *League) Record(cast, result, over rl.Tensor) {
	c, r := rl.Read[int32](cast), rl.Read[float32](result)
	for i, end := range rl.Read[bool](over) {
		if !end {
			continue
		}
		at := l.pair(int(c[2*i]), int(c[2*i+1]))
		l.games[at]++
		l.sums[at] += float64(r[i])
		switch {
		case r[i] > 0:
			l.wins[at]++
		case r[i] == 0:
			l.wins[at] += .5
		}
	}
}

// enter notes that a number of a side is another policy now, and that the side's learner begins
// anew.
func (p *payoff) enter(side, number int) {
	p.born[side][number] = slices.Max(p.born[side]) + 1
	for other := range p.numbers {
		for _, of := range []int{number, 0} {
			at := p.pair(of, other)
			if side == 1 {
				at = p.pair(other, of)
			}
			p.games[at], p.sums[at], p.wins[at] = 0, 0, 0
		}
	}
}

// policies returns the frozen policies of a side, the oldest first.
func (p *payoff) policies(side int) (numbers []int) {
	for number, born := range p.born[side] {
		if born > 0 {
			numbers = append(numbers, number)
		}
	}
	slices.SortFunc(numbers, func(a, b int) int { return int(p.born[side][a] - p.born[side][b]) })
	return numbers
}

// matrix returns the mean results of the first side's policies, by row, against the second's; 0
// where no game was played.
func (p *payoff) matrix() [][]float64 {
	var out [][]float64
	for _, a := range p.policies(0) {
		var row []float64
		for _, b := range p.policies(1) {
			at := p.pair(a, b)
			row = append(row, p.sums[at]/max(1, p.games[at]))
		}
		out = append(out, row)
	}
	return out
}

func (p *payoff) save(s *rl.State) {
	rl.PutSlice(s, "born", slices.Concat(p.born[0], p.born[1]))
	rl.PutSlice(s, "games", p.games)
	rl.PutSlice(s, "sums", p.sums)
	rl.PutSlice(s, "wins", p.wins)
}

func (p *payoff) load(s *rl.State) error {
	born := rl.GetSliceN[int64](s, "born", 2*p.numbers)
	games, sums := rl.GetSliceN[float64](s, "games", p.pairs()), rl.GetSliceN[float64](s, "sums", p.pairs())
	wins := rl.GetSliceN[float64](s, "wins", p.pairs())
	if s.Err() != nil {
		return s.Err()
	}
	p.born = [2][]int64{born[:p.numbers], born[p.numbers:]}
	p.games, p.sums, p.wins = games, sums, wins
	return nil
}
