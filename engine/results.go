package engine

import (
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
)

// resultPlan is how the buffers of a program's results are allocated. Most results of a small program are a number for
// each row of a small batch: those share one allocation, because making them one by one would take longer than
// computing them. Large ones are apart, so that none keeps another alive.
type resultPlan struct {
	shapes []shapes.Shape
	offset []int // in the shared allocation; -1 is apart
	size   int   // of the shared allocation
	small  int   // results in it
}

const maxSmallBytes = 512

func planResults(list []shapes.Shape) resultPlan {
	o := resultPlan{shapes: list}
	for _, s := range list {
		n := s.Size() * s.DType.Size()
		if n > maxSmallBytes {
			o.offset = append(o.offset, -1)
			continue
		}
		o.offset = append(o.offset, o.size)
		o.size += (max(n, 1) + alignment - 1) &^ (alignment - 1)
		o.small++
	}
	return o
}

// make returns new buffers with arbitrary contents.
func (o *resultPlan) make(b *Backend) []compute.Buffer {
	out := make([]compute.Buffer, len(o.shapes))
	var slab []byte
	var small []Buffer
	if o.small > 0 {
		raw := make([]byte, o.size+alignment)
		slab = raw[-int(uintptr(unsafe.Pointer(&raw[0])))&(alignment-1):]
		small = make([]Buffer, 0, o.small)
	}
	for i := range o.shapes {
		s, at := &o.shapes[i], o.offset[i]
		if at < 0 {
			out[i] = b.newBuffer(s)
			continue
		}
		n := s.Size() * s.DType.Size()
		small = append(small, Buffer{backend: b, shape: s, data: slab[at : at+n : at+max(n, 1)]})
		out[i] = &small[len(small)-1]
	}
	return out
}
