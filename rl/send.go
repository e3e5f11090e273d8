package rl

import (
	"slices"
	"sync/atomic"

	"github.com/gomlx/compute"
)

// Where a device has memory of its own, what a call brings along from the host (an
// observation, draws, a learning rate) goes there in one transfer, which is part of the
// call. Each set of such inputs is a program of its own, so it is found out when a
// program is compiled and only ever shrinks: an input that once is on the device
// alone, as a recurrent memory is from its second step on, is not sent any more.

// sender is an executable that takes inputs from the host.
type sender interface {
	// Prepare compiles it for calls that send the given inputs.
	Prepare(sent []int) error
	// ExecuteFrom is Execute with inputs of the host's, which are nil among the others.
	ExecuteFrom(inputs []compute.Buffer, host []any, device compute.DeviceNum) ([]compute.Buffer, error)
}

// sendMost is up to how many bytes a value is sent with each call that reads it. A
// larger one is brought to the device once.
const sendMost = 1 << 16

// sent is the set of inputs, by position, that are sent; nil is none.
type sent struct {
	at []bool
	n  int
}

func (s *sent) has(at int) bool { return s != nil && s.at[at] }

func (s *sent) put(at int, yes bool) {
	switch {
	case yes && !s.at[at]:
		s.n++
	case !yes && s.at[at]:
		s.n--
	}
	s.at[at] = yes
}

type sends = atomic.Pointer[sent]

// prepare decides what calls like the first one send, and compiles for it. What a whole
// loop or a part of it is given is state for the most part, which is on the device
// next time: of that, constants alone are sent.
func (p *program) prepare(in []Tensor, loop bool) error {
	x, ok := p.exe.(sender)
	if !ok {
		return nil
	}
	set := &sent{at: make([]bool, len(p.shapes))}
	known := true
	for i, t := range in {
		at := p.slots[i]
		if at < 0 {
			continue
		}
		known = known && !t.val.unknown()
		set.put(at, t.val.near() && !t.val.isOn(p.dev) && (!loop || t.val.dev == nil))
	}
	for _, d := range p.draws {
		set.put(int(d.handle), p.shapes[d.handle].ByteSize() <= sendMost)
	}
	p.sends.Store(set)
	if !known { // where these are is seen when they come
		return nil
	}
	return x.Prepare(set.list())
}

// list are the positions, in order.
func (s *sent) list() (at []int) {
	for i, yes := range s.at {
		if yes {
			at = append(at, i)
		}
	}
	return at
}

// sending is what a call with these inputs sends.
func (p *program) sending(in []Tensor) *sent {
	now := p.sends.Load()
	if now == nil {
		return nil
	}
	var less *sent
	for i, t := range in {
		if at := p.slots[i]; at >= 0 && now.at[at] && !t.val.near() {
			if less == nil {
				less = &sent{slices.Clone(now.at), now.n}
			}
			less.put(at, false)
		}
	}
	if less == nil {
		return now
	}
	if p.sends.CompareAndSwap(now, less) {
		return less
	}
	return p.sending(in) // another goroutine has taken something out as well
}

func (p *program) execute(send *sent, args *arguments) ([]compute.Buffer, error) {
	if send == nil || send.n == 0 {
		return p.exe.Execute(args.bufs, nil, 0)
	}
	return p.exe.(sender).ExecuteFrom(args.bufs, args.host, 0)
}

// unknown reports whether the value is a shape alone.
func (v *value) unknown() bool { return v.flat == nil && v.buf == nil && v.parts == nil }

// near reports whether the value is small, and can be had on the host without asking a
// device for it.
func (v *value) near() bool {
	n := v.shape.ByteSize()
	if n == 0 || n > sendMost {
		return false
	}
	return !v.away()
}

// isOn reports whether the value is on a device.
func (v *value) isOn(d *Device) bool {
	if v = v.whole(); v.buf != nil && v.dev == d {
		return true
	}
	for _, c := range v.copies.Load().list() {
		if c.dev == d {
			return true
		}
	}
	return false
}
