package rl_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

func TestKeysDiffer(t *testing.T) {
	k := rl.NewKey(7)
	seen := map[[5]uint32]string{}
	add := func(name string, k rl.Key) {
		if other, twice := seen[rl.System.Words(k)]; twice {
			t.Errorf("keys %s and %s are the same", name, other)
		}
		seen[rl.System.Words(k)] = name
	}
	add("root", k)
	add("seed 8", rl.NewKey(8))
	add("seed 7<<32", rl.NewKey(7<<32))
	for i := range uint64(50) {
		add(fmt.Sprint("fold ", i), k.Fold(i))
		add(fmt.Sprint("fold high ", i), k.Fold((i+1)<<32))
		add(fmt.Sprint("fold fold ", i), k.Fold(3).Fold(i))
		add(fmt.Sprint("use ", i), k.Use(fmt.Sprint(i)))
	}
	if k.Use("a").Use("b") == k.Use("b").Use("a") || k.Use("a") != rl.NewKey(7).Use("a") {
		t.Error("Use is no function of the path")
	}
}

// Row i of a batch that begins at global row r is row r+i of the whole.
func TestKeyAt(t *testing.T) {
	k := rl.NewKey(1).Use("x")
	part := k.At(1000)
	for _, derived := range []struct{ part, whole rl.Key }{{part, k}, {part.Fold(3), k.Fold(3)}, {part.Use("y"), k.Use("y")}} {
		for i := range 5 {
			if derived.part.Uniform(i, 6) != derived.whole.Uniform(1000+i, 6) {
				t.Fatalf("row %d of the part is not row %d of the whole", i, 1000+i)
			}
		}
	}
	if part.At(0) != k {
		t.Error("At does not place row 0 absolutely")
	}
}

func TestUniformMoments(t *testing.T) {
	const rows, n = 500, 200
	k := rl.NewKey(3).Use("moments")
	var m1, m2, lag float64
	last := .5
	for i := range rows {
		for j := range n {
			x := k.Uniform(i, j)
			if x <= 0 || x >= 1 || float64(float32(x)) != x {
				t.Fatalf("draw %v is not a float32 in (0,1)", x)
			}
			m1 += x
			m2 += x * x
			lag += (x - .5) * (last - .5)
			last = x
		}
	}
	total := float64(rows * n)
	// Within 4 standard errors: of x .2887, of x^2 .2981, of the product 1/12.
	near(t, "mean, mean square, lag 1",
		[]float64{m1 / total, m2 / total, lag / total}, []float64{1. / 2, 1. / 3, 0}, 4*.3/math.Sqrt(total))
}

func TestIntNUniform(t *testing.T) {
	const n, draws = 7, 70000
	count := make([]int, n)
	k := rl.NewKey(4)
	for i := range draws {
		count[k.IntN(i/10, i%10, n)]++
	}
	if x := chiSquare(count); x > 22.5 { // 6 degrees of freedom: p = .001
		t.Errorf("counts %v: chi-square %.1f", count, x)
	}
}

// chiSquare compares counts with equal expectations.
func chiSquare(count []int) (x float64) {
	total := 0
	for _, c := range count {
		total += c
	}
	want := float64(total) / float64(len(count))
	for _, c := range count {
		x += (float64(c) - want) * (float64(c) - want) / want
	}
	return x
}

func TestRandStartsFromKeyAndRow(t *testing.T) {
	k := rl.NewKey(5)
	a, b := k.At(3).Rand(1), k.Rand(4)
	for range 10 {
		if a.Uint64() != b.Uint64() {
			t.Fatal("row 1 from 3 is not row 4")
		}
	}
	if k.Rand(0).Uint64() == k.Rand(1).Uint64() {
		t.Error("two rows draw the same")
	}
}

// uniform returns what a graph function draws.
func uniform(s *rl.Scope, k rl.Key, use string, dims ...int) rl.Tensor {
	return compute(s, k, func(c *rl.Ctx, _ []*node) *node { return c.Uniform(use, dims...) })
}

func TestCtxUniform(t *testing.T) {
	s := scope(t)
	k := s.Key("draw")
	for _, dims := range [][]int{{1}, {5}, {3, 1}, {2, 3}, {4, 4}, {3, 5}, {2, 3, 5}} {
		got := uniform(s, k, "u", dims...)
		n := got.Shape().Size() / dims[0]
		want := make([]float64, got.Shape().Size())
		for i := range want {
			want[i] = k.Use("u").Uniform(i/n, i%n)
		}
		equal(t, fmt.Sprint("draws ", dims), rl.Floats(got), want)
	}
}

// What a row draws does not depend on the batch it is in.
func TestDrawsDoNotDependOnBatch(t *testing.T) {
	s := scope(t)
	k := s.Key("draw")
	const n = 3
	whole := rl.Floats(uniform(s, k, "u", 1000, n))
	for _, rows := range []int{1, 7, 250} {
		for _, lo := range []int{0, 1, 600} {
			part := rl.Floats(uniform(s, k.At(lo), "u", rows, n))
			equal(t, fmt.Sprintf("%d rows from %d", rows, lo), part, whole[lo*n:(lo+rows)*n])
		}
	}
}

