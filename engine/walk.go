package engine

import (
	"unsafe"

	"github.com/weft-rl/weft/engine/ir"
)

// walk reads an operand in the order of a region's elements: the region's axes with the operand's
// stride, in elements, along each. Axes that can be walked as one are merged.
type walk struct {
	dims, strides []int
}

// rowMajor returns the strides of dense storage.
func rowMajor(dims []int) []int {
	strides := make([]int, len(dims))
	step := 1
	for i := len(dims) - 1; i >= 0; i-- {
		strides[i] = step
		step *= dims[i]
	}
	return strides
}

// newWalk drops axes of length one and merges axes that follow each other without a gap.
func newWalk(dims, strides []int) *walk {
	w := &walk{}
	for i, d := range dims {
		if d == 1 {
			continue
		}
		if k := len(w.dims) - 1; k >= 0 && w.strides[k] == strides[i]*d {
			w.dims[k] *= d
			w.strides[k] = strides[i]
			continue
		}
		w.dims = append(w.dims, d)
		w.strides = append(w.strides, strides[i])
	}
	return w
}

// broadcastWalk returns how a region reads through a BroadcastInDim node.
func broadcastWalk(n *ir.Node) *walk {
	in, out := n.Inputs[0].Shape.Dimensions, n.Outputs[0].Shape.Dimensions
	dense := rowMajor(in)
	strides := make([]int, len(out))
	for i, axis := range n.Attr.(ir.Axes).Axes {
		if in[i] != 1 {
			strides[axis] = dense[i]
		}
	}
	return newWalk(out, strides)
}

// transposeWalk returns how a Transpose node reads its operand.
func transposeWalk(n *ir.Node) *walk {
	dense := rowMajor(n.Inputs[0].Shape.Dimensions)
	strides := make([]int, len(dense))
	for i, axis := range n.Attr.(ir.Axes).Axes {
		strides[i] = dense[axis]
	}
	return newWalk(n.Outputs[0].Shape.Dimensions, strides)
}

func (w *walk) contiguous() bool { return len(w.dims) == 0 || len(w.dims) == 1 && w.strides[0] == 1 }
func (w *walk) rows() bool       { return len(w.dims) == 2 && w.strides[0] == 0 && w.strides[1] == 1 }
func (w *walk) scalar() bool     { return len(w.dims) == 1 && w.strides[0] == 0 }

// once fills a temporary that serves every block.
func (f *fill) once(fr *frame, scratch unsafe.Pointer, n int) {
	src, dst := fr.at(f.src), unsafe.Add(scratch, f.dst)
	if f.kind == fillScalar {
		repeat(dst, src, n, f.size)
		return
	}
	to := unsafe.Slice((*byte)(dst), n*f.size)
	done := copy(to, unsafe.Slice((*byte)(src), f.walk.dims[1]*f.size))
	for done < len(to) {
		done += copy(to[done:], to[:done])
	}
}

// each fills a temporary for the n elements from start.
func (f *fill) each(fr *frame, scratch unsafe.Pointer, start, n int) {
	src, dst := fr.at(f.src), unsafe.Add(scratch, f.dst)
	if f.kind != fillCols {
		f.walk.gather(dst, src, start, n, f.size)
		return
	}
	cols := f.walk.dims[1]
	if f.size == 4 && start%cols == 0 && n%cols == 0 {
		spread(unsafe.Slice((*uint32)(dst), n), unsafe.Slice((*uint32)(unsafe.Add(src, start/cols*4)), n/cols), cols)
		return
	}
	for n > 0 {
		row := start / cols
		m := min(n, (row+1)*cols-start)
		repeat(dst, unsafe.Add(src, row*f.size), m, f.size)
		dst, start, n = unsafe.Add(dst, m*f.size), start+m, n-m
	}
}

// spread writes each element of src cols times; two are what a policy of two actions has.
func spread(dst, src []uint32, cols int) {
	if cols == 2 {
		for i, x := range src {
			d := dst[2*i : 2*i+2]
			d[0], d[1] = x, x
		}
		return
	}
	for _, x := range src {
		for j := range dst[:cols] {
			dst[j] = x
		}
		dst = dst[cols:]
	}
}

// repeat writes the element at src n times.
func repeat(dst, src unsafe.Pointer, n, size int) {
	switch size {
	case 1:
		repeatAs[uint8](dst, src, n)
	case 2:
		repeatAs[uint16](dst, src, n)
	case 4:
		repeatAs[uint32](dst, src, n)
	default:
		repeatAs[uint64](dst, src, n)
	}
}

func repeatAs[T any](dst, src unsafe.Pointer, n int) {
	d, x := unsafe.Slice((*T)(dst), n), *(*T)(src)
	for i := range d {
		d[i] = x
	}
}

// maxRank bounds the axes of a walk, which are kept on the stack.
const maxRank = 16

// gather copies n elements from the start-th on, in the order of the walk.
func (w *walk) gather(dst, src unsafe.Pointer, start, n, size int) {
	var index [maxRank]int
	last := len(w.dims) - 1
	off, rest := 0, start
	for i := last; i >= 0; i-- {
		index[i] = rest % w.dims[i]
		rest /= w.dims[i]
		off += index[i] * w.strides[i]
	}
	for n > 0 {
		m := min(n, w.dims[last]-index[last])
		strided(dst, unsafe.Add(src, off*size), m, w.strides[last], size)
		dst, n = unsafe.Add(dst, m*size), n-m
		off -= index[last] * w.strides[last]
		index[last] = 0
		for i := last - 1; i >= 0; i-- {
			off += w.strides[i]
			if index[i]++; index[i] < w.dims[i] {
				break
			}
			off -= w.dims[i] * w.strides[i]
			index[i] = 0
		}
	}
}

// strided copies n elements that lie stride elements apart.
func strided(dst, src unsafe.Pointer, n, stride, size int) {
	switch {
	case stride == 1:
		copy(unsafe.Slice((*byte)(dst), n*size), unsafe.Slice((*byte)(src), n*size))
	case stride == 0:
		repeat(dst, src, n, size)
	case size == 1:
		stridedAs[uint8](dst, src, n, stride)
	case size == 2:
		stridedAs[uint16](dst, src, n, stride)
	case size == 4:
		stridedAs[uint32](dst, src, n, stride)
	default:
		stridedAs[uint64](dst, src, n, stride)
	}
}

func stridedAs[T any](dst, src unsafe.Pointer, n, stride int) {
	d := unsafe.Slice((*T)(dst), n)
	x := unsafe.Slice((*T)(src), (n-1)*stride+1)
	for i := range d {
		d[i] = x[i*stride]
	}
}
