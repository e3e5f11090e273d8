package engine

import (
	"strings"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
)

// NewFilled returns a buffer whose memory fill writes, all of it, before anyone else sees it: what arrives from
// elsewhere goes to its place at once, and nothing is cleared for it.
func (b *Backend) NewFilled(shape shapes.Shape, fill func(data []byte)) (compute.Buffer, error) {
	if err := b.checkNew(0, shape); err != nil {
		return nil, err
	}
	n := shape.Size() * shape.DType.Size()
	class := classOf(n)
	raw := b.buffers.take(class)
	if raw == nil {
		raw = unclear(1<<class + alignment)
	}
	buf := &Buffer{backend: b, shape: &shape, data: cut(raw, n), raw: raw}
	fill(buf.data)
	return buf, nil
}

// unclear is memory with arbitrary contents. A string that is being built is the only one that Go does not clear.
func unclear(n int) []byte {
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0) // so that there is a first byte to point to
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}
