package rl

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/internal/rowcopy"
)

// stacked is a shape of rows that are frames joined along the last axis.
type stacked struct {
	row    shapes.Shape
	frames int
}

// SetStacked records that observations with rows of this shape are this many frames joined along
// the last axis, the oldest first. Code that opens environments calls it.
func (s *Scope) SetStacked(row shapes.Shape, frames int) {
	s.stacks = append(s.stacks, stacked{row, frames})
}

// Stacked returns how many frames rows of this shape are, 1 if they are none.
func (s *Scope) Stacked(row shapes.Shape) int {
	for _, k := range s.stacks {
		if k.row.Equal(row) {
			return k.frames
		}
	}
	return 1
}

// Frames is the memory of several rings whose rows have much in common: observations
// and their successors, stacks of frames. Every frame is kept once, as long as a row of
// one of the rings has it. Whether two frames are the same is found by comparing their
// bytes with those that the row's environment had lately, so that what is read is
// always what was put.
type Frames struct {
	storage *Storage
	name    string       // name in states
	envs    int          // rows that are put at once
	row     shapes.Shape // shape of a ring's row
	n       int          // frames of a row
	size    int          // bytes of a frame
	inner   int          // bytes of a frame that lie together in a row
	each    int          // frames of a chunk
	chunks  []*Ring      // [each, size] uint8
	refs    []uint32     // number of rows that have a frame, by frame
	free    []int32      // frames that no row has
	recent  [][]int32    // frames of the last rows, oldest first, by environment
	last    []int32      // scratch: the frames of a row
	buffer  []byte       // scratch: a row, frame by frame
}

// lookBack is the number of rows that a row may have frames in common with: with the
// row before it, its own successor, and those of other environments where parts of the
// environments take turns.
const lookBack = 8

// NewFrames returns the memory of rings of slots rows like those of x, [rows, ...],
// which are n frames joined along the last axis. States have it under a name.
func NewFrames(s *Scope, name string, slots int, x Tensor, n int) *Frames {
	f := newFrames(s.storage, name, slots, x.Rows(), rowOf(x), n)
	if s.storage != nil { // room on a disk is best found missing at once
		f.reserve(slots)
	}
	return f
}

func newFrames(at *Storage, name string, slots, envs int, row shapes.Shape, n int) *Frames {
	last := 1
	if row.Rank() > 0 {
		last = row.Dimensions[row.Rank()-1]
	}
	if n < 1 || last%n != 0 {
		failf("rows of shape %s are not %d frames joined along the last axis", row, n)
	}
	size := row.Size() * row.DType.Size()
	few := (1<<20 + size/n - 1) / max(1, size/n) // frames of a chunk that is worth to be one
	f := &Frames{
		storage: at, name: name, envs: envs, row: row, n: n, size: size / n, inner: last * row.DType.Size() / n,
		each: max(1, (slots+63)/64, min(slots, few)), last: make([]int32, n), buffer: make([]byte, size),
	}
	if n == 1 {
		f.inner = size
	}
	return f
}

// reserve allocates memory for n frames at once.
func (f *Frames) reserve(n int) {
	for len(f.chunks)*f.each < n {
		f.grow()
	}
}

// grow makes room for more frames.
func (f *Frames) grow() {
	f.chunks = append(f.chunks, newRing(f.storage, f.each, shapes.Make(dtypes.Uint8, f.size)))
	lo := len(f.refs)
	f.refs = append(slices.Grow(f.refs, f.each), make([]uint32, f.each)...)
	f.free = slices.Grow(f.free, f.each)
	for i := len(f.refs) - 1; i >= lo; i-- {
		f.free = append(f.free, int32(i))
	}
}

// frame returns the bytes of a frame.
func (f *Frames) frame(i int32) []byte { return f.chunks[int(i)/f.each].at(int(i) % f.each) }

// keep finds or stores the frames of a row of an environment, and counts them. The
// result is valid until the next call.
func (f *Frames) keep(env int, row []byte) []int32 {
	for len(f.recent) <= env {
		f.recent = append(f.recent, nil)
	}
	known := f.recent[env]
	rowcopy.Split(f.buffer, row, f.n, f.inner)
	for j := range f.last {
		frame := f.buffer[j*f.size : (j+1)*f.size]
		f.last[j] = f.find(known, f.last[:j], frame)
		f.refs[f.last[j]]++
	}
	if known = append(known, f.last...); len(known) > lookBack*f.n {
		known = append(known[:0], known[len(known)-lookBack*f.n:]...)
	}
	f.recent[env] = known
	return f.last
}

