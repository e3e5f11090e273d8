package rl

import (
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// Where a value is beside the place that it was made in, package copies remembers. Operations that
// only move data (ops.go) leave what they make in Go's memory where a device has memory of its own.

// keepMost is up to how many bytes what was read from a device is remembered for the
// next reader: actions, flags and rewards, but not the weights that a checkpoint
// reads once.
const keepMost = 1 << 20

// hosted returns a value in Go's memory, given away to it, for a device.
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

// on returns the value as a buffer of a device.
func (v *value) on(d *Device) compute.Buffer {
	v = v.whole()
	if v.buf != nil && v.dev == d {
		return v.buf
	}
	buf, spare := v.copies.On(d, func() compute.Buffer { return d.upload(v.memory(), *v.shape) })
	if spare != nil {
		check(spare.Finalize())
	}
	return buf
}

// memory returns the value as a Go slice of its dtype, for reading only.
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
	flat, coming := v.copies.Host()
	switch {
	case flat != nil:
		return flat
	case coming != nil:
		var err error
		flat, err = coming.Get(func() any { return makeFlat(*v.shape) })
		check(err)
	default:
		flat = makeFlat(*v.shape)
		check(v.buf.ToFlatData(flat))
	}
	if v.shape.ByteSize() <= keepMost {
		v.copies.Keep(flat)
	}
	return flat
}

// reader is a backend that reads several buffers in about the time of one.
type reader interface {
	ReadAll(bufs []compute.Buffer, flats []any) error
}

// beginner is a backend that can copy to the host in the background. It returns nil for a buffer
// that it cannot copy so.
type beginner interface {
	Begin(buf compute.Buffer) (wait func(flat any) error)
}

// Begin starts to copy tensors from a device with its own memory to another device, or to the host
// if to is nil, before their reader asks for them. It skips tensors that arrive part by part.
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
	v.copies.Expect(func() func(flat any) error { return b.Begin(v.buf) })
}

// PartFor does what Part does for a reader on another device, or on the host if to is nil. It does
// not wait for copies under way; the reader does.
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
	flat, coming := v.copies.Host()
	if lo == 0 && hi == t.Rows() || coming == nil || flat != nil || lo < 0 || hi < lo || hi > t.Rows() {
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
		failf("rows are read again after reading them failed")
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
		v.copies.Keep(flats[i])
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
	flat, _ := v.copies.Host()
	return flat == nil
}

// both returns a value in Go's memory, given away to it, and on a device as well.
func (d *Device) both(flat any, shape shapes.Shape) Tensor {
	if d.shared {
		return d.from(flat, shape)
	}
	v := &value{shape: &shape, dev: d, buf: d.upload(flat, shape)}
	v.copies.Keep(flat)
	return Tensor{val: v}
}

// free gives the value's memory back, wherever it is.
func (v *value) free() {
	if v.buf != nil {
		check(v.buf.Finalize())
	}
	for _, buf := range v.copies.Clear() {
		check(buf.Finalize())
	}
}
