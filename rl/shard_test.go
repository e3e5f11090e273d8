package rl_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// shards returns scopes that share out n environments.
func shards(root *rl.Scope, n, k int) (out []*rl.Scope) {
	for r := range k {
		s := root.Shard(r, k)
		lo, hi := s.Own(n, 1)
		s.SetEnvs(rl.Span{Lo: lo, Hi: hi, Of: n})
		out = append(out, s)
	}
	return out
}

func noise(c *rl.Ctx, x rl.Tensor) rl.Tensor {
	n := x.Rows()
	each := graph.Reshape(c.Uniform("agents", 2*n, 3), n, 6) // two rows of draws for each environment
	return rl.Wrap(graph.Add(graph.ReduceSum(each, 1), graph.Add(x.Node(), graph.Squeeze(c.Uniform("one", n, 1), 1))))
}

// TestShardDraws: what is drawn for a replica's environments is what is drawn for
// them when one has all; what is drawn for all is the same everywhere.
func TestShardDraws(t *testing.T) {
	const n = 11
	root := scope(t)
	x := rl.FromFlat(root, make([]float32, n), n)
	want := rl.Read[float32](rl.NewFunc(root, "noise", noise).Call(rl.NewRun(root, 1, nil).Key("act", 1), x))
	for _, k := range []int{2, 5, 11} {
		for _, s := range shards(root, n, k) {
			f, key, own := rl.NewFunc(s, "noise", noise), rl.NewRun(s, 1, nil).Key("act", 1), s.Envs()
			equal(t, "part", rl.Read[float32](f.Call(key, rl.System.Part(x, own.Lo, own.Hi))), want[own.Lo:own.Hi])
			equal(t, "all", rl.Read[float32](f.Call(key, x)), want)
			if key.Uniform(0, 0) != rl.NewRun(root, 1, nil).Key("act", 1).Uniform(0, 0) {
				t.Error("a number that belongs to no row differs between replicas")
			}
		}
	}
}

// bowl returns a loss with a vector of weights, by row.
func bowl(s *rl.Scope) (*rl.Params, *rl.Loss[rl.Tensor, rl.Tensor]) {
	p := rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) { sc.VariableWithValue("w", []float32{1, -2}) })
	return p, rl.NewLoss(s, "loss", func(c *rl.Ctx, x rl.Tensor) (loss, weight, aux rl.Tensor) {
		w := c.Scope(p).VariableWithValue("w", []float32{1, -2}).NodeValue(c.Graph())
		y := graph.ReduceSum(graph.Mul(x.Node(), graph.ExpandLeftToRank(w, 2)), 1)
		return rl.Wrap(graph.Log(graph.AddScalar(graph.Square(y), 1))), rl.Tensor{}, rl.Wrap(y)
	}, p)
}

// TestShardGrad: parts of a gradient with any number of rows, none included, add
// up to the whole, and what else a loss returns has the rows it was given.
func TestShardGrad(t *testing.T) {
	root := scope(t)
	rows := func(s *rl.Scope, lo, hi int) rl.Tensor {
		var x []float32
		for i := lo; i < hi; i++ {
			x = append(x, float32(i)/7, float32(i*i%5))
		}
		return rl.FromFlat(s, x, hi-lo, 2)
	}
	_, loss := bowl(root)
	g, _ := loss.Grad(rl.Key{}, rows(root, 0, 40))
	weight, sums := rl.System.GradParts(g)
	want, total := rl.Floats(sums[0]), rl.Floats(weight)[0]

	var weights []rl.Tensor
	var parts [][]rl.Tensor
	all := shards(root, 3, 3)
	for r, cut := range [][2]int{{0, 29}, {29, 29}, {29, 40}} {
		_, loss := bowl(all[r])
		g, aux := loss.Grad(rl.Key{}, rows(all[r], cut[0], cut[1]))
		if aux.Rows() != cut[1]-cut[0] || aux.Shape().Rank() != 1 {
			t.Errorf("replica %d: %s for %v", r, aux.Shape(), cut)
		}
		w, s := rl.System.HandGrads(g)
		weights, parts = append(weights, w), append(parts, s)
	}
	sum := rl.System.AddGrads(all[0], []string{"net"}, weights, parts)
	weight, sums = rl.System.GradParts(sum)
	near(t, "gradient", rl.Floats(sums[0]), want, 1e-4)
	near(t, "weight", rl.Floats(weight), []float64{total}, 0)
	fails(t, func() { rl.System.HandGrads(g); rl.System.HandGrads(g) }, "after they were applied or sent")
}

