package sweep

import (
	"math/rand/v2"
)

// Seen is a settled trial as a search sees it.
type Seen struct {
	Point   []string
	Score   float64 // the larger the better; -Inf is none
	Reached int     // rungs that it reached; -1 if it failed
}

// Search proposes points. What it proposes depends on its arguments alone.
type Search interface {
	// Propose returns the point of trial i.
	Propose(seed uint64, i int, history []Seen) []string
	// Learns reports whether proposals depend on the history.
	Learns() bool
}

// rng returns the random numbers of a trial.
func rng(seed uint64, i int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(i))) }

// Random draws every value of every trial by itself.
type Random []Dim

// Propose returns a point without a look at others.
func (r Random) Propose(seed uint64, i int, _ []Seen) (out []string) {
	from := rng(seed, i)
	for _, d := range r {
		out = append(out, d.At(from.Float64()))
	}
	return out
}

// Learns reports false.
func (Random) Learns() bool { return false }

// Grid goes through all combinations of choices, the last setting fastest.
type Grid []Dim

// Size returns how many combinations there are.
func (g Grid) Size() int {
	n := 1
	for _, d := range g {
		n *= len(d.Choices)
	}
	return n
}

// Propose returns the combination of that number.
func (g Grid) Propose(_ uint64, i int, _ []Seen) []string {
	out := make([]string, len(g))
	for k := len(g) - 1; k >= 0; k-- {
		n := len(g[k].Choices)
		out[k], i = g[k].Choices[i%n], i/n
	}
	return out
}

// Learns reports false.
func (Grid) Learns() bool { return false }
