package rl_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

func TestSlots(t *testing.T) {
	s := scope(t)
	zero := pair{X: floats(s, []float64{0, 0}, 2)}
	m := rl.NewSlots(s, "memory", zero)
	if m.Axis() != rl.Envs {
		t.Errorf("axis %s", m.Axis())
	}
	equal(t, "at first", rl.Floats(m.Get().X), []float64{0, 0})
	m.Set(pair{X: floats(s, []float64{1, 2}, 2)})
	st := rl.NewState(s)
	m.Save(st)
	m.Set(zero)
	if err := m.Load(copied(s, st)); err != nil {
		t.Fatal(err)
	}
	equal(t, "loaded", rl.Floats(m.Get().X), []float64{1, 2})
	says(t, m.Load(rl.NewState(s)), `state "0" is missing`)
	equal(t, "after a failed load", rl.Floats(m.Get().X), []float64{1, 2})
	for _, v := range []pair{{}, {X: zero.X, Y: zero.X}, {X: floats(s, []float64{1}, 1)}} {
		fails(t, func() { m.Set(v) }, "memory_test.go:", "slots hold [value (Float32)[2] absent] and are set to")
	}
}

// moments returns the mean and the mean squared deviation of column j.
func moments(rows [][]float64, j int) (mean, variance float64) {
	for _, r := range rows {
		mean += r[j] / float64(len(rows))
	}
	for _, r := range rows {
		variance += (r[j] - mean) * (r[j] - mean) / float64(len(rows))
	}
	return mean, variance
}

func TestStatsAgainstPlainGo(t *testing.T) {
	for _, offset := range []float64{0, 1e4} {
		for name, sizes := range map[string][]int{"one batch": {30}, "two": {10, 20}, "many": {1, 7, 2, 15, 5}} {
			s := scope(t)
			st := rl.NewStats(s, "stats", 0, 2)
			var rows [][]float64
			for i, n := range sizes {
				x := randoms(fmt.Sprint(i), n*2)
				for j := range x {
					x[j] = float64(float32(x[j] + offset*float64(1+j%2)))
				}
				st.Update(floats(s, x, n, 2))
				rows = slices.AppendSeq(rows, slices.Chunk(x, 2))
			}
			norm := compute(s, rl.Key{}, func(c *rl.Ctx, x []*node) *node { return st.Norm(c, x[0]) },
				floats(s, rows[0], 1, 2))
			scaled := compute(s, rl.Key{}, func(c *rl.Ctx, x []*node) *node { return st.Scale(c, x[0]) },
				floats(s, []float64{1, 1}, 1, 2))
			for j := range 2 {
				mean, variance := moments(rows, j)
				d := math.Sqrt(variance + 1e-8)
				// The mean is read as float32: a deviation of .5 at 1e4 keeps 3 digits.
				near(t, fmt.Sprint(name, offset), rl.Floats(norm)[j:j+1], []float64{(rows[0][j] - mean) / d}, 1e-5+offset*4e-7)
				near(t, fmt.Sprint(name, offset), rl.Floats(scaled)[j:j+1], []float64{1 / d}, 1e-5)
			}
		}
	}
}

// saved returns the numbers of statistics: count, m2, mean.
func saved(s *rl.Scope, st *rl.Stats) (out []float64) {
	state := rl.NewState(s)
	st.Save(state)
	for _, a := range state.Arrays() {
		out = append(out, rl.Floats(state.Get(a.Name))...)
	}
	return out
}

// The order of batches matters only in rounding, and all leading axes are rows.
func TestStatsMerging(t *testing.T) {
	s := scope(t)
	x := randoms("x", 24)
	forward, backward, block := rl.NewStats(s, "a", 0, 2), rl.NewStats(s, "b", 0, 2), rl.NewStats(s, "c", 0, 2)
	forward.Update(floats(s, x[:6], 3, 2))
	forward.Update(floats(s, x[6:], 9, 2))
	backward.Update(floats(s, x[6:], 9, 2))
	backward.Update(floats(s, x[:6], 3, 2))
	block.Update(floats(s, x, 3, 4, 2))
	near(t, "backward", saved(s, backward), saved(s, forward), 1e-12)
	near(t, "in one block", saved(s, block), saved(s, forward), 1e-12)
	if n := saved(s, block)[0]; n != 12 {
		t.Errorf("counted %v rows", n)
	}
	scalar := rl.NewStats(s, "scalar", 0)
	scalar.Update(floats(s, x, 4, 6))
	if n := saved(s, scalar)[0]; n != 24 {
		t.Errorf("counted %v numbers", n)
	}
	fails(t, func() { forward.Update(floats(s, x, 8, 3)) }, "statistics of features [2] cannot count (Float32)[8, 3]")
	fails(t, func() { rl.NewStats(s, "d", 0, 1).Update(floats(s, x, 24)) }, "cannot count")
	fails(t, func() { forward.Update(rl.Scalar(1)) }, "cannot count")
}

func TestStatsFreezeUntilUpdate(t *testing.T) {
	s := scope(t)
	st := rl.NewStats(s, "stats", 1.5, 2)
	f := rl.NewFunc(s, "f", func(c *rl.Ctx, x rl.Tensor) rl.Tensor { return rl.Wrap(st.Norm(c, x.Node())) })
	x := floats(s, []float64{1, -1, 9, 0}, 2, 2)
	equal(t, "before the first update, but bounded", rl.Floats(f.Call(rl.Key{}, x)), []float64{1, -1, 1.5, 0})
	st.Update(floats(s, []float64{0, 0, 4, 8}, 2, 2)) // means 2 and 4, deviations 2 and 4
	for range 2 {                                     // reading changes nothing
		near(t, "after", rl.Floats(f.Call(rl.Key{}, x)), []float64{-.5, -1.25, 1.5, -1}, 1e-6)
	}
	restored := compute(s, rl.Key{}, func(c *rl.Ctx, x []*node) *node { return st.Restore(c, x[0]) }, x)
	near(t, "restored", rl.Floats(restored), []float64{4, 0, 20, 4}, 1e-5)
	// Norm as a part of something bigger, read twice.
	both := compute(s, rl.Key{}, func(c *rl.Ctx, x []*node) *node { return graph.Add(st.Norm(c, x[0]), st.Norm(c, x[0])) }, x)
	near(t, "twice", rl.Floats(both), []float64{-1, -2.5, 3, -2}, 1e-6)
}

