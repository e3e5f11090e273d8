// Package ring carries bytes between two processes of one host through memory that
// both have: nothing is copied by the kernel, and nobody calls it while both are awake.
//
// A Pipe has a ring of bytes for each direction. Who finds nothing to read, or no room
// to write, says so in the shared memory and sleeps on an eventfd, which the other side
// then rings. The Unix socket that the memory was handed over by stays open: its end is
// the other process's. The memory has no name, so nothing of it is left when both
// processes are gone, however they went.
//
// The other side is not trusted with anything but its own bytes: each side keeps its
// own positions to itself, believes no position that cannot be, and has sealed the
// memory's size. What was read is a copy, which nobody can change any more.
package ring

import (
	"errors"
	"sync/atomic"
	"unsafe"
)

// ErrBroken means that the other side wrote positions into the memory that cannot be.
var ErrBroken = errors.New("shared memory: the other process's positions cannot be")

const (
	// capacity of one direction: a few frames, and no more than what stays in a core's
	// cache.
	capacity = 1 << 20
	// control is the page before a direction's bytes.
	control = 4 << 10
	// part is how much is written before the reader hears of it: it copies one while
	// the next is written.
	part = 64 << 10
	// total is the memory's size.
	total = 2 * (control + capacity)
)

// lane is one direction, as it lies in the shared memory: each word on a cache line
// of its own.
type lane struct {
	head *atomic.Uint64 // bytes written so far, which the writer says
	tail *atomic.Uint64 // bytes read so far, which the reader says
	idle *atomic.Uint32 // the reader sleeps
	full *atomic.Uint32 // the writer sleeps
	busy *atomic.Uint32 // the writer's process computes, or was given something to
	data []byte
}

// laneAt returns the lane at a place of the memory.
func laneAt(mem []byte, at int) lane {
	word := func(i int) unsafe.Pointer { return unsafe.Pointer(&mem[at+i*64]) }
	data := at + control
	return lane{
		head: (*atomic.Uint64)(word(0)), tail: (*atomic.Uint64)(word(1)),
		idle: (*atomic.Uint32)(word(2)), full: (*atomic.Uint32)(word(3)), busy: (*atomic.Uint32)(word(4)),
		data: mem[data : data+capacity : data+capacity],
	}
}

// writer is the writing side's knowledge of a lane.
type writer struct {
	lane
	at   uint64 // bytes written
	told uint64 // bytes that the reader knows of
	seen uint64 // bytes that were read, as far as was looked
}

// room returns how many bytes can be written, looking again where there seem to be none.
func (w *writer) room() (int, error) {
	if w.at-w.seen == capacity {
		seen := w.tail.Load()
		if w.at-seen > capacity {
			return 0, ErrBroken // and it stays unknown, so that nothing is done by it later either
		}
		w.seen = seen
	}
	return int(capacity - (w.at - w.seen)), nil
}

// put writes as much as fits.
func (w *writer) put(b []byte) (int, error) {
	free, err := w.room()
	if err != nil {
		return 0, err
	}
	n := min(free, len(b), int(w.told+part-w.at)) // up to the end of a part
	b = b[:n]
	at := int(w.at % capacity)
	copy(w.data, b[copy(w.data[at:], b):])
	w.at += uint64(n)
	return n, nil
}

// tell lets the reader know of all that was written, and reports whether it sleeps.
func (w *writer) tell() bool {
	if w.told == w.at {
		return false
	}
	w.told = w.at
	w.head.Store(w.at)
	return w.idle.Load() == 1 && w.idle.Swap(0) == 1
}

// reader is the reading side's knowledge of a lane.
type reader struct {
	lane
	at   uint64 // bytes read
	seen uint64 // bytes written, as far as was looked
}

// there returns how many bytes can be read, looking again where there seem to be none.
func (r *reader) there() (int, error) {
	if r.at == r.seen {
		seen := r.head.Load()
		if seen-r.at > capacity {
			return 0, ErrBroken // as in room
		}
		r.seen = seen
	}
	return int(r.seen - r.at), nil
}

// get reads what there is, up to len(b); wake reports whether the writer sleeps and
// half of the room is free again.
func (r *reader) get(b []byte) (n int, wake bool, err error) {
	n, err = r.there()
	if n = min(n, len(b)); err != nil || n == 0 {
		return 0, false, err
	}
	b = b[:n]
	at := int(r.at % capacity)
	first := copy(b, r.data[at:])
	copy(b[first:], r.data)
	r.at += uint64(n)
	r.tail.Store(r.at)
	if r.full.Load() == 1 && r.head.Load()-r.at <= capacity/2 {
		wake = r.full.Swap(0) == 1
	}
	return n, wake, nil
}
