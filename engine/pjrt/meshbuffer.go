//go:build xla

package pjrt

import (
	"fmt"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
)

// MeshBuffer is a tensor on the devices of a mesh: whole on the first, whole on each, or cut into
// equal parts along an axis. A computation that wants it otherwise has it laid out anew, by way of
// the host where it has to be cut or put together; that happens when a run begins, not within it.
type MeshBuffer struct {
	mesh  *Mesh
	shape shapes.Shape

	mu    sync.Mutex
	axis  int // axis that parts are cut along; ir.Whole if each is all of it
	parts []*Buffer
	other []layout // copies in other layouts, which computations asked for
}

// layout is how a tensor lies on devices.
type layout struct {
	axis  int
	parts []*Buffer
}

var _ compute.Buffer = (*MeshBuffer)(nil)

// laid returns the tensor on n devices, cut along an axis or whole on each.
func (b *MeshBuffer) laid(axis, n int) ([]*Buffer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.parts) == 0 {
		return nil, errGone
	}
	if axis == ir.Whole && b.axis == ir.Whole {
		return b.spread(n)
	}
	for _, l := range append([]layout{{b.axis, b.parts}}, b.other...) {
		if l.axis == axis && len(l.parts) == n {
			return l.parts, nil
		}
	}
	flat := make([]byte, b.shape.ByteSize())
	if err := b.read(flat); err != nil {
		return nil, err
	}
	pieces, shape := [][]byte{flat}, b.shape
	if axis != ir.Whole {
		shape = parts([]shapes.Shape{b.shape}, []int{axis}, n)[0]
		pieces = cut(flat, b.shape, axis, n)
	}
	made := layout{axis: axis}
	for d := range n {
		p, err := b.mesh.upload(compute.DeviceNum(d), pieces[d%len(pieces)], shape)
		if err != nil {
			return nil, err
		}
		made.parts = append(made.parts, p)
	}
	b.other = append(b.other, made)
	return made.parts, nil
}

// spread returns a tensor that is whole on at least one device, on the first n of them.
func (b *MeshBuffer) spread(n int) ([]*Buffer, error) {
	for d := len(b.parts); d < n; d++ {
		p, err := b.parts[0].CopyToDevice(compute.DeviceNum(d))
		if err != nil {
			return nil, err
		}
		b.parts = append(b.parts, p.(*Buffer))
	}
	return b.parts[:n], nil
}

// read copies the whole tensor to the host.
func (b *MeshBuffer) read(to []byte) error {
	if b.axis == ir.Whole {
		return b.parts[0].readBytes(to)
	}
	pieces := make([][]byte, len(b.parts))
	for i, p := range b.parts {
		pieces[i] = make([]byte, p.shape.ByteSize())
		if err := p.readBytes(pieces[i]); err != nil {
			return err
		}
	}
	join(to, pieces, b.shape, b.axis)
	return nil
}

// cut takes the n parts of a row-major tensor along an axis apart.
func cut(whole []byte, shape shapes.Shape, axis, n int) [][]byte {
	pieces := make([][]byte, n)
	for i := range pieces {
		pieces[i] = make([]byte, len(whole)/n)
	}
	runs(len(whole), shape, axis, n, func(piece, at, from, size int) { copy(pieces[piece][at:at+size], whole[from:]) })
	return pieces
}

// join puts parts together again.
func join(whole []byte, pieces [][]byte, shape shapes.Shape, axis int) {
	runs(len(whole), shape, axis, len(pieces), func(piece, at, from, size int) { copy(whole[from:from+size], pieces[piece][at:]) })
}

// runs visits the bytes of a tensor that are next to each other both in it and in one of its n
// parts along an axis: of which piece they are, where they are in it and in the whole, and how
// many.
func runs(bytes int, shape shapes.Shape, axis, n int, visit func(piece, at, from, size int)) {
	outer := 1
	for _, d := range shape.Dimensions[:axis] {
		outer *= d
	}
	if bytes == 0 {
		return
	}
	size := bytes / outer / n
	for o := range outer {
		for p := range n {
			visit(p, o*size, (o*n+p)*size, size)
		}
	}
}

// Backend implements compute.Buffer.
func (b *MeshBuffer) Backend() compute.Backend { return b.mesh }

// Shape implements compute.Buffer.
func (b *MeshBuffer) Shape() (shapes.Shape, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.parts) == 0 {
		return b.shape, errGone
	}
	return b.shape, nil
}

// DeviceNum implements compute.Buffer: the devices are one.
func (b *MeshBuffer) DeviceNum() (compute.DeviceNum, error) { return 0, nil }

// ToFlatData implements compute.Buffer.
func (b *MeshBuffer) ToFlatData(flat any) error {
	if err := checkFlat(flat, b.shape); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.parts) == 0 {
		return errGone
	}
	if b.shape.Size() == 0 {
		return nil
	}
	return b.read(ir.BytesOf(flat))
}

// Data implements compute.Buffer: it needs memory that can be shared.
func (b *MeshBuffer) Data() (any, error) { return nil, errNotShared }

// CopyToDevice implements compute.Buffer: there is one device.
func (b *MeshBuffer) CopyToDevice(device compute.DeviceNum) (compute.Buffer, error) {
	return nil, fmt.Errorf("copy to device %d of a mesh: %w", device, compute.ErrNotImplemented)
}

// Finalize implements compute.Buffer. Finalising twice is harmless.
func (b *MeshBuffer) Finalize() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range append(b.other, layout{b.axis, b.parts}) {
		for _, p := range l.parts {
			if err := p.Finalize(); err != nil {
				return err
			}
		}
	}
	b.parts, b.other = nil, nil
	return nil
}
