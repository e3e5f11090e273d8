//go:build xla

package pjrt

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/pjrt"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/record"
)

// Buffer is a tensor on a device.
type Buffer struct {
	backend *Backend
	shape   shapes.Shape
	num     compute.DeviceNum
	mu      sync.Mutex
	raw     *pjrt.Buffer // nil once finalised or donated
}

var _ compute.Buffer = (*Buffer)(nil)

// pressure makes the garbage collector run as often as the memory of devices needs it: to Go, a
// gigabyte there is a few words here.
type pressure struct{ made atomic.Int64 }

const collectEvery = 256 << 20

func (p *pressure) add(bytes int64) {
	if p.made.Add(bytes) > collectEvery {
		p.made.Store(0)
		runtime.GC()
	}
}

func (b *Backend) newBuffer(raw *pjrt.Buffer, shape shapes.Shape, num compute.DeviceNum) *Buffer {
	b.pressure.add(shape.ByteSize())
	return &Buffer{backend: b, shape: shape, num: num, raw: raw}
}

func (b *Backend) checkNew(device compute.DeviceNum, shape shapes.Shape) error {
	if _, err := b.device(device); err != nil {
		return err
	}
	if shape.IsDynamic() {
		return fmt.Errorf("buffer of %s: dynamic axes: %w", shape, compute.ErrNotImplemented)
	}
	return record.CheckDType(compute.OpTypeParameter, shape.DType)
}

func checkFlat(flat any, shape shapes.Shape) error {
	t := reflect.TypeOf(flat)
	if t == nil || t.Kind() != reflect.Slice || dtypes.FromGoType(t.Elem()) != shape.DType {
		return fmt.Errorf("a %T for a buffer of %s", flat, shape)
	}
	if n := reflect.ValueOf(flat).Len(); n != shape.Size() {
		return fmt.Errorf("%d values for a buffer of %s", n, shape)
	}
	return nil
}

// BufferFromFlatData implements compute.DataInterface.
func (b *Backend) BufferFromFlatData(device compute.DeviceNum, flat any, shape shapes.Shape) (compute.Buffer, error) {
	if err := b.checkNew(device, shape); err != nil {
		return nil, err
	}
	if err := checkFlat(flat, shape); err != nil {
		return nil, err
	}
	return b.upload(device, ir.BytesOf(flat), shape)
}

// upload copies row-major bytes to a device. They are the caller's again when it is over.
func (b *Backend) upload(device compute.DeviceNum, data []byte, shape shapes.Shape) (*Buffer, error) {
	x := b.staging.take(len(data))
	if x == nil {
		return b.transfer(device, data, shape)
	}
	copy(x.data, data)
	return b.lend(x, device, shape)
}

// lend uploads what lies in a slot, and gives that back.
func (b *Backend) lend(x *slot, device compute.DeviceNum, shape shapes.Shape) (buf *Buffer, err error) {
	x.lend(func() { buf, err = b.transfer(device, x.data[:shape.ByteSize()], shape) })
	return buf, err
}

// transfer has the plugin make a buffer of bytes of the host's.
func (b *Backend) transfer(device compute.DeviceNum, data []byte, shape shapes.Shape) (*Buffer, error) {
	if len(data) == 0 {
		data = make([]byte, 1)[:0] // an address, even of nothing
	}
	raw, err := b.client.BufferFromHost().FromRawData(data, shape.DType, shape.Dimensions).ToDeviceNum(int(device)).Done()
	if err != nil {
		return nil, fmt.Errorf("buffer of %s: %w", shape, plain(err))
	}
	return b.newBuffer(raw, shape, device), nil
}

// HasSharedBuffers implements compute.DataInterface. The memory of a CPU could be shared, but it is
// the plugin's: a Go slice of it would not keep it from being freed.
func (b *Backend) HasSharedBuffers() bool { return false }

// NewSharedBuffer implements compute.DataInterface: there are none.
func (b *Backend) NewSharedBuffer(compute.DeviceNum, shapes.Shape) (compute.Buffer, any, error) {
	return nil, nil, errNotShared
}

var errNotShared = fmt.Errorf("the memory of a device cannot be shared: %w", compute.ErrNotImplemented)

var errGone = errors.New("the buffer has been finalized or donated")

// held returns the plugin's buffer, if there still is one.
func (buf *Buffer) held() (*pjrt.Buffer, error) {
	if buf == nil {
		return nil, errGone
	}
	if buf.backend.IsFinalized() {
		return nil, errFinalized
	}
	buf.mu.Lock()
	defer buf.mu.Unlock()
	if buf.raw == nil {
		return nil, errGone
	}
	return buf.raw, nil
}

// take returns held, and leaves the buffer empty.
func (buf *Buffer) take() (*pjrt.Buffer, error) {
	raw, err := buf.held()
	if err != nil {
		return nil, err
	}
	buf.mu.Lock()
	defer buf.mu.Unlock()
	buf.raw = nil
	return raw, nil
}

