package stat

import (
	"math"
	"slices"
	"testing"
)

// same compares exactly, NaN with NaN included.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// at returns the usual bootstrap, with a level.
func at(level float64) Bootstrap {
	b := Usual
	b.Level = level
	return b
}

func TestMeans(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		name      string
		xs        []float64
		mean, iqm float64
	}{
		{"none", nil, nan, nan},
		{"one", []float64{3}, 3, 3},
		{"two", []float64{1, 3}, 2, 2},
		{"three", []float64{0, 6, 30}, 12, 12}, // a quarter of three is no whole value
		{"four", []float64{100, 2, 1, 4}, 26.75, 3},
		{"five", []float64{0, 4, 9, 11, 101}, 25, 8},
		{"six", []float64{0, 2, 4, 6, 8, 100}, 20, 5},
		{"seven", []float64{0, 1, 2, 3, 4, 20, 47}, 11, 6},
		{"eight", []float64{-80, 1, 2, 3, 4, 5, 6, 59}, 0, 3.5},
		{"infinite seed", []float64{1, 2, 4, inf}, inf, 3},
		{"NaN seed", []float64{1, nan, 2, 3}, nan, nan},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := slices.Clone(tt.xs)
			if got := Mean(tt.xs); !same(got, tt.mean) {
				t.Errorf("Mean = %v, want %v", got, tt.mean)
			}
			if got := InterquartileMean(tt.xs); !same(got, tt.iqm) {
				t.Errorf("InterquartileMean = %v, want %v", got, tt.iqm)
			}
			if !slices.EqualFunc(tt.xs, before, same) {
				t.Errorf("the values were changed to %v", tt.xs)
			}
		})
	}
}

func TestQuantile(t *testing.T) {
	xs := []float64{0, 10, 20, 40}
	for _, tt := range []struct{ q, want float64 }{{0, 0}, {1, 40}, {0.5, 15}, {0.25, 7.5}, {5.0 / 6, 30}} {
		if got := quantile(xs, tt.q); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("quantile(%v) = %v, want %v", tt.q, got, tt.want)
		}
	}
}

// Of two values 0 and 1 a resample's mean is 0, 1/2 or 1 with probabilities
// 1/4, 1/2 and 1/4. So the 95% interval spans all, the 40% one is the middle.
func TestIntervalByHand(t *testing.T) {
	for _, tt := range []struct{ level, lo, hi float64 }{{0.95, 0, 1}, {0.6, 0, 1}, {0.4, 0.5, 0.5}} {
		if lo, hi := at(tt.level).Interval([]float64{0, 1}, Mean); lo != tt.lo || hi != tt.hi {
			t.Errorf("level %v: [%v, %v], want [%v, %v]", tt.level, lo, hi, tt.lo, tt.hi)
		}
	}
}

// The mean of many resamples is nearly normal: the interval is mean ± 1.96
// standard errors.
func TestIntervalNormal(t *testing.T) {
	xs := make([]float64, 101)
	for i := range xs {
		xs[i] = float64(i) // mean 50, variance (101^2 - 1) / 12 = 850
	}
	lo, hi := at(0.95).Interval(xs, Mean)
	half := 1.96 * math.Sqrt(850.0/101)
	if math.Abs(lo-(50-half)) > 0.2 || math.Abs(hi-(50+half)) > 0.2 {
		t.Errorf("[%v, %v], want about 50 ± %v", lo, hi, half)
	}
	if lo2, hi2 := at(0.95).Interval(xs, Mean); lo != lo2 || hi != hi2 {
		t.Errorf("[%v, %v] the second time", lo2, hi2)
	}
	if lo2, hi2 := at(0.5).Interval(xs, Mean); lo2 <= lo || hi2 >= hi {
		t.Errorf("the 50%% interval [%v, %v] is not inside", lo2, hi2)
	}
}

func TestIntervalEdges(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		name   string
		xs     []float64
		level  float64
		lo, hi float64
	}{
		{"none", nil, 0.95, nan, nan},
		{"one", []float64{3}, 0.95, 3, 3},
		{"level 0", []float64{1, 2}, 0, nan, nan},
		{"level 1", []float64{1, 2}, 1, nan, nan},
		{"level NaN", []float64{1, 2}, nan, nan, nan},
		{"NaN seed", []float64{1, nan}, 0.95, nan, nan},
		{"infinite", []float64{math.Inf(1)}, 0.95, math.Inf(1), math.Inf(1)},
	}
	for _, tt := range tests {
		if lo, hi := at(tt.level).Interval(tt.xs, InterquartileMean); !same(lo, tt.lo) || !same(hi, tt.hi) {
			t.Errorf("%s: [%v, %v], want [%v, %v]", tt.name, lo, hi, tt.lo, tt.hi)
		}
	}
}
