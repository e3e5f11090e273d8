package population

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/weft-rl/weft/internal/sweep"
)

// rng returns the random numbers of the decision after a generation; -1 is the beginning.
func (p Plan) rng(generation int) *rand.Rand {
	return rand.New(rand.NewPCG(p.Seed, uint64(generation+1)))
}

// first returns the settings that the members begin with. The values of each setting are spread
// over its range: every member has a part of the range to itself.
func (p Plan) first() [][]string {
	out, from := make([][]string, p.Members), p.rng(-1)
	for _, d := range p.Mutate {
		for i, place := range from.Perm(p.Members) {
			out[i] = append(out[i], d.At((float64(place)+from.Float64())/float64(p.Members)))
		}
	}
	return out
}

// Ranked returns the members of a generation, the best first, those that failed last; of equal ones
// the first.
func (p Plan) Ranked(g *Generation) []*Member {
	out := slices.Clone(g.Members)
	slices.SortStableFunc(out, func(a, b *Member) int {
		if a.failed() != b.failed() {
			return cmp.Compare(btoi(a.failed()), btoi(b.failed()))
		}
		return cmp.Compare(p.good(b.Value()), p.good(a.Value()))
	})
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// decide decides what follows on generation g, all of whose members are over. After the last one
// nothing is copied, and the best state is named.
func (s *Study) decide(g int) error {
	x := s.Generations[g]
	if x.Decided {
		return nil
	}
	ranked := s.Ranked(x)
	if ranked[0].failed() {
		return fmt.Errorf("all %d members failed in generation %d; member %d: %s", s.Members, g, ranked[0].Number, ranked[0].Error)
	}
	last := g == s.Plan.Generations()-1 || s.ended(x)
	if s.Select == Tournament {
		x.Board = s.board(g, ranked)
	}
	if !last {
		from := s.rng(g)
		if s.Select == Tournament {
			x.Exploits = s.fromBoard(g, from)
		} else {
			x.Exploits = s.truncate(g, ranked, from)
		}
	}
	if last {
		best, err := s.best(x, ranked)
		if err != nil {
			return err
		}
		s.Best = &best
	}
	x.Decided = true
	return nil
}

// ended reports whether all members of a generation that did not fail are at the end of their runs,
// which may be before the last generation if an iteration has more steps than a generation.
func (s *Study) ended(x *Generation) bool {
	return !slices.ContainsFunc(x.Members, func(m *Member) bool { return !m.failed() && m.Steps < s.Steps })
}

// best returns the best state of the last generation, or of the board.
func (s *Study) best(x *Generation, ranked []*Member) (Place, error) {
	if len(x.Board) > 0 {
		return x.Board[0], nil
	}
	if m := ranked[0]; !math.IsInf(s.good(m.Value()), 0) {
		return Place{len(s.Generations) - 1, m.Number, sweep.Value(m.Value())}, nil
	}
	return Place{}, errors.New("no member has a value of " + s.Metric + " at its end")
}

// truncate has the worst quarter, and all that failed, copy members of the best quarter. A member
// that is as good as the one it would copy goes on as it is.
func (s *Study) truncate(g int, ranked []*Member, from *rand.Rand) (out []Exploit) {
	alive := slices.IndexFunc(ranked, (*Member).failed)
	if alive < 0 {
		alive = len(ranked)
	}
	top := ranked[:min(s.quarter(), alive)]
	bottom := slices.Clone(ranked[max(len(top), min(alive, len(ranked)-s.quarter())):])
	slices.SortFunc(bottom, func(a, b *Member) int { return cmp.Compare(a.Number, b.Number) })
	for _, m := range bottom {
		source := top[from.IntN(len(top))]
		point := s.explore(source.Point, from)
		if m.failed() || s.Better(source.Value(), m.Value()) {
			out = append(out, s.exploit(m, Place{g, source.Number, sweep.Value(source.Value())}, point))
		}
	}
	return out
}

// board returns the best states after generation g: half as many as there are members.
func (s *Study) board(g int, ranked []*Member) (out []Place) {
	if g > 0 {
		out = slices.Clone(s.Generations[g-1].Board)
	}
	for _, m := range ranked {
		if !m.failed() && !math.IsInf(s.good(m.Value()), 0) {
			out = append(out, Place{g, m.Number, sweep.Value(m.Value())})
		}
	}
	slices.SortStableFunc(out, func(a, b Place) int { return cmp.Compare(s.good(float64(b.Score)), s.good(float64(a.Score))) })
	return out[:min(len(out), max(1, s.Members/2))]
}

// fromBoard has every member that is not on the board copy from it: the better of two entries drawn
// at random.
func (s *Study) fromBoard(g int, from *rand.Rand) (out []Exploit) {
	x := s.Generations[g]
	for _, m := range x.Members {
		if len(x.Board) == 0 || slices.ContainsFunc(x.Board, func(p Place) bool { return p.Generation == g && p.Member == m.Number }) {
			continue
		}
		entry := x.Board[min(from.IntN(len(x.Board)), from.IntN(len(x.Board)))]
		point := s.explore(s.At(entry).Point, from)
		if m.failed() || s.Better(float64(entry.Score), m.Value()) {
			out = append(out, s.exploit(m, entry, point))
		}
	}
	return out
}

// At returns the member that had a state.
func (s *Study) At(p Place) *Member { return s.Generations[p.Generation].Members[p.Member] }

func (s *Study) exploit(m *Member, from Place, after []string) Exploit {
	source := s.At(from)
	return Exploit{
		Member: m.Number, Score: sweep.Value(m.Value()), From: from, Steps: source.Steps, Error: m.Error,
		Before: source.Point, After: after,
	}
}

// Chances and sizes of changes to a setting, those of Jaderberg et al.
const (
	resample = .25
	down, up = .8, 1.2
)

// explore changes settings: each is drawn anew, or else moved.
func (p Plan) explore(point []string, from *rand.Rand) []string {
	out := make([]string, len(point))
	for i, d := range p.Mutate {
		anew, to, rises := from.Float64() < resample, from.Float64(), from.IntN(2) == 1
		if anew {
			out[i] = d.At(to)
		} else {
			out[i] = move(d, point[i], rises)
		}
	}
	return out
}

// move returns a value near another, within the range. Numbers on a scale of logarithms are
// multiplied by 0.8 or 1.2; others move by a fifth of the range; a choice becomes its neighbour.
func move(d sweep.Dim, value string, rises bool) string {
	if n := len(d.Choices); n > 0 {
		i := slices.Index(d.Choices, value)
		if rises {
			return d.Choices[min(i+1, n-1)]
		}
		return d.Choices[max(i-1, 0)]
	}
	x := d.Number(value)
	next := x + (d.Hi-d.Lo)*(1-down)
	switch {
	case d.Log && rises:
		next = x * up
	case d.Log:
		next = x * down
	case !rises:
		next = x - (d.Hi-d.Lo)*(1-down)
	}
	if d.Whole && math.Round(next) == x { // a step of one at least
		next = x + map[bool]float64{true: 1, false: -1}[rises]
	}
	return d.Text(next)
}

// Ancestors returns the member that has the best state's ancestor, by generation; -1 in a
// generation that a copy from the board left out. It returns nil if there is no best state yet.
func (s *Study) Ancestors() []int {
	if s.Best == nil {
		return nil
	}
	at := *s.Best
	out := slices.Repeat([]int{-1}, at.Generation+1)
	for {
		out[at.Generation] = at.Member
		if at.Generation == 0 {
			return out
		}
		at.Generation--
		for _, e := range s.Generations[at.Generation].Exploits {
			if e.Member == at.Member {
				at = e.From
				break
			}
		}
	}
}
