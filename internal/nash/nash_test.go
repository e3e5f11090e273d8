package nash_test

import (
	"math"
	"testing"

	"github.com/weft-rl/weft/internal/nash"
	"github.com/weft-rl/weft/rl"
)

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}

func TestSolve(t *testing.T) {
	for _, x := range []struct {
		name     string
		payments [][]float64
		row, col []float64
		value    float64
	}{
		{"one", [][]float64{{-3}}, []float64{1}, []float64{1}, -3},
		{"pennies", [][]float64{{1, -1}, {-1, 1}}, []float64{.5, .5}, []float64{.5, .5}, 0},
		{"stone", [][]float64{{0, -1, 1}, {1, 0, -1}, {-1, 1, 0}}, []float64{1. / 3, 1. / 3, 1. / 3}, []float64{1. / 3, 1. / 3, 1. / 3}, 0},
		{"unequal stakes", [][]float64{{3, -1}, {-2, 4}}, []float64{.6, .4}, []float64{.5, .5}, 1},
		{"dominated", [][]float64{{2, 5}, {1, 9}}, []float64{1, 0}, []float64{1, 0}, 2},
		{"wide", [][]float64{{1, 2, -1}, {0, 3, 4}}, []float64{2. / 3, 1. / 3}, []float64{5. / 6, 0, 1. / 6}, 2. / 3},
	} {
		g := nash.Solve(x.payments)
		near(t, x.name+": rows", g.Row, x.row)
		near(t, x.name+": columns", g.Col, x.col)
		near(t, x.name+": value", []float64{g.Value}, []float64{x.value})
	}
}

// No row and no column does better than the value against an equilibrium, whatever the matrix;
// columns that are alike, which make ties, included.
func TestEquilibrium(t *testing.T) {
	for seed := range 200 {
		k := rl.NewKey(uint64(seed))
		m, n := 1+k.IntN(0, 0, 12), 1+k.IntN(0, 1, 12)
		a := make([][]float64, m)
		for i := range a {
			for j := range n {
				a[i] = append(a[i], math.Round(6*k.Uniform(1+i, j/2))-3)
			}
		}
		g := nash.Solve(a)
		for i := range a {
			pays := 0.
			for j, p := range g.Col {
				pays += p * a[i][j]
			}
			if pays > g.Value+1e-9 {
				t.Errorf("seed %d: row %d earns %v, the value is %v", seed, i, pays, g.Value)
			}
		}
		for j := range n {
			pays := 0.
			for i, p := range g.Row {
				pays += p * a[i][j]
			}
			if pays < g.Value-1e-9 {
				t.Errorf("seed %d: column %d pays %v, the value is %v", seed, j, pays, g.Value)
			}
		}
	}
}
