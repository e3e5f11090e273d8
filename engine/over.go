package engine

import (
	"fmt"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
)

// NewOver returns a buffer over memory that somebody else allocated and gives away: what arrives
// from elsewhere is not copied once more. Memory that does not start on a cache line is copied
// after all.
func (b *Backend) NewOver(shape shapes.Shape, data []byte) (compute.Buffer, error) {
	if err := b.checkNew(0, shape); err != nil {
		return nil, err
	}
	if n := shape.Size() * shape.DType.Size(); n != len(data) {
		return nil, fmt.Errorf("%d bytes for a buffer of %s", len(data), shape)
	}
	if len(data) == 0 || uintptr(unsafe.Pointer(&data[0]))%alignment != 0 {
		buf := b.newBuffer(&shape)
		copy(buf.data, data)
		return buf, nil
	}
	return &Buffer{backend: b, shape: &shape, data: data}, nil
}
