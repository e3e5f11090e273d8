package replay_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// seen is a transition whose observations are stacks of pictures.
type seen struct {
	Obs    rl.Obs
	Reward rl.Tensor `replay:"sum"`
	Next   rl.Obs    `replay:"last"`
}

// naive is the same in a form of which the table stores whole rows.
type naive struct {
	Obs    rl.Obs
	Reward rl.Tensor            `replay:"sum"`
	Next   struct{ Was rl.Obs } `replay:"last"`
}

// watched is a step of a sequence with such observations.
type watched struct {
	Obs    rl.Obs
	Memory rl.Tensor `replay:"start"`
}

// film is environments that show stacks of frames: the episodes of each end at random,
// and begin with their first frame in all places.
type film struct {
	s      *rl.Scope
	dims   []int // of a frame, the last being channels
	frames int
	stacks [][][]byte // by environment, frames of the stack, oldest first
	step   int
}

func newFilm(s *rl.Scope, envs, frames int, dims ...int) *film {
	f := &film{s: s, dims: dims, frames: frames, stacks: make([][][]byte, envs)}
	for e := range f.stacks {
		f.stacks[e] = slices.Repeat([][]byte{f.frame(0, e)}, frames)
	}
	return f
}

// frame returns a new frame. Every seventh is black, as several in a row may be.
func (f *film) frame(step, e int) []byte {
	size := 1
	for _, d := range f.dims {
		size *= d
	}
	out := make([]byte, size)
	if k := rl.NewKey(5).Fold(uint64(step)); k.IntN(e, 0, 7) > 0 {
		for i := range out {
			out[i] = byte(k.IntN(e, i+1, 256))
		}
	}
	return out
}

// show returns the stacks as a batch of observations.
func (f *film) show(stacks [][][]byte, first []bool) rl.Obs {
	channels := f.dims[len(f.dims)-1]
	var flat []byte
	for _, s := range stacks {
		for i := 0; i < len(s[0]); i += channels {
			for _, frame := range s {
				flat = append(flat, frame[i:i+channels]...)
			}
		}
	}
	return rl.Obs{X: rl.One(rl.FromFlat(f.s, flat, append([]int{len(stacks)}, f.row()...)...)), First: rl.FromFlat(f.s, first, len(first))}
}

// row returns the dimensions of a stack.
func (f *film) row() []int {
	out := slices.Clone(f.dims)
	out[len(out)-1] *= f.frames
	return out
}

// next takes a step: what was seen, what it led to, and where an episode ended. Of those
// that end, some begin again with a frame that was there before.
func (f *film) next() (obs, final rl.Obs, done rl.Tensor) {
	f.step++
	n := len(f.stacks)
	over, no := make([]bool, n), make([]bool, n)
	obs = f.show(f.stacks, no)
	finals := make([][][]byte, n)
	for e, s := range f.stacks {
		finals[e] = append(slices.Clone(s[1:]), f.frame(f.step, e))
		f.stacks[e] = finals[e]
		if over[e] = rl.NewKey(9).IntN(f.step, e, 6) == 0; over[e] {
			f.stacks[e] = slices.Repeat([][]byte{f.frame(-f.step/3, e)}, f.frames)
		}
	}
	return obs, f.show(finals, no), rl.FromFlat(f.s, over, n)
}

// TestFrames: tables that store frames once lend out what tables of whole stacks do, and
// have the same state: over random episodes, with the table full and overwritten, rows of
// several steps and sequences, and over a checkpoint.
func TestFrames(t *testing.T) {
	for _, c := range []struct {
		frames, envs, capacity int
		dims                   []int
	}{{4, 3, 50, []int{5, 7, 1}}, {2, 5, 33, []int{3, 3, 3}}, {3, 1, 7, []int{300}}, {1, 2, 40, []int{300}}, {4, 2, 2, []int{1, 1, 1}}} {
		for _, how := range []replay.Options{{}, {NStep: 3, Discount: .9}, {Sequence: 2}, {Priority: true}} {
			t.Run(fmt.Sprint(c, how), func(t *testing.T) {
				if max(1, how.NStep, how.Sequence)*c.envs > c.capacity {
					how = replay.Options{}
				}
				plain, once := scope(t), scope(t)
				f := newFilm(plain, c.envs, c.frames, c.dims...)
				if c.frames > 1 {
					once.SetStacked(shapes.Make(dtypes.Uint8, f.row()...), c.frames)
				}
				a := replay.NewTable[naive](plain, "table", c.capacity, how)
				b := replay.NewTable[seen](once, "table", c.capacity, how)
				for i := range 80 {
					obs, final, done := f.next()
					reward := iota32(plain, i, c.envs)
					a.Insert(naive{obs, reward, struct{ Was rl.Obs }{final}}, done)
					b.Insert(seen{obs, reward, final}, done)
					if i == 40 || i == 75 {
						b = reloaded(t, once, b, c.capacity, how)
					}
					if !a.Ready(1) {
						continue
					}
					x, y := a.Sample(rl.NewKey(uint64(i)), 9), b.Sample(rl.NewKey(uint64(i)), 9)
					if !slices.EqualFunc(rl.Leaves(x), rl.Leaves(y), sameBytes) {
						t.Fatalf("samples of step %d differ: %v, %v", i, x.Data, y.Data)
					}
				}
				sameRows(t, saved(plain, a.Save), saved(once, b.Save))
			})
		}
	}
}

