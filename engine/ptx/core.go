package ptx

import (
	"github.com/weft-rl/weft/engine/rows"
)

// The tensor cores take steps of 16 x 8 by 8 x 8 elements in TF32, or of 16 x 16 by 16 x 8 in
// bfloat16. What is exact goes in three steps of TF32.

// part is a number as the tensor cores take it: in TF32, and what that rounds off.
type part struct{ high, low string }

func high(p part) string { return p.high }
func low(p part) string  { return p.low }

// part rounds halves away from zero, as the instruction for it does. That looks for infinities
// besides, which here turn into what is not a number anyhow. Of the rest the tensor cores cut off
// what TF32 does not have: at most 2^-22 of x.
func (w *writer) part(x string) part {
	if !w.exact {
		return part{high: w.Op(b32, "cvt.rna.tf32.f32", x)}
	}
	bits := w.Op(b32, "add.u32", w.Op(b32, "mov.b32", x), "4096")
	bits = w.Op(b32, "and.b32", bits, "0xffffe000")
	return part{high: bits, low: w.Op(b32, "mov.b32", w.F("sub.rn", x, w.Op(f32, "mov.b32", bits)))}
}

// multiply returns a step of the tensor cores, of 16 x 8 by 8 x 8: in TF32, or in three steps that
// make up for what TF32 rounds off of either operand.
func (w *writer) multiply(a [4]part, b [2]part, sum [4]string) [4]string {
	if w.exact {
		sum = w.mma(each(a[:], low), each(b[:], high), sum)
		sum = w.mma(each(a[:], high), each(b[:], low), sum)
	}
	return w.mma(each(a[:], high), each(b[:], high), sum)
}

func each(parts []part, of func(part) string) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = of(p)
	}
	return out
}

func (w *writer) mma(a, b []string, c [4]string) [4]string {
	var d [4]string
	for i := range d {
		d[i] = w.New(f32)
	}
	kind := "m16n8k8.row.col.f32.tf32.tf32.f32"
	if w.halves {
		kind = "m16n8k16.row.col.f32.bf16.bf16.f32"
	}
	w.Line("mma.sync.aligned.%s {%s, %s, %s, %s}, {%s, %s, %s, %s}, {%s, %s}, {%s, %s, %s, %s}", kind,
		d[0], d[1], d[2], d[3], a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], c[2], c[3])
	return d
}

// pair rounds two numbers, to the nearest, into one word, the first in the lower half.
func (w *writer) pair(guard, x, y string) string {
	out := w.New(b32)
	w.Line("%scvt.rn.bf16x2.f32 %s, %s, %s", guard, out, y, x)
	return out
}

// mapColumns returns an elementwise operation of what threads have of a piece.
func (w *writer) mapColumns(n *rows.Node, args [][4]string) (out [4]string) {
	of := n.Args[0].Type
	if len(args) == 3 && n.Args[0].Type != n.Type {
		of = n.Type
	}
	for i := range out {
		one := make([]string, len(args))
		for j := range args {
			one[j] = args[j][i]
		}
		out[i] = w.scalar(n.Map, of, n.Type, one)
	}
	return out
}

// constantColumns returns a piece of a constant that is one number all over.
func (w *writer) constantColumns(n *rows.Node) [4]string {
	for _, b := range n.Bits {
		if b != n.Bits[0] {
			refuse("a constant of %d numbers", n.N)
		}
	}
	x := w.constant(n.Type, n.Bits[0])
	return [4]string{x, x, x, x}
}
