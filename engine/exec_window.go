package engine

import (
	"unsafe"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/internal/loops"
	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// windows visits the elements of an operand under a window.
type windows struct {
	ir.Window
	in, out, stride []int
}

func windowsOf(n *ir.Node, out *ir.Value) *windows {
	in := n.Inputs[0].Shape.Dimensions
	return &windows{Window: n.Attr.(ir.Window), in: in, out: out.Shape.Dimensions, stride: rowMajor(in)}
}

// visit calls fn with the offset of every element under the window at output position pos, in
// row-major order.
func (w *windows) visit(axis, pos, count, off int, fn func(off int)) {
	if axis == len(w.in) {
		fn(off)
		return
	}
	count /= w.out[axis]
	at := pos/count*w.Strides[axis] - w.Paddings[axis][0]
	for i := range w.Dims[axis] {
		x, dil := at+i*w.Dilations[axis], w.InputDilations[axis]
		if x >= 0 && x%dil == 0 && x/dil < w.in[axis] {
			w.visit(axis+1, pos%count, count, off+x/dil*w.stride[axis], fn)
		}
	}
}

func reduceWindow(l *lowering, n *ir.Node) (func(fr *frame), error) {
	in, out := n.Inputs[0], n.Outputs[0]
	w := windowsOf(n, out)
	kind := op.Joins(w.Kind).Fold
	fn, ok := loops.Combine(kind, in.DType())
	if !ok {
		return nil, notImplemented(n)
	}
	identity := loops.Identity(kind, in.DType())
	count, size, to, from := out.Size(), in.DType().Size(), l.at(out), l.at(in)
	work := func(fr *frame, lo, hi, _ int) {
		src, dst := fr.at(from), unsafe.Add(fr.at(to), lo*size)
		repeat(dst, unsafe.Pointer(&identity), hi-lo, size)
		join := func(off int) { fn(dst, unsafe.Add(src, off*size), 1, 0, 0) }
		for pos := lo; pos < hi; pos++ {
			w.visit(0, pos, count, 0, join)
			if pos+1 < hi {
				dst = unsafe.Add(dst, size)
			}
		}
	}
	grain := max(1, (1<<13)/product(w.Dims))
	return func(fr *frame) { fr.workers.run(fr, work, count, grain) }, nil
}

// selectAndScatter adds each element of the source to the element that won its window, the first
// among equals.
func selectAndScatter(l *lowering, n *ir.Node) (func(fr *frame), error) {
	in, source, out := n.Inputs[0], n.Inputs[1], n.Outputs[0]
	w := windowsOf(n, source)
	t, ok := loops.Of(in.DType())
	add, ok2 := loops.Combine(loops.Sum, in.DType())
	if !ok || !ok2 {
		return nil, notImplemented(n)
	}
	least := n.Op == compute.OpTypeSelectAndScatterMin
	to, from, with := l.at(out), l.at(in), l.at(source)
	count, size, bytes := source.Size(), in.DType().Size(), out.Bytes()
	return func(fr *frame) {
		clear(view[byte](fr, to, bytes))
		src := fr.at(from)
		best := -1
		choose := func(off int) {
			a, b := unsafe.Add(src, off*size), unsafe.Add(src, max(best, 0)*size)
			if best < 0 || least && t.Less(a, b) || !least && t.Less(b, a) {
				best = off
			}
		}
		for pos := range count {
			best = -1
			w.visit(0, pos, count, 0, choose)
			if best >= 0 {
				add(unsafe.Add(fr.at(to), best*size), unsafe.Add(fr.at(with), pos*size), 1, 0, 0)
			}
		}
	}, nil
}
