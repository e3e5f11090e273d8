package engine

import (
	"unsafe"

	"github.com/weft-rl/weft/engine/internal/loops"
	"github.com/weft-rl/weft/engine/ir"
)

// overFirst lets a step write over its first operand.
func overFirst(n *ir.Node, v *ir.Value) []*ir.Value {
	if v.Index != 0 {
		return nil
	}
	return n.Inputs[:1]
}

func counting(l *lowering, n *ir.Node) (func(fr *frame), error) {
	out := n.Outputs[0]
	t, ok := loops.Of(out.DType())
	if !ok {
		return nil, notImplemented(n)
	}
	axis, dims := n.Attr.(ir.Axis).Axis, out.Shape.Dimensions
	inner, length := rowMajor(dims)[axis], dims[axis]
	outer, to, size := 0, l.at(out), out.DType().Size()
	if out.Size() > 0 {
		outer = out.Size() / (inner * length)
	}
	return func(fr *frame) {
		p := fr.at(to)
		for o := range outer * inner {
			t.Count(unsafe.Add(p, (o/inner*inner*length+o%inner)*size), 0, length, inner)
		}
	}, nil
}

func scaled(xs, by []int) []int {
	out := make([]int, len(xs))
	for i := range xs {
		out[i] = xs[i] * by[i]
	}
	return out
}

func dot(a, b []int) (sum int) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// boxStep returns a step that copies one box from the first operand to the output.
func (l *lowering) boxStep(n *ir.Node, b *box) func(fr *frame) {
	to, from := l.at(n.Outputs[0]), l.at(n.Inputs[0])
	return func(fr *frame) { b.copy(fr.at(to), fr.at(from), 0, 0) }
}

func slice(l *lowering, n *ir.Node) (func(fr *frame), error) {
	a := n.Attr.(ir.Slice)
	in, out := n.Inputs[0], n.Outputs[0]
	dense := rowMajor(in.Shape.Dimensions)
	b := newBox(out.Shape.Dimensions, rowMajor(out.Shape.Dimensions), scaled(dense, a.Strides), out.DType().Size())
	b.srcOff = dot(a.Starts, dense)
	return l.boxStep(n, b), nil
}

func reverse(l *lowering, n *ir.Node) (func(fr *frame), error) {
	out := n.Outputs[0]
	dims := out.Shape.Dimensions
	dense := rowMajor(dims)
	src, off := rowMajor(dims), 0
	for _, a := range n.Attr.(ir.Axes).Axes {
		src[a] = -dense[a]
		off += (dims[a] - 1) * dense[a]
	}
	b := newBox(dims, dense, src, out.DType().Size())
	b.srcOff = off
	return l.boxStep(n, b), nil
}

func pad(l *lowering, n *ir.Node) (func(fr *frame), error) {
	in, out := n.Inputs[0], n.Outputs[0]
	src, dst := rowMajor(in.Shape.Dimensions), rowMajor(out.Shape.Dimensions)
	dims := make([]int, len(src))
	srcOff, dstOff := 0, 0
	for i, p := range n.Attr.(ir.Pad).Axes {
		step := p.Interior + 1
		// Negative padding cuts elements off; lo and hi are the first and the last that stay.
		lo := max(0, (-p.Start+step-1)/step)
		hi := min(in.Shape.Dimensions[i], (out.Shape.Dimensions[i]-1-p.Start+step)/step)
		dims[i] = max(0, hi-lo)
		srcOff += lo * src[i]
		dstOff += (p.Start + lo*step) * dst[i]
		dst[i] *= step
	}
	b := newBox(dims, dst, src, out.DType().Size())
	b.srcOff, b.dstOff = srcOff, dstOff
	to, from, value, size, count := l.at(out), l.at(in), l.at(n.Inputs[1]), out.DType().Size(), out.Size()
	return func(fr *frame) {
		repeat(fr.at(to), fr.at(value), count, size)
		b.copy(fr.at(to), fr.at(from), 0, 0)
	}, nil
}

func concatenate(l *lowering, n *ir.Node) (func(fr *frame), error) {
	out := n.Outputs[0]
	axis := n.Attr.(ir.Axis).Axis
	dense := rowMajor(out.Shape.Dimensions)
	var boxes []*box
	at := 0
	for _, in := range n.Inputs {
		b := newBox(in.Shape.Dimensions, dense, rowMajor(in.Shape.Dimensions), out.DType().Size())
		b.dstOff = at * dense[axis]
		at += in.Shape.Dimensions[axis]
		boxes = append(boxes, b)
	}
	to, from := l.at(out), l.refs(n.Inputs)
	return func(fr *frame) {
		for i, b := range boxes {
			b.copy(fr.at(to), fr.at(from[i]), 0, 0)
		}
	}, nil
}

// starts reads the start indices of a dynamic slice, clamped so that the slice fits, as an offset
// in elements.
type starts struct {
	refs    []ref
	read    []func(p unsafe.Pointer, i int) int
	limits  []int
	strides []int
}

func (l *lowering) starts(indices []*ir.Value, dims, sizes []int) starts {
	s := starts{refs: l.refs(indices), strides: rowMajor(dims)}
	for i, v := range indices {
		t, _ := loops.Of(v.DType())
		s.read = append(s.read, t.Int)
		s.limits = append(s.limits, dims[i]-sizes[i])
	}
	return s
}

func (s *starts) offset(fr *frame) (off int) {
	for i, r := range s.refs {
		off += min(max(s.read[i](fr.at(r), 0), 0), s.limits[i]) * s.strides[i]
	}
	return off
}

func dynamicSlice(l *lowering, n *ir.Node) (func(fr *frame), error) {
	in, out := n.Inputs[0], n.Outputs[0]
	dims := out.Shape.Dimensions
	s := l.starts(n.Inputs[1:], in.Shape.Dimensions, dims)
	b := newBox(dims, rowMajor(dims), s.strides, out.DType().Size())
	to, from := l.at(out), l.at(in)
	return func(fr *frame) { b.copy(fr.at(to), fr.at(from), 0, s.offset(fr)) }, nil
}

func dynamicUpdateSlice(l *lowering, n *ir.Node) (func(fr *frame), error) {
	in, update, out := n.Inputs[0], n.Inputs[1], n.Outputs[0]
	dims := update.Shape.Dimensions
	s := l.starts(n.Inputs[2:], in.Shape.Dimensions, dims)
	b := newBox(dims, s.strides, rowMajor(dims), out.DType().Size())
	to, from, with, bytes := l.at(out), l.at(in), l.at(update), out.Bytes()
	return func(fr *frame) {
		off := s.offset(fr)
		copyBytes(fr, to, from, bytes)
		b.copy(fr.at(to), fr.at(with), off, 0)
	}, nil
}

// copyBytes copies unless source and destination are the same memory.
func copyBytes(fr *frame, to, from ref, n int) {
	if to != from {
		copy(view[byte](fr, to, n), view[byte](fr, from, n))
	}
}