// find returns the number of a frame: that of an equal one among those of this row or
// those that are known, or a new one.
func (f *Frames) find(known, row []int32, frame []byte) int32 {
	for _, among := range [][]int32{row, known} {
		for _, i := range slices.Backward(among) {
			if f.refs[i] > 0 && bytes.Equal(f.frame(i), frame) {
				return i
			}
		}
	}
	if len(f.free) == 0 {
		f.grow()
	}
	i := f.free[len(f.free)-1]
	f.free = f.free[:len(f.free)-1]
	f.chunks[int(i)/f.each].write(int(i)%f.each*f.size, frame)
	return i
}

// drop uncounts the frames of a row that is overwritten.
func (f *Frames) drop(row []int32) {
	for _, i := range row {
		if f.refs[i]--; f.refs[i] == 0 {
			f.free = append(f.free, i)
		}
	}
}

// join writes the row of so many frames.
func (f *Frames) join(out []byte, row []int32) {
	if len(row) == 1 {
		copy(out, f.frame(row[0]))
		return
	}
	frames := make([][]byte, 0, 16)
	for _, i := range row {
		frames = append(frames, f.frame(i))
	}
	rowcopy.Join(out, frames, f.inner)
}

// Stacks is a ring whose rows are in Frames. It is used as a Ring is.
type Stacks struct {
	frames *Frames
	slots  int
	index  *Ring  // [slots, n] int32
	used   []bool // slots that hold a row
}

// Ring returns a ring of slots rows.
func (f *Frames) Ring(slots int) *Stacks {
	return &Stacks{f, slots, newRing(f.storage, slots, shapes.Make(dtypes.Int32, f.n)), make([]bool, slots)}
}

// row returns the numbers of a slot's frames.
func (r *Stacks) row(slot int) []int32 {
	n := r.frames.n
	return r.index.flat.([]int32)[slot*n : (slot+1)*n]
}

// put gives a slot a row of an environment.
func (r *Stacks) put(slot, env int, row []byte) {
	now := r.frames.keep(env, row)
	if r.used[slot] {
		r.frames.drop(r.row(slot))
	}
	r.used[slot] = true
	r.index.write(slot*4*len(now), dtypes.UnsafeByteSlice(now))
}

// Put writes the rows of x, one for each environment, from a slot on, and goes on at
// slot 0 after the last.
func (r *Stacks) Put(at int, x Tensor) {
	n := x.Rows()
	if want := batchOf(r.frames.row, n); !x.Shape().Equal(want) || n > r.slots || at < 0 || at >= r.slots {
		failf("a store of %d rows like %s is given %s", r.slots, r.frames.row, x.Shape())
	}
	src, size := bytesOf(x), r.frames.n*r.frames.size
	for i := range n {
		r.put((at+i)%r.slots, i, src[i*size:(i+1)*size])
	}
}

// PutRow writes row i of x, of environment i, into a slot.
func (r *Stacks) PutRow(slot int, x Tensor, i int) {
	if n := x.Rows(); !x.Shape().Equal(batchOf(r.frames.row, n)) || i < 0 || i >= n || slot < 0 || slot >= r.slots {
		failf("slot %d of a store of %d rows like %s is given row %d of %s", slot, r.slots, r.frames.row, i, x.Shape())
	}
	size := r.frames.n * r.frames.size
	r.put(slot, i, bytesOf(x)[i*size:(i+1)*size])
}

// Gather returns the rows of slots, as a tensor [lead..., ...]; lead is len(slots) if
// it is not given. Of a slot that holds nothing the row is zero.
func (r *Stacks) Gather(s *Scope, slots []int, lead ...int) Tensor {
	if len(lead) == 0 {
		lead = []int{len(slots)}
	}
	checkSlots(slots, r.slots)
	return s.dev.fresh(batchOf(r.frames.row, lead...), func(flat any) {
		out, size := dtypes.UnsafeByteSliceFromAny(flat), r.frames.n*r.frames.size
		for i, slot := range slots {
			if row := out[i*size : (i+1)*size]; r.used[slot] {
				r.frames.join(row, r.row(slot))
			} else {
				clear(row)
			}
		}
	})
}

// Tensor returns all slots as a tensor.
func (r *Stacks) Tensor(s *Scope) Tensor {
	all := make([]int, r.slots)
	for i := range all {
		all[i] = i
	}
	return r.Gather(s, all)
}

// Take takes all slots over from a tensor.
func (r *Stacks) Take(x Tensor) {
	src, size := bytesOf(x), r.frames.n*r.frames.size
	for i := range r.slots {
		r.put(i, i%max(1, r.frames.envs), src[i*size:(i+1)*size])
	}
}

