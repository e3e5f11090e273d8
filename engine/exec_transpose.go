package engine

import (
	"slices"
	"unsafe"

	"github.com/weft-rl/weft/engine/internal/kernel"
	"github.com/weft-rl/weft/engine/ir"
)

// transposition is a permutation of axes as a batch of matrix transpositions: the axis that is
// contiguous in the operand against the one that is contiguous in the output, for every position
// along the others.
type transposition struct {
	outer    []int // dimensions of the other axes
	dst, src []int // their strides
	m, n     int   // each matrix is m x n in the operand
	ldx, ldd int   // distances of its rows there, and in the output
}

// transpositionOf returns nil if the permutation leaves the last axis where it is: then rows are
// copied.
func transpositionOf(n *ir.Node) *transposition {
	w := transposeWalk(n)
	last := len(w.dims) - 1
	unit := slices.Index(w.strides, 1)
	if last < 1 || unit < 0 || unit == last || n.Outputs[0].Size() == 0 {
		return nil
	}
	dense := rowMajor(w.dims)
	t := &transposition{m: w.dims[last], n: w.dims[unit], ldx: w.strides[last], ldd: dense[unit]}
	for i, d := range w.dims {
		if i != last && i != unit {
			t.outer, t.dst, t.src = append(t.outer, d), append(t.dst, dense[i]), append(t.src, w.strides[i])
		}
	}
	return t
}

// transposeRows is how many rows of an output matrix are one piece of work.
const transposeRows = 64

func transpose(l *lowering, n *ir.Node) (func(fr *frame), error) {
	t := transpositionOf(n)
	to, from, size := l.at(n.Outputs[0]), l.at(n.Inputs[0]), n.Outputs[0].DType().Size()
	dst, src := &walk{t.outer, t.dst}, &walk{t.outer, t.src}
	pieces := (t.n + transposeRows - 1) / transposeRows
	work := job(func(fr *frame, lo, hi, _ int) {
		for i := lo; i < hi; i++ {
			row := i % pieces * transposeRows
			t.piece(unsafe.Add(fr.at(to), (dst.index(i/pieces)+row*t.ldd)*size),
				unsafe.Add(fr.at(from), (src.index(i/pieces)+row)*size), min(transposeRows, t.n-row), size)
		}
	})
	count := product(t.outer) * pieces
	grain := max(1, (1<<16)/(t.m*min(t.n, transposeRows)))
	return func(fr *frame) { fr.workers.run(fr, work, count, grain) }, nil
}

// piece transposes n columns of a matrix.
func (t *transposition) piece(dst, src unsafe.Pointer, n, size int) {
	switch size {
	case 1:
		pieceAs(t, dst, src, n, kernel.Transpose[uint8])
	case 2:
		pieceAs(t, dst, src, n, kernel.Transpose[uint16])
	case 4:
		pieceAs(t, dst, src, n, kernel.Transpose32)
	default:
		pieceAs(t, dst, src, n, kernel.Transpose[uint64])
	}
}

func pieceAs[T any](t *transposition, dst, src unsafe.Pointer, n int, fn func(dst []T, ldd int, x []T, ldx, m, n int)) {
	fn(unsafe.Slice((*T)(dst), (n-1)*t.ldd+t.m), t.ldd, unsafe.Slice((*T)(src), (t.m-1)*t.ldx+n), t.ldx, t.m, n)
}
