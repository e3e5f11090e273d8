package engine

import (
	"slices"
	"unsafe"

	"github.com/weft-rl/weft/engine/internal/loops"
	"github.com/weft-rl/weft/engine/ir"
)

// indexer reads index vectors: it turns the i-th of them into the offset of a window in the
// operand.
type indexer struct {
	indices ref
	read    func(p unsafe.Pointer, i int) int
	count   int   // how many index vectors there are
	at      *walk // where the first component of each lies
	step    int   // distance from a component to the next
	limits  []int // last position at which the window fits, by component
	strides []int // stride in the operand, by component
	clamp   bool  // move windows inside, or else leave them out
}

func (l *lowering) indexer(indices *ir.Value, axis int, operand, window, indexMap []int) *indexer {
	t, _ := loops.Of(indices.DType())
	x := &indexer{indices: l.at(indices), read: t.Int}
	dims := slices.Clone(indices.Shape.Dimensions)
	strides := rowMajor(dims)
	if axis < len(dims) {
		x.step = strides[axis]
		dims, strides = slices.Delete(dims, axis, axis+1), slices.Delete(strides, axis, axis+1)
	}
	x.count, x.at = product(dims), newWalk(dims, strides)
	dense := rowMajor(operand)
	for _, a := range indexMap {
		x.limits = append(x.limits, operand[a]-window[a])
		x.strides = append(x.strides, dense[a])
	}
	return x
}

// offset returns where the i-th window starts, or false if it does not fit.
func (x *indexer) offset(fr *frame, i int) (int, bool) {
	p := fr.at(x.indices)
	start := x.at.index(i)
	off := 0
	for j, limit := range x.limits {
		v := x.read(p, start+j*x.step)
		if x.clamp {
			v = min(max(v, 0), limit)
		} else if v < 0 || v > limit {
			return 0, false
		}
		off += v * x.strides[j]
	}
	return off, true
}

// index returns the offset of the i-th element of a walk.
func (w *walk) index(i int) (off int) {
	for j := len(w.dims) - 1; j >= 0; j-- {
		off += i % w.dims[j] * w.strides[j]
		i /= w.dims[j]
	}
	return off
}

func gather(l *lowering, n *ir.Node) (func(fr *frame), error) {
	if r := rowGatherOf(n); r != nil {
		return r.build(l, n), nil
	}
	g := n.Attr.(ir.Gather)
	in, out := n.Inputs[0], n.Outputs[0]
	operand, dims := in.Shape.Dimensions, out.Shape.Dimensions
	x := l.indexer(n.Inputs[1], g.IndexAxis, operand, g.Sizes, g.Map)
	x.clamp = true
	dense, outDense := rowMajor(operand), rowMajor(dims)
	kept := others(len(operand), g.Collapsed)
	windowDims, src := axesOf(g.Sizes, dense, kept)
	_, dst := axesOf(dims, outDense, g.OffsetAxes)
	bd, bs := axesOf(dims, outDense, others(len(dims), g.OffsetAxes))
	batch := newWalk(bd, bs)
	b := newBox(windowDims, dst, src, out.DType().Size())
	to, from := l.at(out), l.at(in)
	count := x.count
	if out.Size() == 0 {
		count = 0
	}
	work := func(fr *frame, lo, hi, _ int) {
		for i := lo; i < hi; i++ {
			off, _ := x.offset(fr, i)
			b.copy(fr.at(to), fr.at(from), batch.index(i), off)
		}
	}
	grain := max(1, (1<<15)/max(product(windowDims), 8))
	return func(fr *frame) { fr.workers.run(fr, work, count, grain) }, nil
}

// scatter applies the updates in order. A window that does not fit is left out, as XLA does.
func scatter(l *lowering, n *ir.Node) (func(fr *frame), error) {
	s := n.Attr.(ir.Scatter)
	in, updates, out := n.Inputs[0], n.Inputs[2], n.Outputs[0]
	operand, ud := in.Shape.Dimensions, updates.Shape.Dimensions
	fn, ok := loops.Combine(foldOf(n), in.DType())
	if !ok {
		return nil, notImplemented(n)
	}
	window := slices.Repeat([]int{1}, len(operand))
	kept := others(len(operand), s.Inserted)
	for i, a := range kept {
		window[a] = ud[s.UpdateWindow[i]]
	}
	x := l.indexer(n.Inputs[1], s.IndexAxis, operand, window, s.Map)
	uDense := rowMajor(ud)
	windowDims, src := axesOf(ud, uDense, s.UpdateWindow)
	_, dst := axesOf(operand, rowMajor(operand), kept)
	bd, bs := axesOf(ud, uDense, others(len(ud), s.UpdateWindow))
	batch := newWalk(bd, bs)
	b := newBox(windowDims, dst, src, out.DType().Size())
	to, from, with, bytes := l.at(out), l.at(in), l.at(updates), out.Bytes()
	count := x.count
	if updates.Size() == 0 {
		count = 0
	}
	return func(fr *frame) {
		copyBytes(fr, to, from, bytes)
		for i := range count {
			if off, fits := x.offset(fr, i); fits {
				b.combine(0, fn, fr.at(to), fr.at(with), off, batch.index(i))
			}
		}
	}, nil
}

// combine joins the block at src into that at dst.
func (b *box) combine(i int, fn loops.CombineFn, dst, src unsafe.Pointer, d, s int) {
	if i == len(b.dims)-1 {
		fn(unsafe.Add(dst, d*b.size), unsafe.Add(src, s*b.size), b.dims[i], b.dst[i], b.src[i])
		return
	}
	for range b.dims[i] {
		b.combine(i+1, fn, dst, src, d, s)
		d, s = d+b.dst[i], s+b.src[i]
	}
}
