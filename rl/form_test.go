package rl_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/rl"
)

type formed struct {
	Obs  rl.Obs
	Many []struct {
		X rl.Tree
		Y rl.Tensor
	}
	Z rl.Tensor
}

// TestForm: what a struct of tensors looks like survives as text, so that leaves
// can be put into it again.
func TestForm(t *testing.T) {
	s := scope(t)
	x := func(v float64) rl.Tensor { return floats(s, []float64{v}, 1) }
	var v formed
	v.Obs.X = rl.NewTree([]string{"a", "b,\"c"}, []rl.Tensor{x(1), x(2)})
	v.Many = make([]struct {
		X rl.Tree
		Y rl.Tensor
	}, 2)
	v.Many[1].X = rl.One(x(3))
	v.Many[1].Y, v.Z = x(4), x(5)
	text := rl.FormOf(v)
	like, err := rl.OfForm[formed](text)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "names", rl.LeafNames(like), rl.LeafNames(v))
	for i, l := range rl.Leaves(like) {
		if l.Ok() {
			t.Errorf("leaf %d is there", i)
		}
	}
	again := rl.Rebuild(like, rl.Leaves(v))
	equal(t, "leaf", rl.Floats(again.Obs.X.Leaf(`b,"c`)), []float64{2})
	equal(t, "leaf", rl.Floats(again.Many[1].X.Leaf("")), []float64{3})
	for _, bad := range []string{"", "[]", `["1"]`, `["x"]`, `["-1"]`, `["99999999"]`, strings.TrimSuffix(text, "]") + `,"more"]`} {
		if _, err := rl.OfForm[formed](bad); err == nil {
			t.Errorf("%s was taken for a form", bad)
		}
	}
}

// TestRing: rows go round the end, and stay what they are.
func TestRing(t *testing.T) {
	s := scope(t)
	r := rl.NewRing(5, floats(s, make([]float64, 6), 3, 2))
	r.Put(0, floats(s, []float64{0, 1, 2, 3, 4, 5}, 3, 2))
	r.Put(3, floats(s, []float64{6, 7, 8, 9, 10, 11}, 3, 2))
	all := func(r *rl.Ring) []float64 { return rl.Floats(r.Gather(s, []int{4, 3, 2, 1, 0, 0})) }
	want := []float64{8, 9, 6, 7, 4, 5, 2, 3, 10, 11, 10, 11}
	equal(t, "rows", all(r), want)
	equal(t, "shape", r.Gather(s, []int{0, 1, 2, 3}, 2, 2).Shape().Dimensions, []int{2, 2, 2})
	st := rl.NewState(s)
	r.Save(st, "ring", 5)
	r.Put(0, floats(s, make([]float64, 10), 5, 2)) // what was saved is a copy
	equal(t, "loaded", all(rl.LoadRing(st, "ring", 5)), want)
	if rl.LoadRing(st, "ring", 4); st.Err() == nil {
		t.Error("more rows were loaded than there are slots")
	}
	fails(t, func() { r.Put(0, floats(s, make([]float64, 3), 3, 1)) }, "a store of 5 rows")
	fails(t, func() { r.Put(0, floats(s, make([]float64, 12), 6, 2)) }, "a store of 5 rows")
	fails(t, func() { r.Gather(s, []int{5}) }, "slot 5 of 5")
	fails(t, func() { rl.NewRing(5, rl.Scalar(1)) }, "keeps rows")
}
