package rl_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/weft-rl/weft/rl"
)

// bothWays checks that an operation gives the same bits on values, on nodes, and
// on a mixture.
func bothWays(t *testing.T, s *rl.Scope, what string, f func(x []rl.Tensor) rl.Tensor, in ...rl.Tensor) {
	t.Helper()
	want := f(in)
	nodes := rl.NewFunc(s, what, func(_ *rl.Ctx, x []rl.Tensor) rl.Tensor { return f(x) })
	sameBits(t, what+" on nodes", nodes.Call(rl.Key{}, in), want)
	mixed := rl.NewFunc(s, what, func(_ *rl.Ctx, x rl.Tensor) rl.Tensor {
		return f(append([]rl.Tensor{x}, in[1:]...))
	})
	sameBits(t, what+" on a node and values", mixed.Call(rl.Key{}, in[0]), want)
}

func TestOpsOnValuesAndNodes(t *testing.T) {
	s := scope(t)
	b := func(x ...bool) rl.Tensor { return rl.FromFlat(s, x, len(x)) }
	f := func(name string, dims ...int) rl.Tensor {
		n := 1
		for _, d := range dims {
			n *= d
		}
		return floats(s, randoms(name, n), dims...)
	}
	i := rl.FromFlat(s, []int32{1, 2, 3, 4, 5, 6}, 3, 2)
	mask2 := rl.FromFlat(s, []bool{true, false, false, true, true, false}, 3, 2)
	sel := func(x []rl.Tensor) rl.Tensor { return rl.Select(x[0], x[1], x[2]) }
	bothWays(t, s, "select", sel, b(true, false, true), f("a", 3), f("b", 3))
	bothWays(t, s, "select rows", sel, b(true, false, true), f("a", 3, 2, 2), f("b", 3, 2, 2))
	bothWays(t, s, "select by two axes", sel, mask2, f("a", 3, 2, 4), f("b", 3, 2, 4))
	bothWays(t, s, "select ints", sel, b(true, false, true), i, rl.Zero(i))
	keep := func(x []rl.Tensor) rl.Tensor { return rl.Keep(x[0], x[1]) }
	bothWays(t, s, "keep", keep, f("a", 3, 4), b(false, true, false))
	bothWays(t, s, "or", func(x []rl.Tensor) rl.Tensor { return rl.Or(x[0], x[1]) },
		b(true, true, false, false), b(true, false, true, false))
	shift := func(x []rl.Tensor) rl.Tensor { return rl.Shift(x[0], x[1]) }
	bothWays(t, s, "shift", shift, f("a", 3, 4), f("b", 3))
	bothWays(t, s, "shift deep", shift, f("a", 2, 3, 5), f("b", 2, 5))
	bothWays(t, s, "shift one step", shift, f("a", 3, 1), f("b", 3))
	bothWays(t, s, "stack", func(x []rl.Tensor) rl.Tensor { return rl.Stack(x) }, f("a", 3, 2), f("b", 3, 2), f("c", 3, 2))
	bothWays(t, s, "stack bools", func(x []rl.Tensor) rl.Tensor { return rl.Stack(x) }, b(true, false), b(true, true))
	bothWays(t, s, "zero", func(x []rl.Tensor) rl.Tensor { return rl.Zero(x[0]) }, i)
	bothWays(t, s, "standardise", func(x []rl.Tensor) rl.Tensor { return rl.Standardise(x[0], rl.Tensor{}) }, f("a", 5, 3))
	bothWays(t, s, "standardise weighted", func(x []rl.Tensor) rl.Tensor { return rl.Standardise(x[0], x[1]) },
		f("a", 4), floats(s, []float64{1, 0, 1, 1}, 4))
	bothWays(t, s, "mean", func(x []rl.Tensor) rl.Tensor { return rl.Mean(x[0]) }, f("a", 4, 7))
	bothWays(t, s, "gae", func(x []rl.Tensor) rl.Tensor {
		_, ret := rl.GAE(.9, .8, x[0], x[1], x[2], x[3], x[3])
		return ret
	}, f("a", 3, 2), f("b", 3, 2), f("c", 3, 2), mask2)
}

