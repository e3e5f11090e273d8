package replay_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// lived is a step for Sequences. X is (step, environment), Memory 1 + 100 step +
// environment.
type lived struct {
	X      rl.Tensor
	Memory rl.Tensor `replay:"start"`
	Extra  rl.Tensor // absent
}

// chronicle is sequences and, beside them, a plain account of every episode.
type chronicle struct {
	s        *rl.Scope
	table    *replay.Sequences[lived]
	how      replay.SequenceOptions
	capacity int
	envs     int
	steps    int
	done     [][]bool // by step, environment
	often    int      // one in so many steps ends an episode
}

func newChronicle(t testing.TB, envs, capacity int, how replay.SequenceOptions) *chronicle {
	s := scope(t)
	return &chronicle{s: s, envs: envs, capacity: capacity, how: how, often: 6,
		table: replay.NewSequences[lived](s, "table", capacity, how)}
}

// add inserts one step, with ends by chance.
func (c *chronicle) add() {
	done := make([]bool, c.envs)
	for e := range done {
		done[e] = rl.NewKey(7).IntN(c.steps, e, c.often) == 0
	}
	c.insert(done...)
}

func (c *chronicle) insert(done ...bool) {
	x, memory := make([]float32, 2*c.envs), make([]float32, c.envs)
	for e := range c.envs {
		x[2*e], x[2*e+1] = float32(c.steps), float32(e)
		memory[e] = float32(1 + 100*c.steps + e)
	}
	c.table.Insert(lived{X: rl.FromFlat(c.s, x, c.envs, 2), Memory: rl.FromFlat(c.s, memory, c.envs, 1)}, rl.FromFlat(c.s, done, c.envs))
	c.done = append(c.done, done)
	c.steps++
}

// sequence is one that can be drawn, by the plain account.
type sequence struct {
	valid  int
	begins bool
}

// sequences goes through every episode from its beginning and cuts it up.
func (c *chronicle) sequences() map[int64]sequence {
	out := map[int64]sequence{}
	for e := range c.envs {
		for begin := 0; begin < c.steps; {
			end := begin // the step that ends the episode, or the number of steps
			for end < c.steps && !c.done[end][e] {
				end++
			}
			covered := begin // the first step that is in no sequence yet
			for at := begin; at <= end && at < c.steps; at += c.how.Stride {
				valid := min(c.how.Length, end-at+1)
				whole := at+c.how.Length <= c.steps
				if ended := end < c.steps; (whole || ended) && at+valid > covered {
					covered = at + valid
					if row := at*c.envs + e; row >= c.steps*c.envs-c.capacity {
						out[int64(row)] = sequence{valid, at == begin}
					}
				}
			}
			begin = end + 1
		}
	}
	return out
}

// check compares a sample with the account.
func (c *chronicle) check(t *testing.T, s replay.Sample[lived]) {
	t.Helper()
	want, n := c.sequences(), c.how.Length
	x, memory := rl.Read[float32](s.Data.X), rl.Read[float32](s.Data.Memory)
	valid, learn := rl.Read[bool](s.Valid), rl.Read[bool](s.Learn)
	if s.Data.Extra.Ok() || s.Discount.Ok() {
		t.Error("an absent tensor is there")
	}
	for i, r := range rl.Read[int64](s.Index) {
		w, ok := want[r]
		if !ok {
			t.Fatalf("row %d begins no sequence: %v", r, want)
		}
		step, e := int(r)/c.envs, int(r)%c.envs
		burn, old := c.how.BurnIn, float32(1+100*step+e)
		if w.begins {
			burn, old = 0, 0
		}
		if memory[i] != old {
			t.Fatalf("row %d has memory %v, want %v", r, memory[i], old)
		}
		for j := range n {
			at := i*n + j
			if valid[at] != (j < w.valid) || learn[at] != (j < w.valid && j >= burn) {
				t.Fatalf("row %d, step %d: valid %v, learn %v; want %+v", r, j, valid[at], learn[at], w)
			}
			if valid[at] && (x[2*at] != float32(step+j) || x[2*at+1] != float32(e)) {
				t.Fatalf("row %d, step %d is %v", r, j, x[2*at:2*at+2])
			}
		}
	}
}

