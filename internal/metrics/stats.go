package metrics

import (
	"math"
	"math/rand/v2"
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

// InterquartileMean returns the mean of the middle half of xs in order, NaN of
// nothing. Where a quarter of len(xs) is not whole, the two values on the edge
// count for the part of them that lies inside. (Trimming whole values only, as
// scipy's trim_mean and with it rliable do, gives the same when len(xs) is a
// multiple of four.) It resists outlying seeds as the median does, and uses
// more of the data.
func InterquartileMean(xs []float64) float64 {
	n := float64(len(xs))
	from, to := n/4, n*3/4
	sorted := slices.Sorted(slices.Values(xs))
	if len(sorted) == 0 || math.IsNaN(sorted[0]) { // NaN sorts first
		return math.NaN()
	}
	sum := 0.0
	for i := int(from); i < int(math.Ceil(to)); i++ {
		inside := min(float64(i+1), to) - max(float64(i), from)
		sum += float64(inside * sorted[i])
	}
	return sum / (to - from)
}

// resamples is how many samples Interval draws: enough for the ends of a 95%
// interval to settle to about a hundredth of its width.
const resamples = 10_000

// Interval returns a confidence interval for stat of the values that xs were drawn
// from, by the percentile bootstrap: xs is resampled with replacement, and the
// interval holds the middle part level (such as 0.95) of what stat makes of
// the samples. The random numbers are always the same, so the interval is a
// function of its arguments. It is NaN for no values or a level outside (0, 1).
// stat must not keep the slice it is given.
func Interval(xs []float64, stat func([]float64) float64, level float64) (lo, hi float64) {
	if len(xs) == 0 || !(level > 0 && level < 1) {
		return math.NaN(), math.NaN()
	}
	random := rand.New(rand.NewPCG(1, 2))
	sample := make([]float64, len(xs))
	stats := make([]float64, resamples)
	for i := range stats {
		for j := range sample {
			sample[j] = xs[random.IntN(len(xs))]
		}
		stats[i] = stat(sample)
	}
	slices.Sort(stats)
	if math.IsNaN(stats[0]) { // NaN sorts first
		return math.NaN(), math.NaN()
	}
	tail := (1 - level) / 2
	return quantile(stats, tail), quantile(stats, 1-tail)
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
