package engine

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
)

// resultPlan is how the buffers of a program's results are allocated. Most results of a small
// program are a number for each row of a small batch: those share one allocation, with those of the
// calls before and after, because making them one by one would take longer than computing them.
// Large ones are apart, so that none keeps another alive.
type resultPlan struct {
	shapes []shapes.Shape
	offset []int // offset in the shared allocation; -1: allocated alone
	size   int   // bytes of the shared allocation
	small  int   // results in it
}

const maxSmallBytes = 512

// stock holds the rest of the allocations that small results are cut from.
type stock struct {
	bytes   []byte
	buffers []Buffer
}

// The size of these allocations, unless one call needs more.
const (
	stockBytes   = 4096
	stockBuffers = 32
)

// take cuts off n bytes, a multiple of the alignment, and room for so many buffers.
func (s *stock) take(n, count int) ([]byte, []Buffer) {
	if len(s.bytes) < n {
		s.bytes, _ = aligned(max(n, stockBytes))
	}
	if len(s.buffers) < count {
		s.buffers = make([]Buffer, max(count, stockBuffers))
	}
	slab, small := s.bytes[:n:n], s.buffers[:count:count]
	s.bytes, s.buffers = s.bytes[n:], s.buffers[count:]
	return slab, small
}

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
func (o *resultPlan) make(b *Backend, s *stock) []compute.Buffer {
	out := make([]compute.Buffer, len(o.shapes))
	slab, small := s.take(o.size, o.small)
	for i := range o.shapes {
		s, at := &o.shapes[i], o.offset[i]
		if at < 0 {
			out[i] = b.newBuffer(s)
			continue
		}
		n := s.Size() * s.DType.Size()
		small[0] = Buffer{backend: b, shape: s, data: slab[at : at+n : at+max(n, 1)]}
		out[i], small = &small[0], small[1:]
	}
	return out
}
