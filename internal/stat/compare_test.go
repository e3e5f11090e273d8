package stat

import (
	"math"
	"slices"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

// TestMedian takes the middle, or the mean of the middle two.
func TestMedian(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
	}{{nil, math.NaN()}, {[]float64{7}, 7}, {[]float64{9, 1, 2}, 2}, {[]float64{9, 1, 2, 4}, 3}, {[]float64{1, math.NaN()}, math.NaN()}} {
		if got := Median(c.xs); !same(got, c.want) {
			t.Errorf("Median(%v) = %v, want %v", c.xs, got, c.want)
		}
	}
}

// TestOptimalityGap: gamma less the mean of the scores cut off at gamma.
func TestOptimalityGap(t *testing.T) {
	for _, c := range []struct {
		xs        []float64
		bar, want float64
	}{
		{[]float64{.5, 1, 2, 0}, 1, .375}, // 1 - (.5 + 1 + 1 + 0) / 4
		{[]float64{500, 475, 480}, 475, 0},
		{[]float64{-200, -100}, -100, 50},
	} {
		if got := OptimalityGap(c.xs, c.bar); !near(got, c.want) {
			t.Errorf("OptimalityGap(%v, %v) = %v, want %v", c.xs, c.bar, got, c.want)
		}
	}
}

func TestProfile(t *testing.T) {
	got := Profile([]float64{0, 1, 1, 4}, []float64{-1, 0, .5, 1, 4})
	if want := []float64{1, .75, .75, .25, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestImprovement has two published examples of the Mann-Whitney statistic: the ages of diagnosis
// in the documentation of scipy.stats.mannwhitneyu, where U is 17 of 20, and Aesop's race of six
// tortoises and six hares in Wikipedia's article, where it is 11 of 36; and ties by hand.
func TestImprovement(t *testing.T) {
	for _, c := range []struct {
		name string
		x, y Scores
		want float64
	}{
		{"diagnosis", Scores{{19, 22, 16, 29, 24}}, Scores{{20, 11, 17, 12}}, 17. / 20},
		{"tortoises", Scores{{12, 6, 5, 4, 3, 2}}, Scores{{11, 10, 9, 8, 7, 1}}, 11. / 36},
		{"ties", Scores{{1, 2}}, Scores{{1, 2}}, .5},
		{"half a tie", Scores{{1, 3}}, Scores{{1, 0}}, 3.5 / 4},
		{"two tasks", Scores{{2, 2}, {1}}, Scores{{1}, {2, 3, 4}}, .5},
	} {
		if got := Improvement(c.x, c.y); !near(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if back := Improvement(c.y, c.x); !near(back, 1-c.want) {
			t.Errorf("%s: %v the other way round, want %v", c.name, back, 1-c.want)
		}
	}
}

// TestCompare has two groups on two tasks, computed by hand.
func TestCompare(t *testing.T) {
	bar := 1.0
	groups := []Group{
		{"a", Scores{{.2, .4, .6, .8}, {1, 1, 1, 2}}},
		{"b", Scores{{0, 0, 0, .8}, {1, 1, 1, 1}}},
	}
	c := Compare(groups, &bar, Usual)
	for _, x := range []struct {
		name string
		got  Estimate
		want float64
	}{
		{"IQM of a", c.IQM[0], (.6 + .8 + 1 + 1) / 4}, // of .2 .4 [.6 .8 1 1] 1 2
		{"IQM of b", c.IQM[1], (0 + .8 + 1 + 1) / 4},
		{"mean of a", c.Mean[0], (.5 + 1.25) / 2},
		{"median of b", c.Median[1], (.2 + 1) / 2},
		{"gap of a", c.Gap[0], 1 - (.2+.4+.6+.8+4)/8},
		{"gap of b", c.Gap[1], 1 - (.8+4)/8},
		{"a over b", c.Pairs[0].Improvement, ((12+.5)/16. + (16*.5+4*.5)/16.) / 2},
	} {
		if !near(x.got.Value, x.want) {
			t.Errorf("%s is %v, want %v", x.name, x.got.Value, x.want)
		}
		if !(x.got.Low <= x.want && x.want <= x.got.High && x.got.Low < x.got.High) {
			t.Errorf("%s: [%v, %v] is no interval around it", x.name, x.got.Low, x.got.High)
		}
	}
	if len(c.Pairs) != 1 || len(c.Profiles) != 2 || len(c.Thresholds) != 101 || c.Thresholds[0] != 0 || c.Thresholds[100] != 2 {
		t.Errorf("%d pairs, %d profiles at %v", len(c.Pairs), len(c.Profiles), c.Thresholds)
	}
	if p := c.Profiles[1][0]; p.Value != 5./8 || p.Low >= p.Value || p.High <= p.Value {
		t.Errorf("the part of b above 0 is %v", p)
	}
	if c := Compare(groups, nil, Usual); c.Gap != nil {
		t.Error("a gap without a bar")
	}
}

// TestStratified: runs are drawn within tasks, so scores that differ between tasks alone have an
// interval without extent. Drawn from all, they would have one.
func TestStratified(t *testing.T) {
	tasks := Scores{{1, 1, 1}, {5, 5, 5}}
	mean := func(s []Scores) []float64 { return []float64{Mean(s[0].Pool())} }
	if e := Usual.Estimate(mean, tasks)[0]; e != (Estimate{3, 3, 3}) {
		t.Errorf("%v", e)
	}
	if e := Usual.Estimate(mean, Scores{tasks.Pool()})[0]; e.Low >= 3 || e.High <= 3 {
		t.Errorf("%v of one task", e)
	}
}

// TestSeed: an interval is a function of the seed.
func TestSeed(t *testing.T) {
	xs := []float64{1, 4, 9, 16, 25, 36}
	b := Bootstrap{Resamples: 200, Level: .9, Seed: 7}
	low, high := b.Interval(xs, Mean)
	if l, h := b.Interval(xs, Mean); l != low || h != high {
		t.Errorf("[%v, %v], and then [%v, %v]", low, high, l, h)
	}
	b.Seed = 8
	if l, h := b.Interval(xs, Mean); l == low && h == high {
		t.Errorf("[%v, %v] with another seed", l, h)
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		e    Estimate
		want Verdict
	}{
		{Estimate{490, 475, 500}, Reached}, {Estimate{490, 474, 500}, Undecided},
		{Estimate{400, 300, 474}, Missed}, {Estimate{470, 300, 475}, Undecided},
		{Estimate{math.NaN(), math.NaN(), math.NaN()}, Undecided},
	} {
		if got := Judge(c.e, 475); got != c.want {
			t.Errorf("%v has %s 475, want %s", c.e, got, c.want)
		}
	}
}

func TestScale(t *testing.T) {
	got := Scores{{0, 250, 500}, {-500, 0}, {3}}.Scale([]Range{{0, 500}, {-500, -100}, {3, 3}})
	for i, want := range [][]float64{{0, .5, 1}, {0, 1.25}, {1}} {
		if !slices.Equal(got[i], want) {
			t.Errorf("task %d: %v, want %v", i, got[i], want)
		}
	}
}
