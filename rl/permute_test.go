package rl_test

import (
	"testing"

	"github.com/weft-rl/weft/rl"
)

func TestPermutationIsBijection(t *testing.T) {
	sizes := []int{511, 512, 513, 4096, 65535, 65536, 65537, 100003}
	for n := 1; n <= 300; n++ {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		p := rl.NewPermutation(rl.NewKey(uint64(n)), n)
		seen := make([]bool, n)
		for j := range n {
			i := p.At(j)
			if i < 0 || i >= n || seen[i] {
				t.Fatalf("n %d: position %d points to %d, again or outside", n, j, i)
			}
			seen[i] = true
		}
	}
}

// TestPermutationFill: many positions are those asked for one by one.
func TestPermutationFill(t *testing.T) {
	for _, n := range []int{1, 5, 64, 100, 1000, 4096} {
		p := rl.NewPermutation(rl.NewKey(7), n)
		for _, from := range []int{0, 1, n / 2} {
			out := make([]int, n-from)
			p.Fill(out, from)
			for i, x := range out {
				if want := p.At(from + i); x != want {
					t.Fatalf("position %d of %d is %d, want %d", from+i, n, x, want)
				}
			}
		}
		fails(t, func() { p.Fill(make([]int, 2), n-1) }, "outside an order of")
		fails(t, func() { p.Fill(nil, -1) }, "outside an order of")
	}
}

func TestPermutationOutside(t *testing.T) {
	for _, x := range []struct{ n, j int }{{0, 0}, {3, 3}, {3, -1}} {
		fails(t, func() { rl.NewPermutation(rl.NewKey(1), x.n).At(x.j) }, "position", "outside an order")
	}
}

func order(k rl.Key, n int) []int {
	p := rl.NewPermutation(k, n)
	out := make([]int, n)
	for j := range out {
		out[j] = p.At(j)
	}
	return out
}

func TestPermutationFollowsKey(t *testing.T) {
	k := rl.NewKey(1)
	const n = 64
	same := 0
	for i := range uint64(100) {
		a, b := order(k.Fold(i), n), order(k.Fold(i+1), n)
		for j := range a {
			if a[j] == b[j] {
				same++
			}
		}
	}
	// Two random orders agree in one position on average: 100 +- 4 sqrt(100).
	if same < 60 || same > 140 {
		t.Errorf("100 pairs of orders agree in %d positions, want about 100", same)
	}
	// Every shard has the same order: it is of global rows.
	equal(t, "order at another row", order(k.At(9), n), order(k, n))
}

// Over many keys every position points everywhere equally often.
func TestPermutationUniform(t *testing.T) {
	const keys = 4000
	for _, x := range []struct {
		n        int
		critical float64 // of chi-square with (n-1)^2 degrees of freedom, p = .0001
	}{{2, 15.1}, {3, 23.5}, {5, 44.5}, {12, 186}, {33, 1202}} {
		count := make([]int, x.n*x.n)
		for i := range uint64(keys) {
			for j, at := range order(rl.NewKey(11).Fold(i), x.n) {
				count[j*x.n+at]++
			}
		}
		if chi := chiSquare(count); chi > x.critical {
			t.Errorf("n %d: chi-square %.1f > %.1f", x.n, chi, x.critical)
		}
	}
}

// Over many keys every pair of neighbouring positions points to every ordered
// pair equally often, and all orders of four things come up.
func TestPermutationPairs(t *testing.T) {
	const keys, n = 12000, 6
	pairs := map[[2]int]int{}
	orders := map[[4]int]int{}
	for i := range uint64(keys) {
		o := order(rl.NewKey(12).Fold(i), n)
		pairs[[2]int{o[2], o[3]}]++
		orders[[4]int(order(rl.NewKey(13).Fold(i), 4))]++
	}
	check := func(what string, count []int, cells int, critical float64) {
		if chi := chiSquare(count); len(count) != cells || chi > critical {
			t.Errorf("%s: %d of %d seen, chi-square %.1f > %.1f", what, len(count), cells, chi, critical)
		}
	}
	check("pairs", mapValues(pairs), n*(n-1), 66.2) // 29 degrees of freedom, p = .0001
	check("orders", mapValues(orders), 4*3*2, 56.8) // 23 degrees of freedom, p = .0001
}

func mapValues[K comparable](m map[K]int) (out []int) {
	for _, x := range m {
		out = append(out, x)
	}
	return out
}