// TestSequences compares samples with a plain account of every episode, over rings
// that wrap in the middle of a step and of a stride, and sequences that overlap more
// and less.
func TestSequences(t *testing.T) {
	for _, c := range []struct {
		envs, capacity int
		how            replay.SequenceOptions
	}{
		{1, 20, replay.SequenceOptions{Length: 4, Stride: 2, BurnIn: 1}},
		{1, 17, replay.SequenceOptions{Length: 5, Stride: 3}},
		{3, 40, replay.SequenceOptions{Length: 4, Stride: 1}},
		{3, 40, replay.SequenceOptions{Length: 6, BurnIn: 2}},
		{2, 8, replay.SequenceOptions{Length: 4, Stride: 2}},
		{3, 31, replay.SequenceOptions{Length: 1}},
		{3, 50, replay.SequenceOptions{Length: 8, Stride: 3, BurnIn: 4, Priority: true}},
		{4, 64, replay.SequenceOptions{Length: 3, Stride: 2, Priority: true}},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			h := newChronicle(t, c.envs, c.capacity, c.how)
			if h.how.Stride == 0 {
				h.how.Stride = h.how.Length - h.how.BurnIn
			}
			for step := range 60 {
				h.add()
				n := len(h.sequences())
				if !h.table.Ready(n) || h.table.Ready(n+1) {
					t.Fatalf("after %d steps not ready for %d sequences, or for more", step+1, n)
				}
				if n == 0 {
					continue
				}
				s := h.table.Sample(h.s.Key("sample").Fold(uint64(step)), 16)
				h.check(t, s)
				if c.how.Priority {
					h.table.Prioritise(s.Index, iota32(h.s, 1, 16))
				}
			}
		})
	}
}

// TestSequencesByHand: sequences of four steps, two apart, one to warm up; an episode
// of seven steps, one of two, and the beginning of a third.
func TestSequencesByHand(t *testing.T) {
	h := newChronicle(t, 1, 100, replay.SequenceOptions{Length: 4, Stride: 2, BurnIn: 1})
	ready := []int{0, 0, 0, 1, 1, 2, 3, 3, 4, 4, 4, 4, 5} // after each step
	for i, want := range ready {
		h.insert(i == 6 || i == 8)
		if !h.table.Ready(want) || h.table.Ready(want+1) {
			t.Fatalf("after %d steps not ready for %d sequences, or for more", i+1, want)
		}
	}
	const T, F = true, false
	valid := map[int64][]bool{0: {T, T, T, T}, 2: {T, T, T, T}, 4: {T, T, T, F}, 7: {T, T, F, F}, 9: {T, T, T, T}}
	learn := map[int64][]bool{0: {T, T, T, T}, 2: {F, T, T, T}, 4: {F, T, T, F}, 7: {T, T, F, F}, 9: {T, T, T, T}}
	memory := map[int64]float32{0: 0, 2: 201, 4: 401, 7: 0, 9: 0} // row 6 would only repeat the end of row 4
	s := h.table.Sample(h.s.Key("sample"), 64)
	seen := map[int64]bool{}
	for i, r := range rl.Read[int64](s.Index) {
		seen[r] = true
		equal(t, fmt.Sprint("valid of ", r), rl.Read[bool](s.Valid)[4*i:4*i+4], valid[r])
		equal(t, fmt.Sprint("learn of ", r), rl.Read[bool](s.Learn)[4*i:4*i+4], learn[r])
		equal(t, fmt.Sprint("memory of ", r), rl.Read[float32](s.Data.Memory)[i:i+1], []float32{memory[r]})
		if p := rl.Read[float32](s.Prob)[i]; p != .2 {
			t.Errorf("row %d has probability %v, want .2", r, p)
		}
	}
	if len(seen) != 5 {
		t.Errorf("drawn: %v", seen)
	}
	equal(t, "shape", s.Data.X.Shape().Dimensions, []int{64, 4, 2})
}

// TestSequencesCover: every step of an episode that has ended is learned from in some
// sequence, whatever the stride and the burn-in.
func TestSequencesCover(t *testing.T) {
	for _, how := range []replay.SequenceOptions{{Length: 6, Stride: 2, BurnIn: 3}, {Length: 6, Stride: 3, BurnIn: 3}, {Length: 4, Stride: 4}, {Length: 5, Stride: 1, BurnIn: 4}} {
		h := newChronicle(t, 2, 1000, how)
		h.often = 12
		for range 100 {
			h.add()
		}
		learned := map[[2]int]bool{}
		s := h.table.Sample(h.s.Key("sample"), 4000)
		learn := rl.Read[bool](s.Learn)
		for i, r := range rl.Read[int64](s.Index) {
			for j := range how.Length {
				if learn[i*how.Length+j] {
					learned[[2]int{int(r)/2 + j, int(r) % 2}] = true
				}
			}
		}
		for e := range 2 {
			last := h.steps - 1
			for !h.done[last][e] {
				last--
			}
			for step := range last + 1 {
				if !learned[[2]int{step, e}] {
					t.Errorf("%+v: step %d of environment %d is never learned from", how, step, e)
				}
			}
		}
	}
}

