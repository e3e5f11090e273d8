package rl

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// Device is where tensors live and graph functions run: a GoMLX backend, and
// the small programs that the vocabulary's own operations were compiled to.
type Device struct {
	backend compute.Backend
	shared  bool // buffers are ordinary memory
	unroll  int  // rounds of an innermost loop that are best written out as one
	kernels bool // loops of steps are best left as they are: they become kernels
	rolls   bool // chains of equal steps are best loops
	philox  bool // random bits are Philox blocks of the state's counter
	parts   int  // devices that a whole loop is shared out among; 0 and 1 are one

	together together // nil but for loops that are compared with programs

	calls atomic.Int64 // calls of compiled graphs

	mu  sync.Mutex
	ops map[string][]*program
}

// NewDevice makes a device of a GoMLX backend.
func NewDevice(b compute.Backend) *Device {
	d := &Device{backend: b, shared: b.HasSharedBuffers(), unroll: 1, ops: map[string][]*program{}}
	if u, ok := b.(interface{ Unroll() int }); ok {
		d.unroll = u.Unroll()
	}
	if k, ok := b.(interface{ Kernels() bool }); ok {
		d.kernels = k.Kernels()
	}
	if r, ok := b.(interface{ Rolls() bool }); ok {
		d.rolls = r.Rolls()
	}
	if p, ok := b.(interface{ Philox() bool }); ok {
		d.philox = p.Philox()
	}
	if p, ok := b.(interface{ Parts() int }); ok {
		d.parts = p.Parts()
	}
	return d
}

// Calls returns how many times a compiled graph has been called.
func (system) Calls(d *Device) int64 { return d.calls.Load() }

// Compiling returns what the device has been compiling, and for how long; for 0 while it does
// not, or does not say.
func (system) Compiling(d *Device) (what string, took time.Duration) {
	if c, ok := d.backend.(interface {
		Compiling() (string, time.Duration)
	}); ok {
		return c.Compiling()
	}
	return "", 0
}

// Devices returns how many devices d is: a whole loop that is one program is shared out among
// them.
func (system) Devices(d *Device) int { return max(1, d.parts) }

// Backend returns the GoMLX backend that the device computes with.
func (d *Device) Backend() compute.Backend { return d.backend }

// from copies flat, a slice of shape's dtype, for the device.
func (d *Device) from(flat any, shape shapes.Shape) Tensor {
	if !d.shared {
		return d.hosted(cloneFlat(flat, shape), shape)
	}
	return Tensor{val: &value{shape: &shape, dev: d, buf: d.upload(flat, shape)}}
}

// fresh returns a tensor of the shape whose memory fill writes before anyone else
// sees it.
func (d *Device) fresh(shape shapes.Shape, fill func(flat any)) Tensor {
	if !d.shared {
		flat := makeFlat(shape)
		fill(flat)
		return d.hosted(flat, shape)
	}
	buf, flat, err := d.backend.NewSharedBuffer(0, shape)
	check(err)
	fill(flat)
	return Tensor{val: &value{shape: &shape, dev: d, buf: buf}}
}

// device returns the first device found among tensors; constants have none.
func device(tensors []Tensor) *Device {
	for _, t := range tensors {
		if t.val != nil && t.val.dev != nil {
			return t.val.dev
		}
	}
	failf("no tensor among the arguments lives on a device")
	return nil
}

// op runs one of the vocabulary's own functions on values, compiled once for
// each combination of name and shapes, or builds it into the graph that its
// arguments belong to. The name says everything that build depends on.
func op(name string, in []Tensor, build func(c *Ctx, in []Tensor) []Tensor) []Tensor {
	if c := ctxOf(in); c != nil {
		return build(c, c.lift(in))
	}
	d := device(in)
	return d.compiled(name, in, build).run(Key{}, in)
}

// compiled returns the program of that name for inputs like in, made on first use.
func (d *Device) compiled(name string, in []Tensor, build func(c *Ctx, in []Tensor) []Tensor) *program {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.ops[name] {
		if p.fits(in) {
			return p
		}
	}
	p := compile(&Ctx{dev: d}, name, in, build)
	d.ops[name] = append(d.ops[name], p)
	return p
}

// Tensor copies flat, a slice of shape's dtype in row-major order, onto the
// device.
func (d *Device) Tensor(flat any, shape shapes.Shape) Tensor { return d.from(flat, shape) }

// Beside lets the device know how many other processes compute on this machine, if it
// wants to: it may be called at any time, and often. nil is none.
func (system) Beside(d *Device, others func() int) {
	if b, ok := d.backend.(interface{ Beside(func() int) }); ok {
		b.Beside(others)
	}
}

// over is a backend that takes memory as it is.
type over interface {
	NewOver(shape shapes.Shape, data []byte) (compute.Buffer, error)
}

// Adopt returns a tensor of the shape whose data, in row-major order, are given away to
// it: they become the tensor's own memory where the device can use it.
func (system) Adopt(d *Device, shape shapes.Shape, data []byte) Tensor {
	if b, ok := d.backend.(over); ok {
		buf, err := b.NewOver(shape, data)
		check(err)
		return Tensor{val: &value{shape: &shape, dev: d, buf: buf}}
	}
	return d.fresh(shape, func(flat any) {
		if shape.Size() > 0 {
			copy(dtypes.UnsafeByteSliceFromAny(flat), data)
		}
	})
}

// recycle gives the memory of tensors back to their device. Their owner must be
// the only one to have them.
func recycle(tensors []Tensor) {
	for _, t := range tensors {
		t.val.free()
	}
}