func TestOpsByHand(t *testing.T) {
	s := scope(t)
	x := floats(s, []float64{1, 2, 3, 4, 5, 6}, 3, 2)
	mask := rl.FromFlat(s, []bool{false, true, false}, 3)
	equal(t, "select", rl.Floats(rl.Select(mask, x, rl.Zero(x))), []float64{0, 0, 3, 4, 0, 0})
	equal(t, "keep", rl.Floats(rl.Keep(x, mask)), []float64{1, 2, 0, 0, 5, 6})
	if rl.Keep(rl.Tensor{}, mask).Ok() {
		t.Error("absent memory did not stay absent")
	}
	equal(t, "or", rl.Read[bool](rl.Or(mask, rl.FromFlat(s, []bool{true, false, false}, 3))), []bool{true, true, false})
	equal(t, "shift", rl.Floats(rl.Shift(x, floats(s, []float64{7, 8, 9}, 3))), []float64{2, 7, 4, 8, 6, 9})
	stacked := rl.Stack([]rl.Tensor{x, rl.Zero(x)})
	equal(t, "stack", rl.Floats(stacked), []float64{1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0})
	equal(t, "stacked shape", stacked.Shape().Dimensions, []int{3, 2, 2})
	equal(t, "mean", rl.Floats(rl.Mean(x)), []float64{3.5})
	equal(t, "done", rl.Read[bool](rl.Step{Terminated: mask, Truncated: mask}.Done()), []bool{false, true, false})
}

// As many numbers in another shape or of another type are another program.
func TestOpsCompileByShape(t *testing.T) {
	s := scope(t)
	x := []float64{1, 2, 3, 4, 5, 6}
	for _, dims := range [][]int{{6}, {2, 3}, {3, 2}, {6, 1}} {
		got := rl.Standardise(floats(s, x, dims...), rl.Tensor{})
		equal(t, fmt.Sprint("shape of ", dims), got.Shape().Dimensions, dims)
	}
	for _, got := range []rl.Tensor{rl.Mean(floats(s, x, 6)), rl.Mean(rl.FromFlat(s, x, 6))} {
		equal(t, got.String(), rl.Floats(got), []float64{3.5})
	}
}

func TestGather(t *testing.T) {
	s := scope(t)
	x := floats(s, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 2, 3, 2)
	steps := rl.Gather(x, 2, []int{5, 0, 5, 2})
	equal(t, "steps", rl.Floats(steps), []float64{10, 11, 0, 1, 10, 11, 4, 5})
	equal(t, "shape", steps.Shape().Dimensions, []int{4, 2})
	rows := rl.Gather(x, 1, []int{1})
	equal(t, "rows", rl.Floats(rows), []float64{6, 7, 8, 9, 10, 11})
	equal(t, "shape", rows.Shape().Dimensions, []int{1, 3, 2})
	bools := rl.Gather(rl.FromFlat(s, []bool{true, false, false}, 3), 1, []int{2, 0})
	equal(t, "bools", rl.Read[bool](bools), []bool{false, true})
	fails(t, func() { rl.Gather(x, 2, []int{6}) }, "gather: row 6 of 6")
	fails(t, func() { rl.Gather(x, 2, []int{-1}) }, "gather: row -1 of 6")
	fails(t, func() { rl.Gather(x, 4, nil) }, "no 4 axes")
}

func TestStandardise(t *testing.T) {
	s := scope(t)
	x := []float64{1, 2, 3, 10}
	// Mean 4, sample variance (9+4+1+36)/3.
	d := math.Sqrt(50. / 3)
	near(t, "all", rl.Floats(rl.Standardise(floats(s, x, 4), rl.Tensor{})), []float64{-3 / d, -2 / d, -1 / d, 6 / d}, 1e-6)
	// Without the last: mean 2, sample variance 1.
	w := floats(s, []float64{1, 1, 1, 0}, 4)
	near(t, "weighted", rl.Floats(rl.Standardise(floats(s, x, 4), w))[:3], []float64{-1, 0, 1}, 1e-6)
	for _, c := range []struct {
		name string
		x, w []float64
	}{
		{"one row", []float64{3}, []float64{1}},
		{"one row counts", []float64{3, 3}, []float64{0, 1}},
		{"no row counts", []float64{0, 0}, []float64{0, 0}},
		{"all the same", []float64{3, 3, 3}, []float64{1, 1, 1}},
	} {
		got := rl.Floats(rl.Standardise(floats(s, c.x, len(c.x)), floats(s, c.w, len(c.w))))
		equal(t, c.name, got, make([]float64, len(c.x)))
	}
	fails(t, func() { rl.Standardise(floats(s, x, 4), rl.Scalar(1)) }, "standardise: the weight has shape")
}