// TestSequencesUniform: every sequence comes about equally often.
func TestSequencesUniform(t *testing.T) {
	h := newChronicle(t, 2, 40, replay.SequenceOptions{Length: 4, Stride: 2})
	for range 50 {
		h.add()
	}
	want := h.sequences()
	count, chi, each := map[int64]int{}, 0.0, 20_000/float64(len(want))
	for _, r := range rl.Read[int64](h.table.Sample(h.s.Key("sample"), 20_000).Index) {
		count[r]++
	}
	for r := range want {
		chi += math.Pow(float64(count[r])-each, 2) / each
	}
	// The bound is mean and five standard deviations.
	if free := float64(len(want) - 1); len(count) != len(want) || chi > free+5*math.Sqrt(2*free) {
		t.Errorf("%d of %d sequences, chi squared %.1f", len(count), len(want), chi)
	}
}

// TestSequencesPriority: sequences come as often as their priorities say; a new one has
// the largest so far, and one that was overwritten none.
func TestSequencesPriority(t *testing.T) {
	h := newChronicle(t, 1, 8, replay.SequenceOptions{Length: 2, Stride: 2, Priority: true})
	for range 8 {
		h.insert(false)
	}
	index := rl.FromFlat(h.s, []int64{0, 2, 4, 6}, 4)
	h.table.Prioritise(index, rl.FromFlat(h.s, []float32{1, 2, 3, 2}, 4))
	count := map[int64]int{}
	for _, r := range rl.Read[int64](h.table.Sample(h.s.Key("sample"), 8000).Index) {
		count[r]++
	}
	for r, want := range map[int64]int{0: 1000, 2: 2000, 4: 3000, 6: 2000} {
		if math.Abs(float64(count[r]-want)) > 2 { // one draw from each of 8000 equal parts
			t.Errorf("sequence %d was drawn %d times, want %d", r, count[r], want)
		}
	}
	h.insert(false) // overwrites row 0
	h.insert(false) // completes the sequence of row 8
	h.table.Prioritise(index, rl.FromFlat(h.s, []float32{9, 1, 1, 1}, 4))
	s := h.table.Sample(h.s.Key("sample"), 64)
	for i, r := range rl.Read[int64](s.Index) {
		if want := map[int64]float32{2: 1. / 6, 4: 1. / 6, 6: 1. / 6, 8: 3. / 6}[r]; rl.Read[float32](s.Prob)[i] != want {
			t.Fatalf("sequence %d has probability %v, want %v", r, rl.Read[float32](s.Prob)[i], want)
		}
	}
}

