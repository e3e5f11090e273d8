package chart

import (
	"math"
	"strconv"

	"github.com/weft-rl/weft/internal/metrics"
)

// axis maps values to pixels.
type axis struct {
	low, high float64 // values at the ends
	from, to  float64 // pixels at the ends
	step      float64 // between ticks
}

// newAxis returns an axis that holds all values between two pixels, with ends
// that are ticks unless they are given.
func newAxis(values []float64, low, high *float64, from, to float64) axis {
	a := axis{from: from, to: to, low: math.Inf(1), high: math.Inf(-1)}
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			a.low, a.high = min(a.low, v), max(a.high, v)
		}
	}
	if a.low > a.high { // no values
		a.low, a.high = 0, 1
	}
	if a.low == a.high {
		d := max(math.Abs(a.low)*.05, .5)
		a.low, a.high = a.low-d, a.high+d
	}
	if low != nil {
		a.low = *low
	}
	if high != nil {
		a.high = *high
	}
	a.step = nice((a.high - a.low) / wanted(math.Abs(to-from)))
	if low == nil {
		a.low = math.Floor(a.low/a.step+1e-9) * a.step
	}
	if high == nil {
		a.high = math.Ceil(a.high/a.step-1e-9) * a.step
	}
	return a
}

// wanted returns how many ticks an axis of so many pixels has room for.
func wanted(pixels float64) float64 { return min(max(pixels/50, 2), 6) }

// nice returns the smallest of 1, 2, 2.5 and 5 times a power of ten that is at least x.
func nice(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*power >= x*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// at returns the pixel of a value; of one outside, the nearest end's.
func (a axis) at(v float64) float64 {
	part := min(max((v-a.low)/(a.high-a.low), 0), 1)
	return a.from + part*(a.to-a.from)
}

// ticks returns the values of ticks.
func (a axis) ticks() (out []float64) {
	first := math.Ceil(a.low/a.step - 1e-9)
	for i := first; i*a.step <= a.high+a.step*1e-9; i++ {
		out = append(out, i*a.step)
	}
	return out
}

// label writes the value of a tick, with the digits that tell it from the next.
func (a axis) label(v float64) string {
	if math.Abs(v) < a.step*1e-6 {
		return "0"
	}
	if max(math.Abs(a.low), math.Abs(a.high)) >= 10_000 {
		return metrics.Count(v)
	}
	digits := 0
	for scaled := a.step; digits < 8 && math.Abs(scaled-math.Round(scaled)) > 1e-6*scaled; digits++ {
		scaled *= 10
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}
