package rl_test

import (
	"testing"

	"github.com/weft-rl/weft/rl"
)

type (
	inner struct {
		A rl.Tensor
		T rl.Tree
	}
	Embedded struct{ E rl.Tensor }
	outer    struct {
		Embedded
		X     rl.Tensor
		In    inner
		List  []rl.Tensor
		Deep  []inner
		Gone  rl.Tensor
		Empty struct{}
	}
)

// sample has leaves of the numbers 0 to 8 in declaration order, then two that
// are absent.
func sample() outer {
	x := func(i float64) rl.Tensor { return rl.Scalar(i) }
	return outer{
		Embedded: Embedded{x(0)},
		X:        x(1),
		In:       inner{x(2), rl.NewTree([]string{"p", "q"}, []rl.Tensor{x(3), x(4)})},
		List:     []rl.Tensor{x(5), x(6)},
		Deep:     []inner{{x(7), rl.One(x(8))}, {}},
	}
}

func numbers(leaves []rl.Tensor) (out []float64) {
	for _, t := range leaves {
		if t.Ok() {
			out = append(out, rl.Floats(t)[0])
		} else {
			out = append(out, -1)
		}
	}
	return out
}

func TestLeavesInDeclarationOrder(t *testing.T) {
	v := sample()
	equal(t, "leaves", numbers(rl.Leaves(v)), []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -1})
	equal(t, "names", rl.LeafNames(v), []string{
		"E", "X", "In.A", "In.T.p", "In.T.q", "List.0", "List.1", "Deep.0.A", "Deep.0.T", "Deep.1.A", "Gone",
	})
	equal(t, "a tensor's names", rl.LeafNames(rl.Tensor{}), []string{""})
	equal(t, "a list's leaves", numbers(rl.Leaves([]rl.Tensor{rl.Scalar(3), {}})), []float64{3, -1})
	if n := len(rl.Leaves(struct{}{})); n != 0 {
		t.Errorf("the empty struct has %d leaves", n)
	}
}

func TestRebuildLeavesOriginal(t *testing.T) {
	v := sample()
	leaves := rl.Leaves(v)
	for i := range leaves {
		leaves[i] = rl.Scalar(100 + float64(i))
	}
	w := rl.Rebuild(v, leaves)
	equal(t, "rebuilt", numbers(rl.Leaves(w)), []float64{100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110})
	equal(t, "original", numbers(rl.Leaves(v)), []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -1})
	equal(t, "tree names", w.In.T.Names(), []string{"p", "q"})
	leaves[3] = rl.Scalar(-5) // the tree must not have kept the caller's slice
	equal(t, "tree", numbers([]rl.Tensor{w.In.T.Leaf("p")}), []float64{103})
}

func TestRebuildCounts(t *testing.T) {
	v := sample()
	leaves := rl.Leaves(v)
	fails(t, func() { rl.Rebuild(v, append(leaves, rl.Scalar(1))) }, "1 tensors too many for rl_test.outer")
	// Each at another kind of leaf, and with spare capacity that must not be read.
	for _, n := range []int{0, 4, 6, 10} {
		fails(t, func() { rl.Rebuild(v, leaves[:n]) }, "fewer tensors")
	}
}

func TestMapSkipsAbsent(t *testing.T) {
	v := sample()
	w := rl.Map(v, func(x rl.Tensor) rl.Tensor { return rl.Scalar(rl.Floats(x)[0] * 2) })
	equal(t, "mapped", numbers(rl.Leaves(w)), []float64{0, 2, 4, 6, 8, 10, 12, 14, 16, -1, -1})
	equal(t, "original", numbers(rl.Leaves(v)), []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -1})
}

type (
	counted struct {
		X rl.Tensor
		N int
	}
	holder  struct{ In []counted }
	endless struct {
		X    rl.Tensor
		Kids []endless
	}
)

func TestRefusedTypes(t *testing.T) {
	const only = "only tensors, trees, and structs and slices of them can"
	fails(t, func() { rl.Leaves(3) }, "int cannot cross an operation: "+only)
	fails(t, func() { rl.Leaves(map[string]rl.Tensor{}) }, "map[string]rl.Tensor", only)
	fails(t, func() { rl.Leaves(&inner{}) }, "*rl_test.inner", only)
	fails(t, func() { rl.LeafNames(holder{}) },
		"field In of rl_test.holder: field N of rl_test.counted: int cannot cross an operation")
	fails(t, func() { rl.Leaves(endless{}) }, "field Kids of rl_test.endless", "contains itself")
	s := scope(t)
	fails(t, func() { rl.NewFunc(s, "f", func(_ *rl.Ctx, in counted) rl.Tensor { return in.X }) }, "field N")
	fails(t, func() { rl.NewSlots(s, "n", 3) }, "int cannot cross")
	// The second time the answer comes from memory.
	fails(t, func() { rl.Leaves(3) }, "int cannot cross an operation: "+only)
}

func TestTree(t *testing.T) {
	a, b := rl.Scalar(1), rl.Scalar(2)
	tree := rl.NewTree([]string{"a", "b", "c"}, []rl.Tensor{a, b, {}})
	equal(t, "leaves", numbers([]rl.Tensor{tree.At(0), tree.Leaf("b"), tree.Leaf("c")}), []float64{1, 2, -1})
	equal(t, "has", []bool{tree.Has("a"), tree.Has("c"), tree.Has("d")}, []bool{true, false, false})
	equal(t, "len", []int{tree.Len(), rl.One(a).Len(), rl.Tree{}.Len()}, []int{3, 1, 0})
	double := tree.Map(func(x rl.Tensor) rl.Tensor { return rl.Scalar(2 * rl.Floats(x)[0]) })
	equal(t, "map", numbers(rl.Leaves(double)), []float64{2, 4, -1})
	equal(t, "one", numbers([]rl.Tensor{rl.One(a).Leaf("")}), []float64{1})
	fails(t, func() { tree.Leaf("") }, "leaves a, b, c: name the one you want")
	fails(t, func() { tree.Leaf("d") }, `no leaf "d" among a, b, c`)
	fails(t, func() { rl.NewTree([]string{"a"}, nil) }, "1 names and 0 leaves")
}