func TestGraphUniformBits(t *testing.T) {
	s := scope(t)
	for seed := range uint64(3) {
		for _, use := range []string{"", "act", "a much longer name of a use"} {
			for _, dims := range [][2]int{{1, 1}, {1, 9}, {17, 4}, {5, 7}, {300, 2}} {
				k := rl.NewKey(seed * 0x9e3779b97f4a7c15).Use("k").At(int(seed) * 1000) // also of a shard's rows
				words := rl.System.Words(k)
				got := compute(s, rl.Key{}, func(_ *rl.Ctx, x []*node) *node {
					return rl.System.GraphUniform(x[0], use, dims[0], dims[1])
				}, rl.FromFlat(s, words[:], 5))
				sameBits(t, fmt.Sprint(seed, use, dims), got, uniform(s, k, use, dims[0], dims[1]))
			}
		}
	}
}

func TestDrawTwice(t *testing.T) {
	s := scope(t)
	twice := func(c *rl.Ctx, _ []*node) *node { return graph.Add(c.Uniform("u", 2), c.Uniform("u", 2)) }
	fails(t, func() { compute(s, rl.Key{}, twice) }, `"u" is drawn twice`, `graph function "compute"`, "key_test.go:")
	fails(t, func() { uniform(s, rl.Key{}, "u") }, `draw "u" needs a row axis`)
}

func TestWithin(t *testing.T) {
	s := scope(t)
	k := s.Key("draw")
	got := compute(s, k, func(c *rl.Ctx, _ []*node) *node {
		var x []*node
		draw := func() { x = append(x, c.Uniform("u", 4)) }
		c.Within("a", draw)
		c.Within("b", func() { c.Within("a", draw) })
		draw()
		return graph.Concatenate(x, 0)
	})
	var want []float64
	for _, use := range []string{"a/u", "b/a/u", "u"} {
		want = append(want, rl.Floats(uniform(s, k, use, 4))...)
	}
	equal(t, "draws", rl.Floats(got), want)
}

func TestNormalAndGumbelMoments(t *testing.T) {
	s := scope(t)
	const rows, n = 200, 300
	for _, x := range []struct {
		name                 string
		draw                 func(*rl.Ctx, string, ...int) *node
		mean, variance, skew float64
	}{
		{"normal", (*rl.Ctx).Normal, 0, 1, 0},
		// Euler's constant, pi^2/6, and 12 sqrt(6) zeta(3) / pi^3.
		{"gumbel", (*rl.Ctx).Gumbel, 0.57721566, math.Pi * math.Pi / 6, 1.13954710},
	} {
		data := rl.Floats(compute(s, s.Key(x.name), func(c *rl.Ctx, _ []*node) *node { return x.draw(c, "z", rows, n) }))
		var mean, variance, skew float64
		for _, v := range data {
			mean += v / float64(len(data))
		}
		for _, v := range data {
			variance += (v - mean) * (v - mean) / float64(len(data))
		}
		for _, v := range data {
			skew += math.Pow((v-mean)/math.Sqrt(variance), 3) / float64(len(data))
		}
		// Standard errors are at most .005, .014 and .05.
		near(t, x.name, []float64{mean, variance}, []float64{x.mean, x.variance}, .03)
		near(t, x.name+" skew", []float64{skew}, []float64{x.skew}, .15)
	}
}

// Rows of a normal draw are their own too.
func TestNormalDoesNotDependOnBatch(t *testing.T) {
	s := scope(t)
	k := s.Key("draw")
	normal := func(k rl.Key, rows int) []float64 {
		return rl.Floats(compute(s, k, func(c *rl.Ctx, _ []*node) *node { return c.Normal("z", rows, 2) }))
	}
	equal(t, "rows 7, 8", normal(k.At(7), 2), normal(k, 20)[14:18])
}

// TestAhead: a key of a run knows the key that the same line has in the next iteration.
func TestAhead(t *testing.T) {
	s := scope(t)
	var next []rl.Key
	train(t, stepping(s, 1, func(run *rl.Run) {
		keys := []rl.Key{run.Key("a"), run.Key("a", 3, 1), run.Key("b")}
		for i, k := range keys {
			if next != nil && k.Bits(5, 0) != next[i].Bits(5, 0) {
				t.Errorf("iteration %d: key %d is not what was said before", run.Iter(), i)
			}
		}
		next = nil
		for _, k := range keys {
			ahead, ok := k.Ahead()
			if !ok || ahead.Bits(5, 0) == k.Bits(5, 0) {
				t.Errorf("iteration %d: no other key is ahead", run.Iter())
			}
			next = append(next, ahead)
		}
	}), rl.NewRun(s, 4, nil))
	if _, ok := rl.NewKey(1).Ahead(); ok {
		t.Error("a key of no run is followed by another")
	}
}