// Backend implements compute.Buffer.
func (buf *Buffer) Backend() compute.Backend { return buf.backend }

// Finalize implements compute.Buffer. Finalising twice is harmless.
func (buf *Buffer) Finalize() error {
	raw, err := buf.take()
	if err != nil {
		return nil // nothing is left to free
	}
	return raw.Destroy()
}

// Shape implements compute.Buffer.
func (buf *Buffer) Shape() (shapes.Shape, error) {
	_, err := buf.held()
	return buf.shape, err
}

// DeviceNum implements compute.Buffer.
func (buf *Buffer) DeviceNum() (compute.DeviceNum, error) {
	_, err := buf.held()
	return buf.num, err
}

// ToFlatData implements compute.Buffer. It waits for what computes the buffer.
func (buf *Buffer) ToFlatData(flat any) error {
	if _, err := buf.held(); err != nil {
		return err
	}
	if err := checkFlat(flat, buf.shape); err != nil || buf.shape.Size() == 0 {
		return err
	}
	return buf.readBytes(ir.BytesOf(flat))
}

// readBytes copies the buffer's row-major bytes.
func (buf *Buffer) readBytes(to []byte) error {
	x := buf.backend.staging.take(len(to))
	if x == nil {
		return buf.readInto(to)
	}
	defer x.give()
	if err := buf.readInto(x.data[:len(to)]); err != nil {
		return err
	}
	return x.copy(to)
}

// readInto has the plugin write the buffer's row-major bytes.
func (buf *Buffer) readInto(to []byte) error {
	raw, err := buf.held()
	if err != nil {
		return err
	}
	if err := raw.ToHost(to); err != nil {
		return fmt.Errorf("reading %s: %w", buf.shape, plain(err))
	}
	return nil
}

// Begin begins to copy a buffer to the host, when what computes it is done: wait is then
// ToFlatData, to be called once by whoever needs the data, or never. It is nil where that has to be
// read as ever: the buffer is too large or not one of the backend's, or there are too many such
// copies.
func (b *Backend) Begin(buf compute.Buffer) (wait func(flat any) error) {
	mine, ok := buf.(*Buffer)
	if !ok || mine.backend != b || mine.shape.Size() == 0 {
		return nil
	}
	n := int(mine.shape.ByteSize())
	x := b.staging.take(n)
	if x == nil {
		return nil
	}
	r, err := x.begin(func() error { return mine.readInto(x.data[:n]) })
	if err != nil {
		return nil // who reads it finds out
	}
	return func(flat any) error {
		if err := checkFlat(flat, mine.shape); err != nil {
			return err
		}
		if err := r.wait(ir.BytesOf(flat)); err != nil {
			return fmt.Errorf("reading %s: %w", mine.shape, err)
		}
		return nil
	}
}

// ReadAll does what ToFlatData does of several buffers at once: the transfers are begun one after
// the other, and then waited for.
func (b *Backend) ReadAll(bufs []compute.Buffer, flats []any) error {
	var pinned runtime.Pinner // by go-xla only until a transfer has begun
	defer pinned.Unpin()
	slots := make([]*slot, len(bufs))
	err := together(func() (err error) {
		for i, buf := range bufs {
			mine, ok := buf.(*Buffer)
			if !ok || mine.backend != b {
				return fmt.Errorf("buffer %d is not one of this backend", i)
			}
			if err := checkFlat(flats[i], mine.shape); err != nil {
				return err
			}
			if slots[i], err = mine.readTo(ir.BytesOf(flats[i]), &pinned); err != nil {
				return err
			}
		}
		return nil
	})
	for i, x := range slots {
		if x == nil {
			continue
		}
		if err == nil {
			err = x.copy(ir.BytesOf(flats[i]))
		}
		x.give()
	}
	return err
}

// readTo reads into a slot, for the caller to copy and give back, or where there is none into
// memory that is kept in its place.
func (buf *Buffer) readTo(to []byte, kept *runtime.Pinner) (*slot, error) {
	if len(to) == 0 {
		_, err := buf.held()
		return nil, err
	}
	x := buf.backend.staging.take(len(to))
	if x == nil {
		kept.Pin(&to[0])
		return nil, buf.readInto(to)
	}
	return x, buf.readInto(x.data[:len(to)])
}

// Data implements compute.Buffer: it needs memory that can be shared.
func (buf *Buffer) Data() (any, error) { return nil, errNotShared }

// CopyToDevice implements compute.Buffer.
func (buf *Buffer) CopyToDevice(device compute.DeviceNum) (compute.Buffer, error) {
	raw, err := buf.held()
	if err != nil {
		return nil, err
	}
	d, err := buf.backend.device(device)
	if err != nil {
		return nil, err
	}
	copied, err := raw.CopyToDevice(d)
	if err != nil {
		return nil, fmt.Errorf("copy to device %d: %w", device, plain(err))
	}
	return buf.backend.newBuffer(copied, buf.shape, device), nil
}