// TestSequencesResume: sequences that were saved and loaded go on as if nothing had
// been, at any moment: empty, in the first episode, full.
func TestSequencesResume(t *testing.T) {
	for _, at := range []int{0, 1, 3, 7, 40} {
		for _, how := range []replay.SequenceOptions{{Length: 4, Stride: 2, BurnIn: 1}, {Length: 3, Priority: true}} {
			t.Run(fmt.Sprint(at, how), func(t *testing.T) {
				a, b := newChronicle(t, 3, 40, how), newChronicle(t, 3, 40, how)
				work := func(h *chronicle) []rl.Tensor {
					if !h.table.Ready(1) {
						return nil
					}
					s := h.table.Sample(h.s.Key("sample").Fold(uint64(h.steps)), 8)
					if how.Priority {
						h.table.Prioritise(s.Index, iota32(h.s, 1, 8))
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
				for b.steps = a.steps; a.steps < at+15; {
					if x, y := work(a), work(b); !slices.EqualFunc(x, y, sameTensor) {
						t.Fatalf("samples differ: %v, %v", x, y)
					}
					a.add()
					b.add()
				}
				sameState(t, a.s, a.table, b.table)
			})
		}
	}
}

// sameState compares what two components save.
func sameState(t *testing.T, s *rl.Scope, a, b rl.Component) {
	t.Helper()
	x, y := rl.NewState(s), rl.NewState(s)
	a.Save(x)
	b.Save(y)
	same := func(p, q rl.Array) bool { return p.Name == q.Name && fmt.Sprint(p.Flat) == fmt.Sprint(q.Flat) }
	if !slices.EqualFunc(x.Arrays(), y.Arrays(), same) {
		t.Error("states differ")
	}
}

// TestSequencesMemory: steps are stored once, and memory once for each stride.
func TestSequencesMemory(t *testing.T) {
	h := newChronicle(t, 2, 80, replay.SequenceOptions{Length: 20, Stride: 10})
	for range 100 {
		h.add()
	}
	st := rl.NewState(h.s)
	h.table.Save(st)
	for _, a := range st.Arrays() {
		if want := map[string]int{"rows/0": 80 * 2, "rows/1": (80/2/10+1)*2 + 1}[a.Name]; want != 0 && a.Shape.Size() != want {
			t.Errorf("%s has %d numbers, want %d", a.Name, a.Shape.Size(), want)
		}
	}
}

// TestSequencesErrors: what is wrong is said.
func TestSequencesErrors(t *testing.T) {
	s := scope(t)
	name := 0
	table := func(capacity int, how replay.SequenceOptions) *replay.Sequences[lived] {
		name++
		return replay.NewSequences[lived](s, fmt.Sprint(name), capacity, how)
	}
	h := newChronicle(t, 1, 8, replay.SequenceOptions{Length: 2, Stride: 1, Priority: true})
	for range 3 {
		h.insert(false)
	}
	three := replay.SequenceOptions{Length: 3}
	flag := rl.FromFlat(s, make([]bool, 2), 2)
	for _, c := range []struct {
		f    func()
		part string
	}{
		{func() { table(0, three) }, "capacity 0: it must be at least 1 step"},
		{func() { table(9, replay.SequenceOptions{}) }, "Length must be at least 1"},
		{func() { table(9, replay.SequenceOptions{Length: 2, BurnIn: 2}) }, "leaves nothing of 2 steps"},
		{func() { table(9, replay.SequenceOptions{Length: 4, BurnIn: 2, Stride: 3}) }, "a stride of 3 leaves steps out: it may be 1 to 2"},
		{func() { replay.NewSequences[transition](s, "t", 9, three) }, `it may be "start"`},
		{func() { table(9, three).Sample(s.Key("x"), 1) }, "before one is complete"},
		{func() { table(5, three).Insert(lived{}, flag) }, "cannot hold 3 steps of 2 environments"},
		{func() { table(9, three).Prioritise(rl.Tensor{}, rl.Tensor{}) }, "drawn uniformly"},
		{func() { h.table.Insert(lived{}, flag) }, "other tensors"},
		{func() { h.table.Prioritise(rl.FromFlat(s, []int64{2}, 1), iota32(s, 1, 1)) }, "row 2 was never sampled"},
		{func() { h.table.Prioritise(rl.FromFlat(s, []int64{3}, 1), iota32(s, 1, 1)) }, "row 3 was never sampled"},
		{func() { h.table.Prioritise(rl.FromFlat(s, []int64{1}, 1), iota32(s, 0, 1)) }, "priority 0"},
	} {
		fails(t, c.f, c.part)
	}
	st := rl.NewState(h.s)
	h.table.Save(st)
	for _, how := range []replay.SequenceOptions{{Length: 3, Stride: 1, Priority: true}, {Length: 2, Stride: 2, Priority: true}} {
		if err := newChronicle(t, 1, 8, how).table.Load(st); err == nil {
			t.Errorf("%v: a state of other sequences was loaded", how)
		}
	}
	if h.table.InPart([]rl.Span{{Lo: 0, Hi: 1, Of: 1}}) == nil {
		t.Error("sequences may come in parts")
	}
}

// TestSequencesAllocations: those of a sample do not grow with its rows.
func TestSequencesAllocations(t *testing.T) {
	h := newChronicle(t, 4, 400, replay.SequenceOptions{Length: 8, Stride: 4, Priority: true})
	for range 100 {
		h.add()
	}
	of := func(n int) float64 {
		return testing.AllocsPerRun(50, func() { h.table.Sample(h.s.Key("sample"), n) })
	}
	if few, many := of(8), of(512); many > few+4 { // a few by chance
		t.Errorf("%v allocations for 8 sequences, %v for 512", few, many)
	}
}

// BenchmarkSequences measures a batch of 32 sequences of 40 small steps.
func BenchmarkSequences(b *testing.B) {
	for _, priority := range []bool{false, true} {
		b.Run(fmt.Sprintf("priority=%v", priority), func(b *testing.B) {
			h := newChronicle(b, 100, 100_000, replay.SequenceOptions{Length: 40, Stride: 20, BurnIn: 10, Priority: priority})
			h.often = 200
			for range 1000 {
				h.add()
			}
			k := h.s.Key("sample")
			b.ReportAllocs()
			for b.Loop() {
				h.table.Sample(k, 32)
			}
		})
	}
}
