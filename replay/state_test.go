package replay_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// TestResume: a table that was saved and loaded goes on as if nothing had been,
// at any moment: empty, filling, full.
func TestResume(t *testing.T) {
	for _, at := range []int{0, 1, 3, 20} {
		for _, how := range []replay.Options{{}, {NStep: 3, Discount: .5}, {NStep: 2, Discount: .9, Priority: true}, {Sequence: 3}} {
			t.Run(fmt.Sprint(at, how), func(t *testing.T) {
				a, b := newHistory(t, 3, 20, how), newHistory(t, 3, 20, how)
				work := func(h *history) []rl.Tensor {
					if !h.table.Ready(1) {
						return nil
					}
					s := h.table.Sample(h.s.Key("sample").Fold(uint64(len(h.reward))), 8)
					if how.Priority {
						h.table.Prioritise(s.Index, rl.Map(s.Prob, func(rl.Tensor) rl.Tensor { return iota32(h.s, 1, 8) }))
					}
					return rl.Leaves(s)
				}
				for range at {
					a.add()
					work(a)
				}
				st := rl.NewState(a.s)
				a.table.Save(st)
				if err := b.table.Load(st); err != nil {
					t.Fatal(err)
				}
				b.reward = slices.Clone(a.reward) // step numbers
				for range 10 {                    // a sample comes first, before anything is inserted
					x, y := work(a), work(b)
					if !slices.EqualFunc(x, y, sameTensor) {
						t.Fatalf("samples differ: %v, %v", x, y)
					}
					a.add()
					b.add()
				}
				again := rl.NewState(b.s)
				b.table.Save(again)
				last := rl.NewState(a.s)
				a.table.Save(last)
				same := func(p, q rl.Array) bool { return p.Name == q.Name && fmt.Sprint(p.Flat) == fmt.Sprint(q.Flat) }
				if !slices.EqualFunc(last.Arrays(), again.Arrays(), same) {
					t.Error("states differ")
				}
			})
		}
	}
}

func sameTensor(a, b rl.Tensor) bool {
	if a.Ok() != b.Ok() {
		return false
	}
	return !a.Ok() || a.Shape().Equal(b.Shape()) && slices.Equal(rl.Floats(a), rl.Floats(b))
}

// TestLoadOther: what does not fit is refused.
func TestLoadOther(t *testing.T) {
	a := newHistory(t, 2, 20, replay.Options{})
	a.add()
	for _, c := range []struct {
		capacity int
		how      replay.Options
	}{{10, replay.Options{}}, {20, replay.Options{NStep: 3, Discount: 1}}, {20, replay.Options{Priority: true}}} {
		st := rl.NewState(a.s)
		a.table.Save(st)
		if err := newHistory(t, 2, c.capacity, c.how).table.Load(st); err == nil {
			t.Errorf("%v: a state of another table was loaded", c)
		}
	}
}

// TestBytes: pictures stay bytes, in the table, in samples and in the state.
func TestBytes(t *testing.T) {
	s := scope(t)
	table := replay.NewTable[rl.Tensor](s, "table", 6, replay.Options{})
	for i := range 4 {
		x := make([]uint8, 2*3*3)
		for j := range x {
			x[j] = uint8(100*(j/9) + i)
		}
		table.Insert(rl.FromFlat(s, x, 2, 3, 3), rl.FromFlat(s, make([]bool, 2), 2))
	}
	got := table.Sample(s.Key("sample"), 5)
	equal(t, "shape", got.Data.Shape().Dimensions, []int{5, 3, 3})
	for i, r := range rl.Read[int64](got.Index) {
		for _, x := range rl.Read[uint8](got.Data)[9*i : 9*i+9] {
			if x != uint8(100*(r%2)+r/2) {
				t.Fatalf("row %d holds %d", r, x)
			}
		}
	}
	st := rl.NewState(s)
	table.Save(st)
	for _, a := range st.Arrays() {
		if _, ok := a.Flat.([]uint8); a.Name == "rows/0" && (!ok || a.Shape.Size() != 6*9) {
			t.Errorf("saved as %s", a.Shape)
		}
	}
}

// TestTableErrors: what is wrong is said.
func TestTableErrors(t *testing.T) {
	type untagged struct{ Reward rl.Tensor }
	type mistagged struct {
		Reward rl.Tensor `replay:"total"`
	}
	s := scope(t)
	flag := func(n int) rl.Tensor { return rl.FromFlat(s, make([]bool, n), n) }
	name := 0
	table := func(capacity int, how replay.Options) *replay.Table[transition] {
		name++
		return replay.NewTable[transition](s, fmt.Sprint(name), capacity, how)
	}
	h := newHistory(t, 2, 8, replay.Options{})
	h.add()
	p := newHistory(t, 2, 8, replay.Options{Priority: true})
	p.add()
	for _, c := range []struct {
		f    func()
		part string
	}{
		{func() { table(0, replay.Options{}) }, "capacity 0: it must be at least 1 row"},
		{func() { table(9, replay.Options{NStep: -1}) }, "none may be negative"},
		{func() { table(9, replay.Options{NStep: 2, Sequence: 2}) }, "not both"},
		{func() { replay.NewTable[untagged](s, "u", 9, replay.Options{NStep: 2}) }, `the tag replay:"sum"`},
		{func() { replay.NewTable[mistagged](s, "m", 9, replay.Options{NStep: 2}) }, `replay:"total"`},
		{func() { table(9, replay.Options{}).Sample(s.Key("x"), 1) }, "before it has a row"},
		{func() { table(1, replay.Options{}).Insert(transition{}, flag(2)) }, "cannot hold 1 steps of 2 environments"},
		{func() { table(9, replay.Options{}).Insert(transition{Reward: iota32(s, 0, 3)}, flag(2)) }, "Reward has 3 rows, others have 2"},
		{func() { h.table.Insert(transition{}, flag(2)) }, "other tensors"},
		{func() { h.table.Prioritise(rl.Tensor{}, rl.Tensor{}) }, "draws uniformly"},
		{func() { p.table.Prioritise(rl.FromFlat(s, []int64{0}, 1), iota32(s, 0, 1)) }, "priority 0 in row 0"},
		{func() { p.table.Prioritise(rl.FromFlat(s, []int64{2}, 1), iota32(s, 1, 1)) }, "row 2 was never sampled"},
		{func() { p.table.Prioritise(rl.FromFlat(s, []int64{0, 1}, 2), iota32(s, 1, 1)) }, "1 priorities for 2 rows"},
	} {
		fails(t, c.f, c.part)
	}
}

// TestAllocations: those of a sample do not grow with its rows.
func TestAllocations(t *testing.T) {
	h := newHistory(t, 4, 100, replay.Options{Priority: true, NStep: 3, Discount: .9})
	for range 50 {
		h.add()
	}
	of := func(n int) float64 {
		return testing.AllocsPerRun(50, func() { h.table.Sample(h.s.Key("sample"), n) })
	}
	if few, many := of(8), of(512); many > few+4 { // a few by chance
		t.Errorf("%v allocations for 8 rows, %v for 512", few, many)
	}
}

// BenchmarkSample measures a batch of 128 from a table of 100,000 small rows.
func BenchmarkSample(b *testing.B) {
	for _, priority := range []bool{false, true} {
		b.Run(fmt.Sprintf("priority=%v", priority), func(b *testing.B) {
			h := newHistory(b, 100, 100_000, replay.Options{Priority: priority})
			for range 1000 {
				h.add()
			}
			k := h.s.Key("sample")
			b.ReportAllocs()
			for b.Loop() {
				h.table.Sample(k, 128)
			}
		})
	}
}
