package engine

import (
	"unsafe"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/kernel"
	"github.com/weft-rl/weft/engine/ir"
)

// rowGather is a Gather that takes whole rows of its operand by one index each, which is what
// minibatches do.
type rowGather struct {
	rows, total int // rows taken, rows there are
	width       int // elements of a row
	take        func(dst, x, index unsafe.Pointer, rows, total, width int)
}

// rowGatherOf recognises such a gather; nil if it is another, or its types have no loop.
func rowGatherOf(n *ir.Node) *rowGather {
	g, in, index, out := n.Attr.(ir.Gather), n.Inputs[0], n.Inputs[1], n.Outputs[0]
	dims := in.Shape.Dimensions
	if len(g.Map) != 1 || g.Map[0] != 0 || len(g.Collapsed) != 1 || g.Collapsed[0] != 0 || g.IndexAxis < index.Shape.Rank()-1 {
		return nil
	}
	for i, s := range g.Sizes[1:] {
		if s != dims[i+1] {
			return nil
		}
	}
	first := out.Shape.Rank() - len(g.OffsetAxes)
	for i, a := range g.OffsetAxes {
		if a != first+i {
			return nil
		}
	}
	r := &rowGather{rows: index.Size(), total: dims[0], width: product(dims[1:]), take: takeRows(in.DType().Size(), index.DType())}
	if r.take == nil || out.Size() == 0 {
		return nil
	}
	return r
}

// takeRows returns the loop for elements of a size and indices of a type.
func takeRows(size int, index dtypes.DType) func(dst, x, index unsafe.Pointer, rows, total, width int) {
	switch size {
	case 1:
		return takeRowsOf[uint8](index)
	case 2:
		return takeRowsOf[uint16](index)
	case 4:
		return takeRowsOf[uint32](index)
	}
	return takeRowsOf[uint64](index)
}

func takeRowsOf[T any](index dtypes.DType) func(dst, x, index unsafe.Pointer, rows, total, width int) {
	switch index {
	case dtypes.Int32:
		return takeRowsBy[T, int32]
	case dtypes.Int64:
		return takeRowsBy[T, int64]
	case dtypes.Uint32:
		return takeRowsBy[T, uint32]
	}
	return nil
}

func takeRowsBy[T any, I int32 | int64 | uint32](dst, x, index unsafe.Pointer, rows, total, width int) {
	kernel.GatherRows(unsafe.Slice((*T)(dst), rows*width), unsafe.Slice((*T)(x), total*width),
		unsafe.Slice((*I)(index), rows), width)
}

// build makes the step.
func (r *rowGather) build(l *lowering, n *ir.Node) func(fr *frame) {
	to, from, index := l.at(n.Outputs[0]), l.at(n.Inputs[0]), l.at(n.Inputs[1])
	size, step := n.Inputs[0].DType().Size(), n.Inputs[1].DType().Size()
	work := job(func(fr *frame, lo, hi, _ int) {
		r.take(unsafe.Add(fr.at(to), lo*r.width*size), fr.at(from), unsafe.Add(fr.at(index), lo*step), hi-lo, r.total, r.width)
	})
	grain := max(1, (1<<15)/max(r.width, 8))
	return func(fr *frame) { fr.workers.run(fr, work, r.rows, grain) }
}