func TestOpsRefuseShapes(t *testing.T) {
	s := scope(t)
	f := func(dims ...int) rl.Tensor {
		n := 1
		for _, d := range dims {
			n *= d
		}
		return floats(s, make([]float64, n), dims...)
	}
	b := func(n int) rl.Tensor { return rl.FromFlat(s, make([]bool, n), n) }
	ints := rl.FromFlat(s, []int32{1, 2}, 2)
	for _, x := range []struct {
		do   func()
		want string
	}{
		{func() { rl.Select(b(3), f(2), f(2)) }, "does not lead"},
		{func() { rl.Select(b(4), f(2, 2), f(2, 2)) }, "does not lead"},
		{func() { rl.Select(b(2), f(2, 3), f(3, 2)) }, "does not lead"},
		{func() { rl.Select(b(2), f(2), ints) }, "does not lead"},
		{func() { rl.Select(f(2), f(2), f(2)) }, "holds Float32, not Bool"},
		{func() { rl.Or(b(2), b(3)) }, "or: shapes"},
		{func() { rl.Or(b(2), rl.FromFlat(s, []bool{true, true}, 2, 1)) }, "or: shapes"},
		{func() { rl.Shift(f(2, 3), f(3)) }, "does not end"},
		{func() { rl.Shift(f(2, 3), ints) }, "does not end"},
		{func() { rl.Shift(f(2, 6), f(2, 1)) }, "does not end"},
		{func() { rl.Shift(f(2), f(2)) }, "does not end"},
		{func() { rl.Stack([]rl.Tensor{f(2), f(3)}) }, "shape (Float32)[3] at step 1, (Float32)[2] before"},
		{func() { rl.Stack([]rl.Tensor{f(2), {}}) }, "at step 1"},
		{func() { rl.Stack(nil) }, "there must be steps"},
		{func() { rl.Stack([]rl.Tensor{rl.Scalar(1)}) }, "needs an environment axis"},
		{func() { rl.Zero(rl.Scalar(1)) }, "a constant has no device"},
		{func() { rl.Mean(rl.Scalar(1)) }, "lives on a device"},
	} {
		fails(t, x.do, "ops_test.go:", x.want)
	}
}

func TestTensorData(t *testing.T) {
	s := scope(t)
	for _, x := range []rl.Tensor{
		rl.FromFlat(s, []float32{0, 1, 2}, 3), rl.FromFlat(s, []float64{0, 1, 2}, 3), rl.FromFlat(s, []int32{0, 1, 2}, 3),
		rl.FromFlat(s, []int64{0, 1, 2}, 3), rl.FromFlat(s, []uint8{0, 1, 2}, 3), rl.FromFlat(s, []uint32{0, 1, 2}, 3),
	} {
		equal(t, fmt.Sprint(x), rl.Floats(x), []float64{0, 1, 2})
	}
	equal(t, "bools", rl.Floats(rl.FromFlat(s, []bool{false, true}, 2)), []float64{0, 1})
	data := []float32{1, 2}
	x := rl.FromFlat(s, data, 2)
	data[0] = 9
	equal(t, "a copy", rl.Read[float32](x), []float32{1, 2})
	y := rl.FromFlat(s, []float64{1}, 1)
	rl.Floats(y)[0] = 5
	equal(t, "after writing to what Floats gave", rl.Floats(y), []float64{1})
	equal(t, "rows", []int{x.Rows(), rl.Scalar(1).Rows()}, []int{2, 1})
	equal(t, "text", []string{x.String(), rl.Tensor{}.String()}, []string{"value (Float32)[2]", "absent"})
	if !rl.SameMemory(x, x) || rl.SameMemory(x, rl.FromFlat(s, data, 2)) || rl.SameMemory(x, rl.Tensor{}) {
		t.Error("SameMemory is wrong")
	}
	fails(t, func() { rl.FromFlat(s, data, 3) }, "needs 3 elements, got 2")
	fails(t, func() { rl.Read[int32](x) }, "holds Float32, not Int32")
	fails(t, func() { rl.Floats(rl.Tensor{}) }, "absent has no data to read")
	fails(t, func() { x.Node() }, "only inside a graph function (tensor is value (Float32)[2])")
}

func TestNotFinite(t *testing.T) {
	s := scope(t)
	inf := math.Inf(1)
	for _, x := range [][]float64{{1, math.NaN(), inf}, {1, inf, 0}, {1, -inf}} {
		for _, tensor := range []rl.Tensor{floats(s, x, len(x)), rl.FromFlat(s, x, len(x))} {
			at, v, bad := rl.NotFinite(tensor)
			if !bad || at != 1 || v == v && v != x[1] {
				t.Errorf("%v: found %v at %d, %v", x, v, at, bad)
			}
		}
	}
	for _, x := range []rl.Tensor{floats(s, []float64{0, math.MaxFloat32}, 2), rl.FromFlat(s, []int32{3}, 1)} {
		if at, v, bad := rl.NotFinite(x); bad {
			t.Errorf("found %v at %d", v, at)
		}
	}
}
