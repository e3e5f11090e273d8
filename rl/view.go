package rl

import (
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"weak"
)

// blockSize is how many bytes of a ring are followed, and copied for a view, as one.
const blockSize = 256 << 10

// rings counts the rings made by this process.
var rings atomic.Uint64

// changes follows which blocks of a ring are written, and for which views.
type changes struct {
	id    uint64 // number of the ring, among those of this process
	mu    sync.Mutex
	clock uint64
	last  []uint64 // clock at a block's last write, by block
	views []weak.Pointer[View]
}

func newChanges() changes { return changes{id: rings.Add(1)} }

// View is a snapshot of the first rows of a ring. Taking it copies nothing: a block is copied when
// it is first written while a view exists. A view may be read by several goroutines while the ring
// is written. It ends with Release, or when nothing refers to it any more.
type View struct {
	ring *Ring
	size int64
	last []uint64       // clocks of the ring's blocks when the view was taken
	kept map[int][]byte // blocks that were written since, as they were
}

// view returns a view of the first rows slots.
func (r *Ring) view(rows int) *View {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.follow()
	v := &View{ring: r, size: int64(rows * r.rowSize()), last: slices.Clone(r.last), kept: map[int][]byte{}}
	r.views = append(r.views, weak.Make(v))
	return v
}

// follow makes room for what is known of the blocks. Its caller has the lock.
func (r *Ring) follow() {
	if r.last == nil {
		r.last = make([]uint64, (len(r.bytes)+blockSize-1)/blockSize)
	}
}

// write puts bytes at an offset.
func (r *Ring) write(at int, src []byte) {
	if len(src) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.follow()
	r.clock++
	for b := at / blockSize; b <= (at+len(src)-1)/blockSize; b++ {
		if r.last[b] = r.clock; len(r.views) > 0 {
			r.keep(b)
		}
	}
	copy(r.bytes[at:], src)
}

// keep gives the views of the ring a block as it is, before it changes.
func (r *Ring) keep(b int) {
	lo, hi := b*blockSize, min((b+1)*blockSize, len(r.bytes))
	var block []byte
	r.views = slices.DeleteFunc(r.views, func(p weak.Pointer[View]) bool {
		v := p.Value()
		if v == nil {
			return true
		}
		if _, kept := v.kept[b]; !kept && int64(lo) < v.size {
			if block == nil {
				block = slices.Clone(r.bytes[lo:hi])
			}
			v.kept[b] = block
		}
		return false
	})
}

// Release ends a view, which must not be read any more.
func (v *View) Release() {
	r := v.ring
	r.mu.Lock()
	defer r.mu.Unlock()
	r.views = slices.DeleteFunc(r.views, func(p weak.Pointer[View]) bool { return p.Value() == v })
	clear(v.kept)
}

// ReadAt implements io.ReaderAt.
func (v *View) ReadAt(p []byte, off int64) (n int, err error) {
	if short := v.size - off; short < int64(len(p)) {
		p, err = p[:max(0, short)], io.EOF
	}
	v.ring.mu.Lock()
	defer v.ring.mu.Unlock()
	for n < len(p) {
		at := int(off) + n
		b := at / blockSize
		block, kept := v.kept[b]
		if !kept {
			block = v.ring.bytes[b*blockSize : min((b+1)*blockSize, len(v.ring.bytes))]
		}
		n += copy(p[n:], block[at-b*blockSize:])
	}
	return n, err
}

// Stamp returns numbers that are the same for two views, and the same bytes in them,
// only if those bytes are the same: of the ring and of its last write there.
func (v *View) Stamp(from, to int64) [2]uint64 {
	last := uint64(0)
	for b := from / blockSize; b*blockSize < to; b++ {
		last = max(last, v.last[b])
	}
	return [2]uint64{v.ring.id, last}
}

// Kept returns the bytes that were copied for the view.
func (v *View) Kept() (n int) {
	v.ring.mu.Lock()
	defer v.ring.mu.Unlock()
	for block := range maps.Values(v.kept) {
		n += len(block)
	}
	return n
}
