//go:build xla

package pjrt

/*
#include <stdlib.h>
*/
import "C"

import (
	"math/bits"
	"runtime"
	"sync"
	"unsafe"
)

// staging is the host's memory that transfers go by: one allocation outside of Go's heap,
// page-locked where the plugin can do that, so that a device reads and writes it by itself. It is
// taken in slots, which are used again and again; a transfer has its slot until its event has been.
// When no slot is free, or what is transferred is too large, transfers go by the caller's memory,
// and the plugin has to see to it.
type staging struct {
	client client
	lock   bool // pages are to be locked

	mu     sync.Mutex
	memory []byte // nil before the first transfer, and where there can be none
	opened bool
	locked bool
	used   int // bytes of which slots were made
	slots  []*slot
	free   [slotClasses][]*slot // the longest free first
}

const (
	stagingSize = 8 << 20
	slotLeast   = 12 // slots are of 4 KiB
	slotClasses = 9  // number of size classes, up to 1 MiB
	pageSize    = 1 << slotLeast
)

// slot is memory of one transfer at a time.
type slot struct {
	of    *staging
	class int

	mu   sync.Mutex
	data []byte // nil once the memory is gone
	busy event  // transfer that uses the memory; nil when it is over
}

// take returns a slot of at least n bytes; nil if there is none.
func (s *staging) take(n int) *slot {
	class := max(0, bits.Len(uint(max(n, 1)-1))-slotLeast)
	if class >= slotClasses {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.free[class]; len(q) > 0 && q[0].over() {
		one := q[0]
		s.free[class] = append(q[:0], q[1:]...)
		return one
	}
	return s.cut(class)
}

// cut makes another slot, if there is room.
func (s *staging) cut(class int) *slot {
	s.open()
	size := pageSize << class
	if s.used+size > len(s.memory) {
		return nil
	}
	one := &slot{of: s, class: class, data: s.memory[s.used : s.used+size : s.used+size]}
	s.used += size
	s.slots = append(s.slots, one)
	return one
}

// open allocates the memory, once.
func (s *staging) open() {
	if s.opened {
		return
	}
	s.opened = true
	if s.client.c == nil {
		return
	}
	if p := C.aligned_alloc(pageSize, stagingSize); p != nil {
		s.memory = unsafe.Slice((*byte)(p), stagingSize)
		s.locked = s.lock && s.client.lock(s.memory)
	}
}

// pinned reports whether transfers go by memory that is page-locked.
func (s *staging) pinned() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open()
	return s.locked
}

// close waits for transfers that are under way and gives the memory back.
func (s *staging) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = true
	for _, one := range s.slots {
		_ = one.settle() // nobody is left who could be told
		one.mu.Lock()
		one.data = nil
		one.mu.Unlock()
	}
	if s.locked {
		s.client.unlock(s.memory)
	}
	if s.memory != nil {
		C.free(unsafe.Pointer(&s.memory[0]))
	}
	s.memory, s.slots, s.free, s.locked = nil, nil, [slotClasses][]*slot{}, false
}

// over reports whether the slot's transfer is.
func (x *slot) over() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.busy != nil && !x.of.client.hasBeen(x.busy) {
		return false
	}
	_ = x.end() // whoever reads what was made of a failed upload is told
	return true
}

// settle waits for the slot's transfer.
func (x *slot) settle() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.end()
}

func (x *slot) end() error {
	if x.busy == nil {
		return nil
	}
	e := x.busy
	x.busy = nil
	return x.of.client.wait(e)
}

// give puts a slot back. A transfer that is under way keeps it from being taken until it is over.
func (x *slot) give() {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	if x.of.memory != nil {
		x.of.free[x.class] = append(x.of.free[x.class], x)
	}
}

// lend does what f does, an upload of the slot's memory, and gives the slot back.
func (x *slot) lend(f func()) {
	x.busy = x.of.client.lending(f)
	x.give()
}

// read is bytes that are on their way from a device to a slot.
type read struct {
	slot *slot
	left runtime.Cleanup // gives the slot back if nobody waits for the read
}

// begin lets f begin to read into the slot.
func (x *slot) begin(f func() error) (*read, error) {
	var err error
	if x.busy, err = x.of.client.begun(f); err != nil {
		x.give()
		return nil, err
	}
	r := &read{slot: x}
	r.left = runtime.AddCleanup(r, (*slot).give, x)
	return r, nil
}

// wait waits for the bytes and copies them. It is for one goroutine, once.
func (r *read) wait(to []byte) error {
	err := r.slot.settle()
	if err == nil {
		err = r.slot.copy(to)
	}
	r.left.Stop()
	r.slot.give()
	return err
}

// copy copies what a read has left in the slot.
func (x *slot) copy(to []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.data == nil {
		return errFinalized
	}
	copy(to, x.data)
	return nil
}
