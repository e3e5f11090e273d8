package study

import (
	"math"
	"slices"

	"github.com/weft-rl/weft/internal/stat"
)

// Band is the course of a metric over several runs: the interquartile mean at some places of the
// axis, with its interval.
type Band struct{ X, Y, Low, High []float64 }

// Join returns the band of curves, given by their places on the axis and their values, at so many
// places, as far as all curves go. Empty curves are left out.
func Join(xs, ys [][]float64, places int, b stat.Bootstrap) (out Band) {
	first, last := math.Inf(-1), math.Inf(1)
	for _, x := range xs {
		if len(x) > 0 {
			first, last = max(first, x[0]), min(last, x[len(x)-1])
		}
	}
	if !(first <= last) || math.IsInf(last, 1) {
		return out
	}
	grid := gridOf(xs, first, last, places)
	var rows [][]float64
	for i := range xs {
		if len(xs[i]) > 0 {
			rows = append(rows, at(xs[i], ys[i], grid))
		}
	}
	for i, g := range grid {
		var values []float64
		for _, row := range rows {
			if !math.IsNaN(row[i]) {
				values = append(values, row[i])
			}
		}
		if len(values) == 0 {
			continue
		}
		low, high := b.Interval(values, stat.InterquartileMean)
		out.X, out.Y = append(out.X, g), append(out.Y, stat.InterquartileMean(slices.Clone(values)))
		out.Low, out.High = append(out.Low, low), append(out.High, high)
	}
	return out
}

// gridOf returns places from first to last: those of the curves, where these are few and all the
// same, as evaluations are, or else as many as asked for.
func gridOf(xs [][]float64, first, last float64, places int) []float64 {
	xs = slices.DeleteFunc(slices.Clone(xs), func(x []float64) bool { return len(x) == 0 })
	same := !slices.ContainsFunc(xs, func(x []float64) bool { return !slices.Equal(x, xs[0]) })
	if same && len(xs[0]) <= places {
		return xs[0]
	}
	grid := make([]float64, places)
	for i := range grid {
		grid[i] = first + (last-first)*float64(i)/float64(max(1, places-1))
	}
	return grid
}

// at returns the last value at or before each place of a grid.
func at(x, y, grid []float64) []float64 {
	out := make([]float64, len(grid))
	j := 0
	for i, g := range grid {
		for j < len(x) && x[j] <= g {
			j++
		}
		out[i] = math.NaN()
		if j > 0 {
			out[i] = y[j-1]
		}
	}
	return out
}

// Smooth returns the exponential moving average of y, whose weight of the past is alpha, without
// the pull towards its first value that a plain one has.
func Smooth(y []float64, alpha float64) []float64 {
	if alpha <= 0 {
		return y
	}
	out := make([]float64, len(y))
	sum, weight := 0., 0.
	for i, v := range y {
		sum, weight = alpha*sum+(1-alpha)*v, alpha*weight+(1-alpha)
		out[i] = sum / weight
	}
	return out
}