// reloaded returns the table after a checkpoint, with views in place of copies.
func reloaded(t *testing.T, s *rl.Scope, b *replay.Table[seen], capacity int, how replay.Options) *replay.Table[seen] {
	t.Helper()
	st := rl.System.Viewing(rl.NewState(s))
	b.Save(st)
	back := rl.NewState(s)
	for _, x := range rl.System.Stored(st.Arrays()) {
		back.Add(x)
	}
	again := replay.NewTable[seen](s.Child("again"), "table", capacity, how)
	if err := again.Load(back); err != nil {
		t.Fatal(err)
	}
	return again
}

func saved(s *rl.Scope, save func(*rl.State)) []rl.Array {
	st := rl.NewState(s)
	save(st)
	return st.Arrays()
}

func sameBytes(a, b rl.Tensor) bool {
	if a.Ok() != b.Ok() || !a.Ok() {
		return a.Ok() == b.Ok()
	}
	return a.Shape().Equal(b.Shape()) && fmt.Sprint(rl.Flat(a)) == fmt.Sprint(rl.Flat(b))
}

// sameRows compares states in all but the form of rows.
func sameRows(t *testing.T, a, b []rl.Array) {
	t.Helper()
	same := func(p, q rl.Array) bool {
		return p.Name == q.Name && (p.Name == "form" || p.Shape.Equal(q.Shape) && fmt.Sprint(p.Flat) == fmt.Sprint(q.Flat))
	}
	if !slices.EqualFunc(a, b, same) {
		t.Error("states differ")
	}
}

// TestFramesOfSequences: sequences of stacks are those of whole rows.
func TestFramesOfSequences(t *testing.T) {
	plain, once := scope(t), scope(t)
	f := newFilm(plain, 3, 4, 5, 5, 1)
	once.SetStacked(shapes.Make(dtypes.Uint8, 5, 5, 4), 4)
	how := replay.SequenceOptions{Length: 4, Stride: 2, BurnIn: 1}
	a, b := replay.NewSequences[watched](plain, "s", 50, how), replay.NewSequences[watched](once, "s", 50, how)
	for i := range 60 {
		obs, _, done := f.next()
		memory := iota32(plain, i, 3, 2)
		a.Insert(watched{obs, memory}, done)
		b.Insert(watched{obs, memory}, done)
		if a.Ready(1) {
			x, y := a.Sample(rl.NewKey(uint64(i)), 5), b.Sample(rl.NewKey(uint64(i)), 5)
			if !slices.EqualFunc(rl.Leaves(x), rl.Leaves(y), sameBytes) {
				t.Fatalf("samples of step %d differ", i)
			}
		}
	}
	sameRows(t, saved(plain, a.Save), saved(once, b.Save))
}

// heap returns the bytes that fill leaves on the heap.
func heap(fill func() any) int {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := fill()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return int(after.HeapAlloc) - int(before.HeapAlloc)
}

// TestAtariMemory: a million transitions of the size of Atari's fit in 8 GB, episodes
// being as long as a life of Breakout. The test has a four-hundredth of them.
func TestAtariMemory(t *testing.T) {
	const rows, envs, life = 2500, 1, 50
	s := scope(t)
	s.SetStacked(shapes.Make(dtypes.Uint8, 84, 84, 4), 4)
	stack := make([]byte, 84*84*4)
	next := func(i int) rl.Tensor {
		for p := 0; p < len(stack); p += 4 {
			copy(stack[p:], stack[p+1:p+4])
			stack[p+3] = byte(i*i + i>>8 + p*i)
		}
		if i%life == 0 {
			for p := 0; p < len(stack); p += 4 {
				stack[p], stack[p+1], stack[p+2] = stack[p+3], stack[p+3], stack[p+3]
			}
		}
		return rl.FromFlat(s, stack, envs, 84, 84, 4)
	}
	got := heap(func() any {
		table := replay.NewTable[seen](s, "table", rows, replay.Options{})
		obs := next(0)
		for i := range 2 * rows {
			final := next(i + 1)
			over := (i+1)%life == 0
			table.Insert(seen{rl.Obs{X: rl.One(obs)}, iota32(s, i, envs), rl.Obs{X: rl.One(final)}}, rl.FromFlat(s, []bool{over}, envs))
			if obs = final; over {
				obs = next(life * (i + 1))
			}
		}
		return table
	})
	t.Logf("%d bytes a row; whole stacks would take %d", got/rows, 2*len(stack)+5)
	if got*(1_000_000/rows) > 8_000_000_000 {
		t.Errorf("a million rows take %.2f GB", float64(got)*1_000_000/rows/1e9)
	}
}

// TestCheetahMemory: a million transitions of HalfCheetah cost at most 1.1 times their
// bytes.
func TestCheetahMemory(t *testing.T) {
	type transition struct {
		Obs        rl.Obs
		Action     rl.Tree
		Reward     rl.Tensor `replay:"sum"`
		Next       rl.Obs    `replay:"last"`
		Terminated rl.Tensor `replay:"last"`
	}
	const rows, envs = 1_000_000, 1000
	s := scope(t)
	flag := rl.FromFlat(s, make([]bool, envs), envs)
	obs := rl.Obs{X: rl.One(iota32(s, 0, envs, 17)), First: flag}
	row := transition{obs, rl.One(iota32(s, 0, envs, 6)), iota32(s, 0, envs), obs, flag}
	bytes := 0
	for _, x := range rl.Leaves(row) {
		if x.Ok() {
			bytes += x.Shape().Size() / envs * x.Shape().DType.Size()
		}
	}
	got := heap(func() any {
		table := replay.NewTable[transition](s, "table", rows, replay.Options{})
		for range rows / envs {
			table.Insert(row, flag)
		}
		return table
	})
	t.Logf("%d bytes a row, of %d", got/rows, bytes)
	if float64(got) > 1.1*rows*float64(bytes) {
		t.Errorf("%d bytes a row, of %d", got/rows, bytes)
	}
}