func TestStatsSaveLoad(t *testing.T) {
	s := scope(t)
	a, b := rl.NewStats(s, "a", 0, 2), rl.NewStats(s, "b", 0, 2)
	a.Update(floats(s, randoms("x", 10), 5, 2))
	st := rl.NewState(s)
	a.Save(st)
	if err := b.Load(copied(s, st)); err != nil {
		t.Fatal(err)
	}
	next := floats(s, randoms("y", 6), 3, 2)
	a.Update(next)
	b.Update(next)
	equal(t, "going on", saved(s, b), saved(s, a))
	says(t, rl.NewStats(s, "c", 0, 3).Load(copied(s, st)), `state "mean" has shape (Float64)[2], want (Float64)[3]`)
}

func TestEpisodes(t *testing.T) {
	e := scope(t).Episodes()
	if _, _, n := e.Mean(); n != 0 {
		t.Errorf("%d episodes at first", n)
	}
	e.RecordKinds(10, 3, nil, [][]float64{{1, 2, 3}}, []bool{false, true, false})
	e.RecordKinds(10, 6, nil, [][]float64{{1, 2, 3}}, []bool{true, false, true})
	e.RecordKinds(10, 9, nil, [][]float64{{5, 5, 5}}, []bool{false, true, false})
	got := rl.System.TakeEpisodes(e)
	equal(t, "episodes", got, []rl.Episode{
		{Env: 11, Step: 3, Return: 2, Length: 1}, {Env: 10, Step: 6, Return: 2, Length: 2},
		{Env: 12, Step: 6, Return: 6, Length: 2}, {Env: 11, Step: 9, Return: 7, Length: 2},
	})
	if ret, length, n := e.Mean(); n != 4 || ret != 17./4 || length != 7./4 || e.Count() != 4 || len(rl.System.TakeEpisodes(e)) != 0 {
		t.Errorf("mean return %v, length %v of %d; %d in all", ret, length, n, e.Count())
	}
}

func TestEpisodesOfKinds(t *testing.T) {
	s := scope(t)
	e := s.EpisodesOf("arena")
	if e == s.Episodes() || s.EpisodesOf("arena") != e || s.EpisodesOf("env") != s.Episodes() {
		t.Error("a name does not have episodes of its own")
	}
	names := []string{"cat", "mouse"}
	e.RecordKinds(0, 2, names, [][]float64{{1, 2}, {10, 20}}, []bool{false, false})
	st := rl.NewState(s)
	e.Save(st)
	f := seeded(t, 1).EpisodesOf("arena")
	if err := f.Load(copied(s, st)); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*rl.Episodes{e, f} {
		e.RecordKinds(0, 4, names, [][]float64{{1, 2}, {10, 20}}, []bool{false, true})
		e.RecordKinds(0, 6, names, [][]float64{{1, 2}, {10, 20}}, []bool{false, true})
		equal(t, "episodes", rl.System.TakeEpisodes(e), []rl.Episode{
			{Env: 1, Step: 4, Return: 44, Length: 2, Kinds: []float64{4, 40}},
			{Env: 1, Step: 6, Return: 22, Length: 1, Kinds: []float64{2, 20}},
		})
		equal(t, "names", rl.System.KindNames(e), names)
	}
}

func TestEpisodesWindow(t *testing.T) {
	s := scope(t)
	e := s.Episodes()
	step := func(e *rl.Episodes, i int) {
		e.RecordKinds(0, int64(i), nil, [][]float64{{float64(i), 1}}, []bool{true, false})
	}
	for i := range 250 {
		step(e, i)
	}
	// The last 100 returns are 150 to 249.
	if ret, length, n := e.Mean(); n != 100 || ret != 199.5 || length != 1 || e.Count() != 250 {
		t.Errorf("mean return %v, length %v of %d; %d in all", ret, length, n, e.Count())
	}
	rl.System.TakeEpisodes(e)
	st := rl.NewState(s)
	e.Save(st)
	f := seeded(t, 1).Episodes()
	if err := f.Load(copied(s, st)); err != nil {
		t.Fatal(err)
	}
	for i := 250; i < 300; i++ {
		step(e, i)
		step(f, i)
	}
	e.RecordKinds(0, 300, nil, [][]float64{{1, 1}}, []bool{true, true})
	f.RecordKinds(0, 300, nil, [][]float64{{1, 1}}, []bool{true, true})
	equal(t, "episodes", rl.System.TakeEpisodes(f), rl.System.TakeEpisodes(e))
	a, _, _ := e.Mean()
	if b, _, _ := f.Mean(); a != b || f.Count() != e.Count() {
		t.Errorf("mean %v after a load, %v without", b, a)
	}
	says(t, f.Load(copied(s, st, "window/numbers")), `state "window/numbers" is missing`)
	torn := copied(s, st, "lengths")
	rl.PutSlice(torn, "lengths", []int64{1})
	says(t, f.Load(torn), `2 returns and 1 lengths`)
}
