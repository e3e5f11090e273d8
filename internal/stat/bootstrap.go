package stat

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Estimate is a statistic with its confidence interval.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Bootstrap says how intervals are estimated. They are functions of it: the same
// seed gives the same interval.
type Bootstrap struct {
	Resamples int     // samples drawn; the more, the less the ends of intervals depend on the seed
	Level     float64 // level of confidence, in (0, 1)
	Seed      uint64
}

// Usual draws so many samples that the ends of a 95 % interval settle to about a
// hundredth of its width.
var Usual = Bootstrap{Resamples: 10_000, Level: .95, Seed: 1}

// Estimate returns the statistics that compute makes of groups of scores, each
// with the percentile interval of the stratified bootstrap: in every group and
// task, as many runs as there are are drawn from them with replacement. compute
// returns the same number of statistics each time, and keeps nothing that it is
// given. An interval is NaN where a statistic of a sample is NaN.
func (b Bootstrap) Estimate(compute func(groups []Scores) []float64, groups ...Scores) []Estimate {
	values := compute(groups)
	drawn := make([][]float64, len(values)) // [statistic][sample]
	random := rand.New(rand.NewPCG(b.Seed, 2))
	sample := shaped(groups)
	for range b.Resamples {
		draw(random, groups, sample)
		for i, x := range compute(sample) {
			drawn[i] = append(drawn[i], x)
		}
	}
	out := make([]Estimate, len(values))
	for i, x := range values {
		low, high := b.middle(drawn[i])
		out[i] = Estimate{x, low, high}
	}
	return out
}

// middle returns the ends of the middle part of xs, which it sorts.
func (b Bootstrap) middle(xs []float64) (low, high float64) {
	slices.Sort(xs)
	if len(xs) == 0 || math.IsNaN(xs[0]) || !(b.Level > 0 && b.Level < 1) { // NaN sorts first
		return math.NaN(), math.NaN()
	}
	tail := (1 - b.Level) / 2
	return quantile(xs, tail), quantile(xs, 1-tail)
}

// shaped returns scores of the form of groups, without their values.
func shaped(groups []Scores) []Scores {
	out := make([]Scores, len(groups))
	for i, g := range groups {
		out[i] = make(Scores, len(g))
		for task, runs := range g {
			out[i][task] = make([]float64, len(runs))
		}
	}
	return out
}

// draw fills sample with runs of groups, drawn with replacement in every task.
func draw(random *rand.Rand, groups, sample []Scores) {
	for i, g := range groups {
		for task, runs := range g {
			for j := range runs {
				sample[i][task][j] = runs[random.IntN(len(runs))]
			}
		}
	}
}

// Interval returns the interval of a statistic of the runs of one task. It is NaN
// for no values or a level outside (0, 1). compute keeps nothing that it is given.
func (b Bootstrap) Interval(xs []float64, compute func([]float64) float64) (low, high float64) {
	if len(xs) == 0 {
		return math.NaN(), math.NaN()
	}
	e := b.Estimate(func(g []Scores) []float64 { return []float64{compute(g[0][0])} }, Scores{xs})[0]
	return e.Low, e.High
}
