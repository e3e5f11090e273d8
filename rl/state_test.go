package rl_test

import (
	"testing"

	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/rl"
)

func TestStateRoundTrip(t *testing.T) {
	s := scope(t)
	st := rl.NewState(s)
	x := floats(s, []float64{1, 2, 3, 4}, 2, 2)
	st.At("b").Put("x", x)
	st.Put("absent", rl.Tensor{})
	numbers := []int64{5, 6}
	rl.PutSlice(st.At("a").At("deep"), "n", numbers)
	numbers[0] = 9 // a copy was put
	var names []string
	for _, a := range st.Arrays() {
		names = append(names, a.Name)
	}
	equal(t, "names", names, []string{"a/deep/n", "b/x"})
	sameBits(t, "tensor", st.At("b").Get("x"), x)
	sameBits(t, "tensor", st.At("b").GetLike("x", rl.Zero(x)), x)
	got := rl.GetSlice[int64](st.At("a").At("deep"), "n")
	equal(t, "slice", got, []int64{5, 6})
	got[0] = 7
	equal(t, "slice again", rl.GetSliceN[int64](st, "a/deep/n", 2), []int64{5, 6})
	equal(t, "has", []bool{st.At("b").Has("x"), st.Has("x"), st.Has("absent")}, []bool{true, false, false})
	if st.Err() != nil {
		t.Error(st.Err())
	}
}

func TestStateErrors(t *testing.T) {
	s := scope(t)
	x := floats(s, []float64{1, 2}, 2)
	for _, c := range []struct {
		do   func(st *rl.State)
		want string
	}{
		{func(st *rl.State) { st.Get("y") }, `state "net/y" is missing`},
		{func(st *rl.State) { st.GetLike("y", x) }, `state "net/y" is missing`},
		{func(st *rl.State) { rl.GetSlice[int32](st, "y") }, `state "net/y" is missing`},
		{func(st *rl.State) { rl.GetSliceN[int32](st, "y", 2) }, `state "net/y" is missing`},
		{func(st *rl.State) { st.GetLike("x", floats(s, []float64{1, 2}, 2, 1)) },
			`state "net/x" has shape (Float32)[2], want (Float32)[2, 1]`},
		{func(st *rl.State) { st.GetLike("x", rl.FromFlat(s, []int32{1, 2}, 2)) }, `want (Int32)[2]`},
		{func(st *rl.State) { rl.GetSlice[int32](st, "x") }, `state "net/x" holds Float32`},
		{func(st *rl.State) { rl.GetSliceN[float32](st, "x", 3) }, `state "net/x" has 2 elements, want 3`},
		{func(st *rl.State) { st.Get("y"); rl.GetSlice[int32](st, "x") }, `state "net/y" is missing`}, // the first
	} {
		st := rl.NewState(s)
		st.At("net").Put("x", x)
		c.do(st.At("net"))
		says(t, st.Err(), c.want)
	}
	st := rl.NewState(s)
	st.Put("a/b", x)
	fails(t, func() { st.At("a").Put("b", x) }, `state "a/b" is saved twice`)
	fails(t, func() { st.Add(rl.Array{Name: "a/b", Shape: shapes.Make(x.Shape().DType, 1), Flat: []float32{1}}) }, "saved twice")
}

func TestScopeRegister(t *testing.T) {
	s := scope(t)
	rl.NewSlots(s, "memory", rl.Tensor{})
	fails(t, func() { rl.NewSlots(s, "memory", rl.Tensor{}) }, `two components are called "memory"`, "state_test.go:")
}

func TestScopeOwn(t *testing.T) {
	s := scope(t)
	for _, x := range []struct {
		n, block, of int
		want         []int // where the shards begin, and the end
	}{
		{8, 1, 1, []int{0, 8}},
		{8, 1, 3, []int{0, 2, 5, 8}},
		{12, 4, 2, []int{0, 4, 12}},
		{8, 4, 2, []int{0, 4, 8}},
	} {
		got := []int{0}
		for r := range x.of {
			lo, hi := s.Shard(r, x.of).Own(x.n, x.block)
			if lo != got[r] {
				t.Errorf("%+v: shard %d begins at %d", x, r, lo)
			}
			got = append(got, hi)
		}
		equal(t, "shards", got, x.want)
	}
	fails(t, func() { s.Shard(0, 2).Own(4, 4) }, "2 replicas are too many for 4 environments in blocks of 4", "only 1 shard")
	fails(t, func() { s.Own(6, 4) }, "6 environments are no multiple of their block of 4")
	fails(t, func() { s.Shard(2, 2) }, "shard 2 of 2")
	fails(t, func() { s.Shard(0, 2).Shard(0, 2) }, "itself 0 of 2")
}

func TestScopeKeys(t *testing.T) {
	s := scope(t)
	if s.Shard(1, 2).Key("x") != s.Key("x") {
		t.Error("a shard has keys of its own")
	}
	if s.Child("eval").Key("x") == s.Key("x") || s.Child("a").Key("x") == s.Child("b").Key("x") {
		t.Error("children share keys")
	}
	if seeded(t, 2).Key("x") == s.Key("x") {
		t.Error("seeds share keys")
	}
}

// Saving a scope and loading it elsewhere gives every component its state; the
// weights alone leave the rest as it is.
func TestScopeSaveLoad(t *testing.T) {
	type all struct {
		s  *rl.Scope
		p  *rl.Params
		m  *rl.Slots[rl.Tensor]
		st *rl.Stats
	}
	build := func(seed uint64) all {
		s := seeded(t, seed)
		return all{
			s, params(s, "net", 1, 1), rl.NewSlots(s, "memory", floats(s, []float64{0, 0}, 2)), rl.NewStats(s, "stats", 0),
		}
	}
	a := build(1)
	a.s.AddSteps(17)
	a.m.Set(floats(a.s, []float64{3, 4}, 2))
	a.st.Update(floats(a.s, []float64{1, 2, 3}, 3))
	a.p.Blend(params(a.s, "other", 1, 1), 1)
	st := rl.NewState(a.s)
	a.s.Save(st)

	b := build(1)
	params(b.s, "other", 1, 1)
	if err := b.s.Load(copied(b.s, st)); err != nil {
		t.Fatal(err)
	}
	again := rl.NewState(b.s)
	b.s.Save(again)
	if len(again.Arrays()) != len(st.Arrays()) {
		t.Fatalf("%d arrays, saved %d", len(again.Arrays()), len(st.Arrays()))
	}
	for i, x := range again.Arrays() {
		sameBits(t, x.Name, again.Get(x.Name), st.Get(st.Arrays()[i].Name))
	}
	if b.s.Steps() != 17 {
		t.Errorf("%d steps", b.s.Steps())
	}

	weights := rl.NewState(a.s)
	rl.System.SaveWeights(a.s, weights)
	c := build(1)
	params(c.s, "other", 1, 1)
	if err := rl.System.LoadWeights(c.s, copied(c.s, weights)); err != nil {
		t.Fatal(err)
	}
	equal(t, "weights", values(c.p), values(a.p))
	equal(t, "memory", rl.Floats(c.m.Get()), []float64{0, 0})
	if c.s.Steps() != 0 {
		t.Errorf("%d steps came with the weights", c.s.Steps())
	}

	says(t, build(2).s.Load(copied(c.s, st)), "another seed")
	says(t, c.s.Load(copied(c.s, st, "memory/0")), "component memory", `state "memory/0" is missing`)
	says(t, rl.System.LoadWeights(c.s, copied(c.s, st, "stats/m2")), `state "stats/m2" is missing`)
}
