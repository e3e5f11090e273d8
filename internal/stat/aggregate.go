package stat

import (
	"math"
	"slices"
)

// Mean returns the arithmetic mean, NaN of nothing.
func Mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// Median returns the middle value, the mean of the two middle values of an even
// number, and NaN of nothing.
func Median(xs []float64) float64 {
	sorted := slices.Sorted(slices.Values(xs))
	if len(sorted) == 0 || math.IsNaN(sorted[0]) { // NaN sorts first
		return math.NaN()
	}
	return quantile(sorted, .5)
}

// InterquartileMean returns the mean of xs without the lowest and the highest
// quarter, NaN of nothing. A quarter that is not whole is rounded down, so that
// of three values or fewer none is left out. It resists outlying seeds as the
// median does, and uses more of the data.
func InterquartileMean(xs []float64) float64 {
	sorted := slices.Sorted(slices.Values(xs))
	if len(sorted) == 0 || math.IsNaN(sorted[0]) { // NaN sorts first
		return math.NaN()
	}
	cut := len(sorted) / 4
	return Mean(sorted[cut : len(sorted)-cut])
}

// OptimalityGap returns by how much xs miss bar on average; a value above bar
// counts as bar. Lower is better, and 0 is reached by values that all meet bar.
func OptimalityGap(xs []float64, bar float64) float64 {
	missed := make([]float64, len(xs))
	for i, x := range xs {
		missed[i] = bar - min(x, bar)
	}
	return Mean(missed)
}

// Profile returns, for every threshold, the part of xs that lies above it.
func Profile(xs, thresholds []float64) []float64 {
	out := make([]float64, len(thresholds))
	for i, t := range thresholds {
		above := 0
		for _, x := range xs {
			if x > t {
				above++
			}
		}
		out[i] = float64(above) / float64(len(xs))
	}
	return out
}

// Improvement returns the probability that a run of x scores more than a run of
// y on the same task, averaged over tasks: the Mann-Whitney statistic U of each
// task, divided by its number of pairs. Equal scores count half. Both have the
// same tasks.
func Improvement(x, y Scores) float64 {
	tasks := make([]float64, len(x))
	for i := range x {
		tasks[i] = mannWhitney(x[i], y[i]) / float64(len(x[i])*len(y[i]))
	}
	return Mean(tasks)
}

// mannWhitney counts the pairs of which x's is larger; equal ones count half.
func mannWhitney(x, y []float64) (u float64) {
	x, y = slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))
	below, notAbove := 0, 0 // how many of y are below x's value, and not above it
	for _, v := range x {
		for below < len(y) && y[below] < v {
			below++
		}
		for notAbove < len(y) && y[notAbove] <= v {
			notAbove++
		}
		u += float64(below+notAbove) / 2
	}
	return u
}

// quantile interpolates linearly between the two values nearest to part q of
// the way through sorted.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-1)
	a, b := sorted[i], sorted[min(i+1, len(sorted)-1)]
	if a == b { // also keeps equal infinities from becoming NaN
		return a
	}
	return a + float64((at-float64(i))*(b-a))
}
