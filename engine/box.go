package engine

import "unsafe"

// box copies a block between two layouts: element (i0, i1, ...) lies at the offset plus the sum of
// i*stride on either side. Strides are in elements and may be negative. Axes that can be copied as
// one are merged.
type box struct {
	dims, dst, src []int
	dstOff, srcOff int
	size           int // bytes of an element
}

func newBox(dims, dst, src []int, size int) *box {
	b := &box{size: size}
	for i, d := range dims {
		if d == 1 {
			continue
		}
		if k := len(b.dims) - 1; k >= 0 && b.dst[k] == dst[i]*d && b.src[k] == src[i]*d {
			b.dims[k] *= d
			b.dst[k], b.src[k] = dst[i], src[i]
			continue
		}
		b.dims, b.dst, b.src = append(b.dims, d), append(b.dst, dst[i]), append(b.src, src[i])
	}
	if len(b.dims) == 0 {
		b.dims, b.dst, b.src = []int{1}, []int{1}, []int{1}
	}
	return b
}

// copy copies the block, dst and src being the addresses of offset zero, moved by so many elements
// more.
func (b *box) copy(dst, src unsafe.Pointer, dstMore, srcMore int) {
	for _, d := range b.dims {
		if d == 0 {
			return
		}
	}
	b.axis(0, dst, src, b.dstOff+dstMore, b.srcOff+srcMore)
}

// axis works with offsets rather than addresses, which must stay inside the memory they belong to
// even between steps.
func (b *box) axis(i int, dst, src unsafe.Pointer, d, s int) {
	if i < len(b.dims)-1 {
		for range b.dims[i] {
			b.axis(i+1, dst, src, d, s)
			d, s = d+b.dst[i], s+b.src[i]
		}
		return
	}
	n, ds, ss := b.dims[i], b.dst[i], b.src[i]
	dst, src = unsafe.Add(dst, d*b.size), unsafe.Add(src, s*b.size)
	switch {
	case ds == 1 && ss == 1:
		copy(unsafe.Slice((*byte)(dst), n*b.size), unsafe.Slice((*byte)(src), n*b.size))
	case b.size == 1:
		boxRow[uint8](dst, src, n, ds, ss)
	case b.size == 2:
		boxRow[uint16](dst, src, n, ds, ss)
	case b.size == 4:
		boxRow[uint32](dst, src, n, ds, ss)
	default:
		boxRow[uint64](dst, src, n, ds, ss)
	}
}

func boxRow[T any](dst, src unsafe.Pointer, n, ds, ss int) {
	size := int(unsafe.Sizeof(*new(T)))
	for i := range n {
		*(*T)(unsafe.Add(dst, i*ds*size)) = *(*T)(unsafe.Add(src, i*ss*size))
	}
}
