// Package copies remembers where else a value is: on which devices D, and in Go's memory.
//
// A value is made in one place, the memory of Go or a device, and a program may ask for it on any
// device. It is brought there when it is first asked for and stays for as long as the value lives:
// weights cross once for each of their versions, a batch once although several programs read it,
// and what no program of a device reads never goes there.
package copies

import (
	"sync"
	"sync/atomic"

	"github.com/gomlx/compute"
)

// Set is the copies of one value. Its zero value has none. It is safe for use by several
// goroutines, and takes no lock: what it knows is replaced as a whole, never changed.
type Set[D comparable] struct{ now atomic.Pointer[known[D]] }

// known is where a value is.
type known[D comparable] struct {
	flat   any     // value in Go's memory
	coming *Coming // there soon
	bufs   []buffer[D]
}

type buffer[D comparable] struct {
	on  D
	buf compute.Buffer
}

func (k *known[D]) list() []buffer[D] {
	if k == nil {
		return nil
	}
	return k.bufs
}

// On returns the value's buffer on a device, which upload makes if there is none. Of two
// goroutines that bring it there at once the second's copy is spare: nobody has it.
func (s *Set[D]) On(d D, upload func() compute.Buffer) (buf, spare compute.Buffer) {
	for {
		now := s.now.Load()
		for _, c := range now.list() {
			if c.on == d {
				return c.buf, buf
			}
		}
		if buf == nil {
			buf = upload()
			continue // it may have made a copy in Go's memory
		}
		next := &known[D]{bufs: append(now.list()[:len(now.list()):len(now.list())], buffer[D]{d, buf})}
		if now != nil {
			next.flat, next.coming = now.flat, now.coming
		}
		if s.now.CompareAndSwap(now, next) {
			return buf, nil
		}
	}
}

// Host returns the value in Go's memory, a slice of its dtype, and what is on its way there. Both
// may be nil.
func (s *Set[D]) Host() (flat any, coming *Coming) {
	if now := s.now.Load(); now != nil {
		return now.flat, now.coming
	}
	return nil, nil
}

// Keep remembers the value in Go's memory, unless something else is remembered at the same time.
func (s *Set[D]) Keep(flat any) {
	now := s.now.Load()
	s.now.CompareAndSwap(now, &known[D]{flat: flat, bufs: now.list()})
}

// Expect remembers that the value is on its way to Go's memory, unless it is there or begin
// returns nil. begin returns a function that waits for the value and copies it to a slice.
func (s *Set[D]) Expect(begin func() (wait func(flat any) error)) {
	now := s.now.Load()
	if now != nil && (now.flat != nil || now.coming != nil) {
		return
	}
	if wait := begin(); wait != nil {
		s.now.CompareAndSwap(now, &known[D]{coming: &Coming{wait: wait}, bufs: now.list()})
	}
}

// Clear forgets all copies, and returns those on devices.
func (s *Set[D]) Clear() (out []compute.Buffer) {
	for _, c := range s.now.Swap(nil).list() {
		out = append(out, c.buf)
	}
	return out
}

// Coming is a copy on its way to Go's memory.
type Coming struct {
	wait func(flat any) error
	once sync.Once
	flat any
	err  error
}

// Get waits for the copy, for as many as ask. room makes the slice that it is copied to.
func (c *Coming) Get(room func() any) (any, error) {
	c.once.Do(func() {
		c.flat = room()
		c.err = c.wait(c.flat)
		c.wait = nil
	})
	return c.flat, c.err
}
