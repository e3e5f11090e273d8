package study_test

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-rl/weft/internal/stat"
	"github.com/weft-rl/weft/internal/study"
)

// TestJoin: curves are joined where all of them are, at the last value of each.
func TestJoin(t *testing.T) {
	xs := [][]float64{{0, 10, 20}, {5, 15, 25}, {}}
	ys := [][]float64{{1, 2, 3}, {5, 6, 7}, {}}
	b := study.Join(xs, ys, 4, stat.Bootstrap{Resamples: 200, Level: .95, Seed: 1})
	if !slices.Equal(b.X, []float64{5, 10, 15, 20}) || !slices.Equal(b.Y, []float64{3, 3.5, 4, 4.5}) {
		t.Errorf("%+v", b)
	}
	if b.Low[0] != 1 || b.High[0] != 5 {
		t.Errorf("from %v to %v", b.Low[0], b.High[0])
	}
	same := study.Join([][]float64{{1, 4}, {1, 4}}, [][]float64{{0, 2}, {1, 3}}, 9, stat.Usual)
	if !slices.Equal(same.X, []float64{1, 4}) || !slices.Equal(same.Y, []float64{.5, 2.5}) {
		t.Errorf("%+v", same)
	}
	if apart := study.Join([][]float64{{0, 1}, {2, 3}}, [][]float64{{0, 1}, {2, 3}}, 4, stat.Usual); apart.X != nil {
		t.Errorf("%+v", apart)
	}
}

// TestSmooth: the average has no pull towards its beginning, and of a constant is the constant.
func TestSmooth(t *testing.T) {
	if got := study.Smooth([]float64{2, 2, 2}, .9); !slices.EqualFunc(got, []float64{2, 2, 2}, near) {
		t.Errorf("%v", got)
	}
	if got := study.Smooth([]float64{0, 1}, .5); !near(got[1], 1/1.5) {
		t.Errorf("%v", got)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