// TestShardSecond: what is drawn for second environments, of another number, goes by
// their own rows, and their state is found again.
func TestShardSecond(t *testing.T) {
	const n, second = 8, 5
	root := scope(t)
	root.SetEnvs(rl.Span{Lo: 0, Hi: n, Of: n})
	x := rl.FromFlat(root, []float32{0, 1, 2, 3, 4}, second)
	run := func(s *rl.Scope, x rl.Tensor) []float64 {
		return rl.Floats(rl.NewFunc(s, "noise", noise).Call(rl.NewRun(s, 1, nil).Key("second"), x))
	}
	whole := run(root, x)
	st := rl.NewState(root)
	st.PutRows("x", x)
	for _, s := range shards(root, n, 2) {
		lo, hi := s.Own(second, 1)
		s.AddEnvs(rl.Span{Lo: lo, Hi: hi, Of: second})
		equal(t, "draws", run(s, rl.System.Part(x, lo, hi)), whole[lo:hi])
		mine := rl.NewState(s)
		mine.Add(st.Arrays()[0])
		equal(t, "state", rl.Floats(mine.GetRows("x", rl.System.Part(x, lo, hi))), rl.Floats(rl.System.Part(x, lo, hi)))
	}
	// Two of four rows from the middle, or from the end: who is meant cannot be told.
	s := shards(root, 4, 2)[1]
	s.AddEnvs(rl.Span{Lo: 1, Hi: 3, Of: 3})
	fails(t, func() { run(s, rl.System.Part(x, 0, 2)) }, "a batch of 2 rows may be of environments 2 to 3 of 4, or 1 to 2 of 3")
}

// TestShardState: rows that replicas saved are found again by whoever has them.
func TestShardState(t *testing.T) {
	const n = 5
	root := scope(t)
	root.SetEnvs(rl.Span{Lo: 0, Hi: n, Of: n})
	st := rl.NewState(root)
	x := rl.FromFlat(root, []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, n, 2)
	st.PutRows("x", x)
	rl.PutRowSlice(st, "y", []int64{0, 1, 2, 3, 4})
	for _, s := range shards(root, n, 2) {
		mine := rl.NewState(s)
		for _, a := range st.Arrays() {
			mine.Add(a)
		}
		own := s.Envs()
		part := rl.System.Part(x, own.Lo, own.Hi)
		equal(t, "x", rl.Floats(mine.GetRows("x", part)), rl.Floats(part))
		equal(t, "y", rl.GetRowSlice[int64](mine, "y"), []int64{0, 1, 2, 3, 4}[own.Lo:own.Hi])
		mine.GetRows("x", rl.FromFlat(s, []float32{1}, 1))
		says(t, mine.Err(), `state "x" has rows`)
	}
}

// TestParts: rows come apart and together again.
func TestParts(t *testing.T) {
	s := scope(t)
	x := rl.FromFlat(s, []int32{1, 2, 3, 4, 5, 6}, 3, 2)
	got := rl.System.Concat([]rl.Tensor{rl.System.Part(x, 0, 1), rl.System.Part(x, 1, 1), rl.System.Part(x, 1, 3)})
	equal(t, "whole", rl.Read[int32](got), rl.Read[int32](x))
	if c := rl.System.Clone(x); rl.SameMemory(c, x) || !slices.Equal(rl.Read[int32](c), rl.Read[int32](x)) {
		t.Error("a clone shares its memory, or has other numbers")
	}
	fails(t, func() { rl.System.Part(x, 1, 4) }, "rows 1 to 4")
	fails(t, func() { rl.System.Concat([]rl.Tensor{x, rl.FromFlat(s, []float32{1}, 1)}) }, "part 1")
}

// TestAlongside: shares of two samples of as many rows may meet in a function, those of unequal
// ones may not.
func TestAlongside(t *testing.T) {
	s := scope(t)
	type pair struct{ A, B rl.Tensor }
	add := rl.NewFunc(s, "add", func(_ *rl.Ctx, p pair) rl.Tensor { return p.A })
	rows := func(n int) rl.Tensor { return rl.FromFlat(s, make([]float32, n), n) }
	a, b := rl.System.Share(rows(10), 5, 10), rl.System.Share(rows(11), 5, 11)
	if err := rl.Catch(func() error { add.Call(rl.Key{}, pair{a, rl.System.Share(rows(10), 5, 10)}); return nil }); err != nil {
		t.Error(err)
	}
	err := rl.Catch(func() error { add.Call(rl.Key{}, pair{a, b}); return nil })
	if err == nil || !strings.Contains(err.Error(), `function "add" is given a share of 10 rows beside a share of 11`) {
		t.Error(err)
	}
}
