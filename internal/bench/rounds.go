package bench

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Result holds the measurements of one contender in one case.
type Result struct {
	Label
	Seconds []float64 // seconds of one call, by round
	CPU     []float64 // processor seconds of one call, by round; empty if unknown
	Err     error
	once    float64 // seconds of the preparing call
}

// Median returns the median over rounds of one call's time.
func (r Result) Median() float64 {
	s := slices.Sorted(slices.Values(r.Seconds))
	if len(s) == 0 {
		return 0
	}
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// fastest returns the time of one call in the fastest round.
func fastest(r Result) float64 { return slices.Min(r.Seconds) }

// Spread returns half of the distance from the fastest to the slowest round, as a
// part of the median.
func (r Result) Spread() float64 {
	if len(r.Seconds) < 2 {
		return 0
	}
	return (slices.Max(r.Seconds) - slices.Min(r.Seconds)) / 2 / r.Median()
}

// measure has contenders take turns at a case, round by round, every second round in the opposite
// order, so that other load on the machine slows all of them alike.
func measure(ctx context.Context, c Case, contenders []Contender, rounds int, turn time.Duration) []Result {
	results, racing := prepare(ctx, c, contenders, time.Duration(rounds)*turn*patience)
	for round := range rounds {
		for i := range contenders {
			if round%2 == 1 {
				i = len(contenders) - 1 - i
			}
			if !racing[i] {
				continue
			}
			r := &results[i]
			s, err := contenders[i].Measure(ctx, turn)
			if err != nil {
				racing[i] = false
				switch late := errors.Is(err, errLate); {
				case !late:
					r.Err = err
				case len(r.Seconds) == 0:
					r.Seconds = []float64{r.once}
				}
				continue
			}
			r.Seconds = append(r.Seconds, s.perCall())
			if s.CPU > 0 {
				r.CPU = append(r.CPU, s.CPU/float64(s.Calls))
			}
		}
	}
	for _, x := range contenders {
		x.Release()
	}
	return slices.DeleteFunc(results, func(r Result) bool { return errors.Is(r.Err, errNoPart) })
}

// patience is how many times its share of the time a contender may take for a case. One whose
// single run takes longer is not run again.
const patience = 2

// prepare prepares a case with all contenders, and returns those that take part.
func prepare(ctx context.Context, c Case, contenders []Contender, limit time.Duration) ([]Result, []bool) {
	results, racing := make([]Result, len(contenders)), make([]bool, len(contenders))
	for i, x := range contenders {
		once, err := x.Prepare(ctx, c)
		racing[i] = err == nil && once.Seconds <= limit.Seconds()
		results[i] = Result{Label: x.Label(), Err: err}
		if err != nil {
			continue
		}
		if results[i].once = once.perCall(); !racing[i] {
			results[i].Seconds = []float64{results[i].once}
		}
	}
	return results, racing
}
