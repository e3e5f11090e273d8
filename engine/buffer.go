package engine

import (
	"fmt"
	"math/bits"
	"reflect"
	"sync"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/record"
)

// Buffer is a tensor in memory that the engine owns. Its address never changes.
type Buffer struct {
	backend *Backend
	shape   *shapes.Shape // shared: there are many buffers of few shapes
	data    []byte        // nil once finalised
	raw     []byte        // allocation that data lies in; nil for a part of a shared allocation
}

var _ compute.Buffer = (*Buffer)(nil)

// alignment of buffers in bytes: a cache line, which the widest vector loads are fastest from.
const alignment = 64

// aligned returns n bytes that start on a cache line, and the allocation they lie in.
func aligned(n int) (data, raw []byte) {
	raw = make([]byte, max(n, 1)+alignment)
	skip := -int(uintptr(unsafe.Pointer(&raw[0]))) & (alignment - 1)
	return raw[skip : skip+n : skip+max(n, 1)], raw
}

// bufferPool keeps the memory of finalised buffers for the next ones, by size class, up to a limit.
type bufferPool struct {
	mu   sync.Mutex
	free [bufferClasses][][]byte
	held int
}

const (
	bufferClasses = 48
	maxHeldBytes  = 256 << 20
)

// classOf returns the size class of n bytes: quarter powers of two would save memory, halves are
// enough.
func classOf(n int) int { return bits.Len(uint(max(n, alignment) - 1)) }

func (p *bufferPool) get(n int) (data, raw []byte) {
	class := classOf(n)
	p.mu.Lock()
	if list := p.free[class]; len(list) > 0 {
		raw = list[len(list)-1]
		p.free[class] = list[:len(list)-1]
		p.held -= len(raw)
	}
	p.mu.Unlock()
	if raw == nil {
		_, raw = aligned(1 << class)
	}
	skip := -int(uintptr(unsafe.Pointer(&raw[0]))) & (alignment - 1)
	return raw[skip : skip+n : skip+max(n, 1)], raw
}

func (p *bufferPool) put(raw []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held+len(raw) > maxHeldBytes {
		return
	}
	class := classOf(len(raw) - alignment)
	p.free[class] = append(p.free[class], raw)
	p.held += len(raw)
}

func (p *bufferPool) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free, p.held = [bufferClasses][][]byte{}, 0
}

// newBuffer returns a buffer with arbitrary contents.
func (b *Backend) newBuffer(shape *shapes.Shape) *Buffer {
	data, raw := b.buffers.get(shape.Size() * shape.DType.Size())
	return &Buffer{backend: b, shape: shape, data: data, raw: raw}
}

func (b *Backend) checkNew(device compute.DeviceNum, shape shapes.Shape) error {
	switch {
	case b.IsFinalized():
		return errFinalized
	case device != 0:
		return fmt.Errorf("device %d: there is one device, number 0", device)
	case shape.IsDynamic():
		return fmt.Errorf("buffer of %s: dynamic axes: %w", shape, compute.ErrNotImplemented)
	}
	return record.CheckDType(compute.OpTypeParameter, shape.DType)
}

var errFinalized = fmt.Errorf("the backend has been finalized")

// BufferFromFlatData implements compute.DataInterface.
func (b *Backend) BufferFromFlatData(device compute.DeviceNum, flat any, shape shapes.Shape) (compute.Buffer, error) {
	if err := b.checkNew(device, shape); err != nil {
		return nil, err
	}
	buf := b.newBuffer(&shape)
	if err := buf.checkFlat(flat); err != nil {
		return nil, err
	}
	copy(buf.data, ir.BytesOf(flat))
	return buf, nil
}

// HasSharedBuffers implements compute.DataInterface: buffers are ordinary memory.
func (b *Backend) HasSharedBuffers() bool { return true }

// NewSharedBuffer implements compute.DataInterface. The contents are zero.
func (b *Backend) NewSharedBuffer(device compute.DeviceNum, shape shapes.Shape) (compute.Buffer, any, error) {
	if err := b.checkNew(device, shape); err != nil {
		return nil, nil, err
	}
	buf := b.newBuffer(&shape)
	clear(buf.data)
	flat, err := buf.Data()
	return buf, flat, err
}

func (buf *Buffer) checkFlat(flat any) error {
	t := reflect.TypeOf(flat)
	if t == nil || t.Kind() != reflect.Slice || dtypes.FromGoType(t.Elem()) != buf.shape.DType {
		return fmt.Errorf("a %T for a buffer of %s", flat, buf.shape)
	}
	if n := reflect.ValueOf(flat).Len(); n != buf.shape.Size() {
		return fmt.Errorf("%d values for a buffer of %s", n, buf.shape)
	}
	return nil
}

func (buf *Buffer) check() error {
	if buf == nil || buf.data == nil {
		return fmt.Errorf("the buffer has been finalized or donated")
	}
	if buf.backend.IsFinalized() {
		return errFinalized
	}
	return nil
}

// Backend implements compute.Buffer.
func (buf *Buffer) Backend() compute.Backend { return buf.backend }

// Finalize implements compute.Buffer. Its memory is used again: slices returned by Data are dead.
// Finalising twice is harmless.
func (buf *Buffer) Finalize() error {
	if buf == nil || buf.data == nil {
		return nil
	}
	raw := buf.raw
	buf.data, buf.raw = nil, nil
	if raw != nil && !buf.backend.IsFinalized() { // a part of a shared allocation has none of its own
		buf.backend.buffers.put(raw)
	}
	return nil
}

// Shape implements compute.Buffer.
func (buf *Buffer) Shape() (shapes.Shape, error) { return *buf.shape, buf.check() }

// DeviceNum implements compute.Buffer.
func (buf *Buffer) DeviceNum() (compute.DeviceNum, error) { return 0, buf.check() }

// ToFlatData implements compute.Buffer.
func (buf *Buffer) ToFlatData(flat any) error {
	if err := buf.check(); err != nil {
		return err
	}
	if err := buf.checkFlat(flat); err != nil {
		return err
	}
	copy(ir.BytesOf(flat), buf.data)
	return nil
}

// Data implements compute.Buffer.
func (buf *Buffer) Data() (any, error) {
	if err := buf.check(); err != nil {
		return nil, err
	}
	return ir.FlatSlice(buf.shape.DType, buf.data), nil
}

// CopyToDevice implements compute.Buffer.
func (buf *Buffer) CopyToDevice(device compute.DeviceNum) (compute.Buffer, error) {
	if err := buf.check(); err != nil {
		return nil, err
	}
	if device != 0 {
		return nil, fmt.Errorf("device %d: there is one device, number 0", device)
	}
	out := buf.backend.newBuffer(buf.shape)
	copy(out.data, buf.data)
	return out, nil
}

func (buf *Buffer) ptr() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(buf.data)) }
