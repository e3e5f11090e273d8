package engine

import (
	"unsafe"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/kernel"
	"github.com/weft-rl/weft/engine/internal/loops"
	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// foldOf returns how a reduction or a scatter joins elements; None for other nodes.
func foldOf(n *ir.Node) loops.Kind { return op.Of(op.Of(n.Op).By).Fold }

// fastReduce reports whether the kernel package has a reduction.
func fastReduce(n *ir.Node) bool {
	_, ok := foldOf(n).Vector()
	return ok && op.Of(n.Op).Class == op.Reduce && n.Inputs[0].DType() == dtypes.Float32
}

// reduction is the shape of a reduction: outer x length x inner to outer x inner. Reduced axes that
// do not lie together are first brought together by a copy.
type reduction struct {
	outer, length, inner int
	walk                 *walk // the copy that is needed, or nil
}

func reductionOf(n *ir.Node) reduction {
	dims := n.Inputs[0].Shape.Dimensions
	reduced := make([]bool, len(dims))
	for _, a := range n.Attr.(ir.Axes).Axes {
		reduced[a] = true
	}
	r := reduction{outer: 1, length: 1, inner: 1}
	changes, state := 0, false
	for i, d := range dims {
		switch {
		case reduced[i]:
			r.length *= d
		case r.length == 1 && changes == 0:
			r.outer *= d
		default:
			r.inner *= d
		}
		if d != 1 && reduced[i] != state {
			state = reduced[i]
			changes++
		}
	}
	if changes > 2 {
		r.scattered(dims, reduced)
	}
	return r
}

// scattered makes the walk that puts the reduced axes last.
func (r *reduction) scattered(dims []int, reduced []bool) {
	dense := rowMajor(dims)
	var ds, ss []int
	for _, last := range []bool{false, true} {
		for i, d := range dims {
			if reduced[i] == last {
				ds, ss = append(ds, d), append(ss, dense[i])
			}
		}
	}
	r.outer, r.inner = r.outer*r.inner, 1
	r.walk = newWalk(ds, ss)
}

func reduceScratch(n *ir.Node) int {
	r := reductionOf(n)
	bytes := kernel.ColumnScratch(r.length, r.inner) * 4
	if r.walk != nil {
		bytes = n.Inputs[0].Bytes() + alignment
	}
	if r.inner == 1 {
		bytes += kernel.Blocks(r.length) * 4
	}
	return bytes
}

func reduce(l *lowering, n *ir.Node) (func(fr *frame), error) {
	in, out := n.Inputs[0], n.Outputs[0]
	r, kind := reductionOf(n), foldOf(n)
	from, scratch := l.at(in), l.scratchRef()
	size, count := in.DType().Size(), in.Size()
	var run func(fr *frame)
	source := from
	if r.walk != nil {
		source = scratch
		scratch.off += (in.Bytes() + alignment - 1) &^ (alignment - 1)
	}
	if k, ok := kind.Vector(); ok && in.DType() == dtypes.Float32 {
		run = reduce32(r, k, l.at(out), source, scratch)
	} else {
		fn, ok := loops.Combine(kind, in.DType())
		if !ok {
			return nil, notImplemented(n)
		}
		run = reduceAny(r, fn, loops.Identity(kind, in.DType()), l.at(out), source, size)
	}
	if r.walk == nil {
		return run, nil
	}
	return func(fr *frame) {
		if count > 0 {
			r.walk.gather(fr.at(source), fr.at(from), 0, count, size)
		}
		run(fr)
	}, nil
}

// reduceAny reduces in plain order, which no result depends on but those of float64.
func reduceAny(r reduction, fn loops.CombineFn, identity uint64, to, from ref, size int) func(fr *frame) {
	return func(fr *frame) {
		dst, src := fr.at(to), fr.at(from)
		repeat(dst, unsafe.Pointer(&identity), r.outer*r.inner, size)
		for o := range r.outer {
			d, s := unsafe.Add(dst, o*r.inner*size), unsafe.Add(src, o*r.length*r.inner*size)
			if r.inner == 1 {
				fn(d, s, r.length, 0, 1)
				continue
			}
			for i := range r.length {
				fn(d, unsafe.Add(s, i*r.inner*size), r.inner, 1, 1)
			}
		}
	}
}

// reduceGrain is how many elements are worth a goroutine.
const reduceGrain = 1 << 16

// reduce32 reduces float32 in the order that the kernel package documents.
func reduce32(r reduction, op kernel.ReduceOp, to, from, scratch ref) func(fr *frame) {
	total := r.outer * r.length * r.inner
	switch {
	case r.inner == 1 && r.outer == 1 && kernel.Blocks(r.length) > 1:
		blocks := kernel.Blocks(r.length)
		work := func(fr *frame, lo, hi, _ int) {
			kernel.ReduceBlocks32(op, view[float32](fr, scratch, blocks), view[float32](fr, from, r.length), lo, hi)
		}
		return func(fr *frame) {
			fr.workers.run(fr, work, blocks, reduceGrain/kernel.ReduceBlock)
			view[float32](fr, to, 1)[0] = kernel.Tree32(op, view[float32](fr, scratch, blocks))
		}
	case r.inner == 1:
		work := func(fr *frame, lo, hi, _ int) {
			dst, src := view[float32](fr, to, r.outer), view[float32](fr, from, total)
			kernel.ReduceRows32(op, dst[lo:hi], src[lo*r.length:hi*r.length], hi-lo, r.length)
		}
		grain := max(1, reduceGrain/max(r.length, 1))
		return func(fr *frame) { fr.workers.run(fr, work, r.outer, grain) }
	case r.outer == 1 && total > 2*reduceGrain:
		blocks := kernel.ColumnBlocks(r.length)
		work := func(fr *frame, lo, hi, _ int) {
			kernel.ReduceColBlocks32(op, view[float32](fr, scratch, blocks*r.inner), view[float32](fr, from, total),
				r.length, r.inner, lo, hi)
		}
		grain := max(1, reduceGrain/(kernel.ColumnBlock*r.inner))
		return func(fr *frame) {
			fr.workers.run(fr, work, blocks, grain)
			kernel.TreeCols32(op, view[float32](fr, to, r.inner), view[float32](fr, scratch, blocks*r.inner), blocks, r.inner)
		}
	}
	return func(fr *frame) {
		dst, src := view[float32](fr, to, r.outer*r.inner), view[float32](fr, from, total)
		part := view[float32](fr, scratch, kernel.ColumnScratch(r.length, r.inner))
		for o := range r.outer {
			kernel.ReduceCols32(op, dst[o*r.inner:(o+1)*r.inner], src[o*r.length*r.inner:(o+1)*r.length*r.inner],
				r.length, r.inner, part)
		}
	}
}

// fastArg reports whether the kernel package has what an ArgMinMax does.
func fastArg(n *ir.Node) bool {
	in := n.Inputs[0]
	return in.DType() == dtypes.Float32 && n.Outputs[0].DType() == dtypes.Int32 && in.Size() > 0 &&
		rowMajor(in.Shape.Dimensions)[n.Attr.(ir.ArgMinMax).Axis] == 1
}

func argMinMax(l *lowering, n *ir.Node) (func(fr *frame), error) {
	a, in, out := n.Attr.(ir.ArgMinMax), n.Inputs[0], n.Outputs[0]
	dims := in.Shape.Dimensions
	length, inner := dims[a.Axis], rowMajor(dims)[a.Axis]
	t, ok := loops.Of(in.DType())
	index, _ := loops.Of(out.DType())
	if !ok {
		return nil, notImplemented(n)
	}
	count, size, to, from := out.Size(), in.DType().Size(), l.at(out), l.at(in)
	if length == 0 {
		count = 0
	}
	if fastArg(n) {
		return func(fr *frame) {
			kernel.ArgRows32(view[int32](fr, to, count), view[float32](fr, from, count*length), count, length, a.IsMin)
		}, nil
	}
	return func(fr *frame) {
		dst, src := fr.at(to), fr.at(from)
		for i := range count {
			off := i/inner*inner*length + i%inner
			index.SetInt(dst, i, t.Best(unsafe.Add(src, off*size), length, inner, a.IsMin))
		}
	}, nil
}
