package ptx

import (
	"fmt"
	"strings"

	"github.com/weft-rl/weft/engine/internal/assembly"
	"github.com/weft-rl/weft/engine/rows"
)

// Where products round to bfloat16, their operands lie in shared memory rounded, two elements to a
// word, beside what others read of the same nodes in float32. A step of the tensor cores is over 16
// elements of a sum instead of 8, and four blocks of 8 x 8 elements, as threads have them for such
// a step, are loaded at once, as they lie or turned round, so that one copy of a matrix serves
// products with it and with its transpose.

// halfStride returns how far rows of so many elements lie apart: eight of them then begin in
// different banks.
func halfStride(columns int) int { return up(columns, 16) + 8 }

// blocks loads n blocks of 8 x 8. Threads 8i to 8i+7 have the addresses of the rows of block i. Of
// a block a thread gets elements 2 member and the next of row group, or, if it is turned round, of
// column group.
func (t *tiler) blocks(n int, turn bool, at string, offset int) []string {
	out := t.Many(b32, n)
	how := ""
	if turn {
		how = ".trans"
	}
	t.Line("ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 {%s}, [%s+%d]", n, how, strings.Join(out, ", "), at, offset)
	return out
}

// starts returns the addresses for blocks that lie n/8 below each other, and so on to the right:
// those of a row for each of n lanes, a power of two.
func (t *tiler) starts(m *matrix, n int) string {
	row := t.Op(b32, "rem.u32", t.lane, fmt.Sprint(n))
	at := t.Op(b32, "mad.lo.u32", row, fmt.Sprint(2*m.stride), t.shared0())
	return t.Op(b32, "mad.lo.u32", t.Op(b32, "div.u32", t.lane, fmt.Sprint(n)), "16", at)
}

// halfOperand loads a product's operand, all of the warp's rows.
func (t *tiler) halfOperand(h *matrix) (out [][4]part) {
	at := t.Op(b32, "mad.lo.u32", t.warp, fmt.Sprint(16*2*h.stride), t.starts(h, 16))
	for k := 0; k < h.columns; k += 16 {
		out = append(out, [4]part(parts(t.blocks(4, false, at, h.at+2*k))))
	}
	return out
}

// halfProduct multiplies the operand, which is at hand, with eight columns of the matrix.
func (t *tiler) halfProduct(n *rows.Node, m matrix, c int) [4]string {
	at, along, from := t.starts(&m, lanes), m.stride, c
	if turned(n) {
		at, along, from = t.starts(&m, 8), 1, c*m.stride
	}
	sum := [4]string{assembly.Float(0), assembly.Float(0), assembly.Float(0), assembly.Float(0)}
	steps := t.fragments[n]
	for i := 0; i < len(steps); i += 2 { // two steps to a load
		some := steps[i:min(i+2, len(steps))]
		b := t.blocks(2*len(some), !turned(n), at, m.at+2*(from+16*i*along))
		for j, a := range some {
			sum = t.mma(each(a[:], high), b[2*j:2*j+2], sum)
		}
	}
	return sum
}

// halfSumOperands returns sumOperands: both matrices are read turned round.
func (t *tiler) halfSumOperands(a *accumulator, x, y *matrix) (left func(k, down int) [4]part, right func(k, across int) [2]part, step int) {
	// Of X the blocks are those of two times 8 rows, each of two times 8 columns.
	row := t.Op(b32, "and.b32", t.lane, "7")
	row = t.Op(b32, "mad.lo.u32", t.Op(b32, "shr.u32", t.lane, "4"), "8", row)
	from := t.Op(b32, "mad.lo.u32", row, fmt.Sprint(2*x.stride), t.shared0())
	block := t.Op(b32, "and.b32", t.Op(b32, "shr.u32", t.lane, "3"), "1")
	from = t.Op(b32, "mad.lo.u32", block, "16", from)
	from, other := t.shareOut(a, from, t.starts(y, lanes), 2)
	left = func(k, down int) [4]part {
		return [4]part(parts(t.blocks(4, true, from, x.at+2*(k*x.stride+16*down))))
	}
	next := map[int][]string{} // of Y two steps are loaded at once
	right = func(k, across int) [2]part {
		b := next[across]
		if k%32 == 0 {
			b = t.blocks(4, true, other, y.at+2*(k*y.stride+8*across))
			next[across] = b[2:]
		}
		return [2]part(parts(b[:2]))
	}
	return left, right, 16
}

// parts returns registers as the tensor cores take them.
func parts(regs []string) []part {
	out := make([]part, len(regs))
	for i, r := range regs {
		out[i].high = r
	}
	return out
}
