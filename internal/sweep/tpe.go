package sweep

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// TPE is the tree-structured Parzen estimator of Bergstra et al. (NeurIPS 2011), each setting by
// itself: it splits the trials into good ones and others, estimates a density of each, draws
// candidates from that of the good ones, and takes the one with the largest ratio of the two.
type TPE []Dim

const (
	startup    = 10 // trials that are drawn at random before it learns
	candidates = 24
	mostGood   = 25
)

// Learns reports true.
func (TPE) Learns() bool { return true }

// Propose returns a point that the trials of the history make promising.
func (e TPE) Propose(seed uint64, i int, history []Seen) (out []string) {
	if len(history) < startup {
		return Random(e).Propose(seed, i, nil)
	}
	good, rest := divide(history)
	from := rng(seed, i)
	for k, d := range e {
		out = append(out, d.promising(from, places(d, k, good), places(d, k, rest)))
	}
	return out
}

// divide returns the best tenth of the trials, at least one, and the others. Those that got further
// come first, then those with the larger score, then the earlier ones.
func divide(history []Seen) (good, rest []Seen) {
	all := slices.Clone(history)
	slices.SortStableFunc(all, func(a, b Seen) int {
		return cmp.Or(cmp.Compare(b.Reached, a.Reached), cmp.Compare(b.Score, a.Score))
	})
	n := min(mostGood, (len(all)+9)/10)
	return all[:n], all[n:]
}

// places returns where trials have the setting.
func places(d Dim, k int, trials []Seen) (out []float64) {
	for _, t := range trials {
		out = append(out, d.Place(t.Point[k]))
	}
	return out
}

// promising returns the best candidate of a setting.
func (d Dim) promising(from *rand.Rand, good, rest []float64) string {
	var l, g density
	if n := len(d.Choices); n > 0 {
		l, g = newCounts(n, good), newCounts(n, rest)
	} else {
		l, g = newParzen(good), newParzen(rest)
	}
	best, at := math.Inf(-1), .5
	for range candidates {
		u := l.draw(from)
		if ratio := math.Log(l.at(u)) - math.Log(g.at(u)); ratio > best {
			best, at = ratio, u
		}
	}
	return d.At(at)
}

// density is an estimate over places from 0 to 1.
type density interface {
	at(u float64) float64
	draw(from *rand.Rand) float64
}

// counts is the density of a choice: how often each value was seen, and each of them once more.
type counts []float64

func newCounts(n int, seen []float64) counts {
	c := make(counts, n)
	for i := range c {
		c[i] = 1 / float64(len(seen)+n)
	}
	for _, u := range seen {
		c[c.index(u)] += 1 / float64(len(seen)+n)
	}
	return c
}

func (c counts) index(u float64) int { return min(len(c)-1, int(u*float64(len(c)))) }

func (c counts) at(u float64) float64 { return c[c.index(u)] }

func (c counts) draw(from *rand.Rand) float64 {
	x := from.Float64()
	for i, p := range c {
		if x -= p; x < 0 || i == len(c)-1 {
			return (float64(i) + .5) / float64(len(c))
		}
	}
	return .5
}

// parzen is the density of numbers: a wide normal distribution around the middle, and one around
// each number seen, as wide as the gap to its farther neighbour; all cut off at 0 and 1.
type parzen []bump

type bump struct{ mean, width, mass float64 } // mass between 0 and 1

func newParzen(seen []float64) (p parzen) {
	p = parzen{newBump(.5, 1)}
	all := slices.Sorted(slices.Values(append(slices.Clone(seen), .5)))
	narrowest := 1 / float64(min(100, len(all)+1))
	for _, u := range seen {
		i, _ := slices.BinarySearch(all, u)
		gap := 0.
		if i > 0 {
			gap = u - all[i-1]
		}
		if i+1 < len(all) {
			gap = max(gap, all[i+1]-u)
		}
		p = append(p, newBump(u, min(max(gap, narrowest), 1)))
	}
	return p
}

func newBump(mean, width float64) bump {
	return bump{mean, width, below((1-mean)/width) - below(-mean/width)}
}

// below returns the standard normal distribution's mass below z.
func below(z float64) float64 { return .5 * math.Erfc(-z/math.Sqrt2) }

func (p parzen) at(u float64) (sum float64) {
	for _, b := range p {
		z := (u - b.mean) / b.width
		sum += math.Exp(-z*z/2) / (b.width * math.Sqrt(2*math.Pi) * b.mass)
	}
	return sum / float64(len(p))
}

// draw returns a place by rejection; each bump has a good part of its mass inside.
func (p parzen) draw(from *rand.Rand) float64 {
	b := p[from.IntN(len(p))]
	for range 1000 {
		if u := b.mean + b.width*from.NormFloat64(); u >= 0 && u <= 1 {
			return u
		}
	}
	return b.mean
}