// Save puts the first rows slots under a name, and the frames beside them, if no other
// ring has put them yet.
func (r *Stacks) Save(s *State, name string, rows int) {
	f := r.frames
	if !s.set.viewing {
		flat := makeFlat(batchOf(f.row, rows))
		out, size := dtypes.UnsafeByteSliceFromAny(flat), f.n*f.size
		for i := range rows {
			if r.used[i] {
				f.join(out[i*size:(i+1)*size], r.row(i))
			}
		}
		s.Add(Array{Name: name, Shape: batchOf(f.row, rows), Flat: flat})
		return
	}
	k := &Framing{Inner: f.inner, Each: f.each, Index: name + "/index"}
	s.Add(Array{Name: k.Index, Shape: r.index.batch(rows), Source: r.index.view(rows), Part: true})
	s.Add(Array{Name: name + "/of", Shape: shapes.Make(dtypes.Uint8, len(f.name)), Flat: []byte(f.name), Part: true})
	put := !s.Has(f.name + "/row")
	if put {
		dims := []int64{int64(f.row.DType), int64(f.n), int64(f.envs)}
		for _, d := range f.row.Dimensions {
			dims = append(dims, int64(d))
		}
		s.Add(Array{Name: f.name + "/row", Shape: shapes.Make(dtypes.Int64, len(dims)), Flat: dims, Part: true})
	}
	for i, c := range f.chunks {
		k.Of = append(k.Of, fmt.Sprintf("%s/%d", f.name, i))
		if put {
			s.Add(Array{Name: k.Of[i], Shape: c.batch(c.slots), Source: c.view(c.slots), Part: true})
		}
	}
	s.Add(Array{Name: name, Shape: batchOf(f.row, rows), Framing: k})
}

// HasStacks reports whether a ring of stacks was saved under name.
func HasStacks(s *State, name string) bool { return s.Has(name + "/index") }

// LoadStacks returns a ring of slots rows that was saved under name. Rings that share
// their frames must be loaded with the same map, which holds those that are known.
func LoadStacks(s *State, name string, slots int, known map[string]*Frames) *Stacks {
	of := string(GetSlice[byte](s, name+"/of"))
	if known[of] == nil && s.Err() == nil {
		known[of] = loadFrames(s, of, slots)
	}
	if s.Err() != nil {
		return nil
	}
	return known[of].load(s, name, slots)
}

// loadFrames returns the frames saved under name, which no row has yet.
func loadFrames(s *State, name string, slots int) *Frames {
	dims := GetSlice[int64](s, name+"/row")
	if s.Err() != nil || len(dims) < 3 {
		s.fail(fmt.Errorf("state %q has %d elements, want at least 3", s.prefix+name+"/row", len(dims)))
		return nil
	}
	row := shapes.Shape{DType: dtypes.DType(dims[0])}
	for _, d := range dims[3:] {
		row.Dimensions = append(row.Dimensions, int(d))
	}
	f := newFrames(s.set.storage, name, slots, int(dims[2]), row, int(dims[1]))
	for i := 0; s.Has(fmt.Sprint(name, "/", i)); i++ {
		c := LoadRing(s, fmt.Sprint(name, "/", i), f.each)
		if c == nil {
			return nil
		}
		if c.rowSize() != f.size {
			s.fail(fmt.Errorf("state %q has frames of %d bytes, want %d", s.prefix+name, c.rowSize(), f.size))
			return nil
		}
		f.chunks, f.refs = append(f.chunks, c), append(f.refs, make([]uint32, f.each)...)
	}
	if f.storage != nil {
		f.reserve(slots)
	}
	return f
}

// load returns a ring that was saved under name.
func (f *Frames) load(s *State, name string, slots int) *Stacks {
	index := LoadRing(s, name+"/index", slots)
	if index == nil {
		return nil
	}
	rows := 0
	if a, ok := s.stored(name + "/index"); ok {
		rows = a.Shape.Dimensions[0]
	}
	r := &Stacks{f, slots, index, make([]bool, slots)}
	for i := range rows {
		r.used[i] = true
		for _, k := range r.row(i) {
			if k < 0 || int(k) >= len(f.refs) {
				s.fail(fmt.Errorf("state %q has frame %d of %d", s.prefix+name, k, len(f.refs)))
				return nil
			}
			f.refs[k]++
		}
	}
	f.free = f.free[:0]
	for i := len(f.refs) - 1; i >= 0; i-- {
		if f.refs[i] == 0 {
			f.free = append(f.free, int32(i))
		}
	}
	return r
}
