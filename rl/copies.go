package rl

import (
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// A value is made in one place, the memory of Go or a device, and a program may ask
// for it on any device. It is brought there when it is first asked for and stays for
// as long as the value lives: weights cross once for each of their versions, a
// batch once although several programs read it, and what no program of a device
// reads never goes there. So operations that only move data (ops.go) leave what they
// make in Go's memory where a device has memory of its own.

// copies are where else a value is. The list is replaced as a whole, never changed.
type copies struct {
	flat   any     // in Go's memory
	coming *coming // there soon
	bufs   []copied
}

// coming is a copy that is on its way to Go's memory.
type coming struct {
	wait func(flat any) error
	once sync.Once
	flat any
	err  error
}

// get waits for it, for as many as ask.
func (c *coming) get(shape shapes.Shape) any {
	c.once.Do(func() {
		c.flat = makeFlat(shape)
		c.err = c.wait(c.flat)
		c.wait = nil
	})
	check(c.err)
	return c.flat
}

type copied struct {
	dev *Device
	buf compute.Buffer
}

// keepMost is up to how many bytes what was read from a device is remembered for the
// next reader: actions, flags and rewards, but not the weights that a checkpoint
// reads once.
const keepMost = 1 << 20

// hosted is a value in Go's memory, given away to it, for a device.
func (d *Device) hosted(flat any, shape shapes.Shape) Tensor {
	return Tensor{val: &value{shape: &shape, dev: d, flat: flat}}
}

// upload copies flat onto the device. The memory is the caller's again afterwards.
func (d *Device) upload(flat any, shape shapes.Shape) compute.Buffer {
	buf, err := d.backend.BufferFromFlatData(0, flat, shape)
	check(err)
	return buf
}

func cloneFlat(flat any, shape shapes.Shape) any {
	out := makeFlat(shape)
	if shape.Size() > 0 {
		copy(dtypes.UnsafeByteSliceFromAny(out), dtypes.UnsafeByteSliceFromAny(flat))
	}
	return out
}

// on is the value as a buffer of a device. Of two goroutines that bring it there at
// once the second's copy is dropped.
func (v *value) on(d *Device) compute.Buffer {
	v = v.whole()
	if v.buf != nil && v.dev == d {
		return v.buf
	}
	var mine compute.Buffer
	for {
		now := v.copies.Load()
		for _, c := range now.list() {
			if c.dev == d {
				if mine != nil {
					check(mine.Finalize())
				}
				return c.buf
			}
		}
		if mine == nil {
			mine = d.upload(v.memory(), *v.shape)
		}
		next := &copies{bufs: append(now.list()[:len(now.list()):len(now.list())], copied{d, mine})}
		if now != nil {
			next.flat, next.coming = now.flat, now.coming
		}
		if v.copies.CompareAndSwap(now, next) {
			return mine
		}
	}
}

func (c *copies) list() []copied {
	if c == nil {
		return nil
	}
	return c.bufs
}

// memory is the value as a Go slice of its dtype, for reading only.
func (v *value) memory() any {
	v = v.whole()
	switch {
	case v.buf == nil:
		if l, ok := v.flat.(*later); ok {
			return l.get(*v.shape)
		}
		return v.flat
	case v.dev.shared:
		flat, err := v.buf.Data()
		check(err)
		return flat
	}
	now := v.copies.Load()
	if now != nil && now.flat != nil {
		return now.flat
	}
	var flat any
	if now != nil && now.coming != nil {
		flat = now.coming.get(*v.shape)
	} else {
		flat = makeFlat(*v.shape)
		check(v.buf.ToFlatData(flat))
	}
	if v.shape.ByteSize() <= keepMost {
		v.copies.CompareAndSwap(now, &copies{flat: flat, bufs: now.list()}) // or somebody else has remembered something
	}
	return flat
}

// reader is a backend that reads several buffers in about the time of one.
type reader interface {
	ReadAll(bufs []compute.Buffer, flats []any) error
}

// beginner is a backend that copies to the host while nobody waits. It gives nil where it does not.
type beginner interface {
	Begin(buf compute.Buffer) (wait func(flat any) error)
}

// Begin begins to bring tensors that are on a device of its own memory to another one, or
// to the host if to is nil: they are handed to somebody who will read them there, and are on
// their way before that. What comes part by part is not asked for.
func (system) Begin(tensors []Tensor, to *Device) {
	for _, t := range tensors {
		if t.val != nil && t.val.buf != nil && t.val.dev != to {
			t.val.begin()
		}
	}
}

func (v *value) begin() {
	b, ok := v.dev.backend.(beginner)
	if !ok || v.dev.shared || v.shape.ByteSize() > keepMost {
		return
	}
	now := v.copies.Load()
	if now != nil && (now.flat != nil || now.coming != nil) {
		return
	}
	if wait := b.Begin(v.buf); wait != nil {
		v.copies.CompareAndSwap(now, &copies{coming: &coming{wait: wait}, bufs: now.list()})
	}
}

// PartFor is Part for somebody on another device, or on the host if to is nil. What is
// on its way there is not waited for: whoever reads the part does.
func (system) PartFor(t Tensor, lo, hi int, to *Device) Tensor {
	v := t.val
	if v == nil || v.parts == nil && (v.buf == nil || v.dev == to || v.dev.shared) {
		return part(t, lo, hi)
	}
	if v.parts != nil {
		if p, at := v.parts.holding(lo, hi); p.Ok() {
			return System.PartFor(p, lo-at, hi-at, to)
		}
		return part(t, lo, hi)
	}
	v.begin()
	now := v.copies.Load()
	if lo == 0 && hi == t.Rows() || now == nil || now.coming == nil || now.flat != nil || lo < 0 || hi < lo || hi > t.Rows() {
		return part(t, lo, hi)
	}
	shape := withRows(*v.shape, hi-lo)
	return Tensor{val: &value{shape: &shape, dev: v.dev, flat: &later{of: v, lo: lo}}}
}

// later is rows of a value that is on its way to Go's memory, from lo on.
type later struct {
	of   *value
	lo   int
	once sync.Once
	flat any
}

func (l *later) get(shape shapes.Shape) any {
	l.once.Do(func() {
		src := dtypes.UnsafeByteSliceFromAny(l.of.memory())
		flat := makeFlat(shape)
		copy(dtypes.UnsafeByteSliceFromAny(flat), src[l.lo*len(src)/l.of.shape.Dimensions[0]:])
		l.flat, l.of = flat, nil
	})
	if l.flat == nil {
		failf("rows that are read again after they could not be")
	}
	return l.flat
}

// fetch brings results of a program to the host, for who is about to read them all: the
// first n, and of others the scalars, which are counts.
func (d *Device) fetch(out []Tensor, n int) {
	r, ok := d.backend.(reader)
	if !ok {
		return
	}
	var values []*value
	var bufs []compute.Buffer
	var flats []any
	for i, t := range out {
		if !t.Ok() || t.val.shape.ByteSize() > keepMost || i >= n && t.val.shape.Rank() > 0 {
			continue
		}
		values, bufs, flats = append(values, t.val), append(bufs, t.val.buf), append(flats, makeFlat(*t.val.shape))
	}
	check(r.ReadAll(bufs, flats))
	for i, v := range values {
		now := v.copies.Load()
		v.copies.CompareAndSwap(now, &copies{flat: flats[i], bufs: now.list()})
	}
}

// far reports whether tensors are all on one device whose memory is not the host's, and
// some are nowhere else: what moves their data had better do so there.
func far(in []Tensor) bool {
	some := false
	for _, t := range in {
		v := t.val
		if v == nil || v.buf == nil || v.dev.shared || v.dev != in[0].val.dev {
			return false
		}
		some = some || v.away()
	}
	return some
}

// away reports whether the value would have to be read from a device to be had on the
// host.
func (v *value) away() bool {
	if v = v.whole(); v.buf == nil || v.dev.shared {
		return false
	}
	c := v.copies.Load()
	return c == nil || c.flat == nil
}

// both is a value in Go's memory, given away to it, and on a device as well.
func (d *Device) both(flat any, shape shapes.Shape) Tensor {
	if d.shared {
		return d.from(flat, shape)
	}
	v := &value{shape: &shape, dev: d, buf: d.upload(flat, shape)}
	v.copies.Store(&copies{flat: flat})
	return Tensor{val: v}
}

// free gives the value's memory back, wherever it is.
func (v *value) free() {
	if v.buf != nil {
		check(v.buf.Finalize())
	}
	for _, c := range v.copies.Load().list() {
		check(c.buf.Finalize())
	}
	v.copies.Store(nil)
}
