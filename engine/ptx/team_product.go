package ptx

import (
	"fmt"

	"github.com/weft-rl/weft/engine/internal/assembly"
	"github.com/weft-rl/weft/engine/rows"
)

// step returns over how many elements of a sum the tensor cores go at a time.
func (t *team) step() int {
	if t.halves {
		return 16
	}
	return 8
}

// steps returns how many of them a product takes.
func (t *team) steps(n *rows.Node) int { return up(n.Args[0].N, t.step()) / t.step() }

// multiplyLong computes the warp's pieces of a long product.
func (t *team) multiplyLong(n *rows.Node) {
	h := t.keep(n.Args[0])
	count := pieces(n.N)
	sums, weight, at := t.zeroSums(count), t.weightsOf(n), t.operandAt(h)
	for k := range t.steps(n) {
		a := t.operand(h, at, k*t.step())
		for i := range count {
			t.multiplyBands(a, weight(k*count+i), sums[i])
		}
	}
	t.read(n.Args[0])
	t.products[n] = sums
}

// multiplyBands adds a step to the sums of each band.
func (t *team) multiplyBands(a [][4]part, w [2]part, sums [][4]string) {
	for b := range a {
		sums[b] = t.multiply(a[b], w, sums[b])
	}
}

// operandAt returns the address of the thread's first element of an operand.
func (t *team) operandAt(h *matrix) string {
	at := t.Op(b32, "mad.lo.u32", t.group, fmt.Sprint(4*h.stride), t.shared0())
	return t.Op(b32, "mad.lo.u32", t.member, fmt.Sprint(4*t.lanesOf()), at)
}

// lanesOf returns how many elements lie side by side in a thread's operand.
func (t *team) lanesOf() int { return t.step() / 8 }

// operand loads all rows of an operand, from element k on.
func (t *team) operand(h *matrix, at string, k int) (out [][4]part) {
	for b := range t.bands {
		var x [4]part
		for i := range x {
			x[i] = t.word(at, h.at+4*k+4*h.stride*(band*b+8*(i%2))+4*t.step()/2*(i/2))
		}
		out = append(out, x)
	}
	return out
}

// word loads an element of an operand, or two that are one word.
func (t *team) word(at string, offset int) part {
	if !t.halves {
		return t.part(t.F("ld.shared", fmt.Sprintf("[%s+%d]", at, offset)))
	}
	x, y := t.New(f32), t.New(f32)
	t.Line("ld.shared.v2.f32 {%s, %s}, [%s+%d]", x, y, at, offset)
	return part{high: t.pair("", x, y)}
}

// sharedOperand loads an operand of a step that is the warp's own: the j-th of those that warps
// share. Warps for which there is none take the first, which their weights make nothing of.
func (t *team) sharedOperand(h *matrix, steps, j int) [][4]part {
	k := t.Op(b32, "add.u32", t.warp, fmt.Sprint(j*teamWarps))
	if (j+1)*teamWarps > steps {
		k = t.Op(b32, "selp.b32", k, "0", t.Op(pred, "setp.lt.u32", k, fmt.Sprint(steps)))
	}
	return t.operand(h, t.Op(b32, "mad.lo.u32", k, fmt.Sprint(4*t.step()), t.operandAt(h)), 0)
}

// weightsOf returns how to get the thread's weights of a product: of a long one for step k and
// piece i, at k*pieces+i; of a small one for the warp's j-th step and piece c, at j*pieces+c.
func (t *team) weightsOf(n *rows.Node) func(at int) [2]part {
	if held := t.matrices[n]; held != nil {
		return func(at int) [2]part { return held[at] }
	}
	return t.fetchPieces(n)
}

// holdPieces loads a product's weights before the loop, if there is room.
func (t *team) holdPieces(n *rows.Node) {
	count := t.steps(n) * pieces(n.N)
	if !spread(n.N) {
		count = up(t.steps(n), teamWarps) / teamWarps * up(n.N, 8) / 8
	}
	need := 2 * count
	if t.exact {
		need *= 2
	}
	if t.used+need > t.budget {
		return
	}
	t.used += need
	fetch, held := t.fetchPieces(n), make([][2]part, count)
	for i := range held {
		held[i] = fetch(i)
	}
	t.matrices[n] = held
}

// fetchPieces loads weights as weight numbers them.
func (t *team) fetchPieces(n *rows.Node) func(at int) [2]part {
	base := t.Op(b64, "add.u64", t.inputs[n.Input], fmt.Sprint(4*n.Weight.Offset))
	if !spread(n.N) {
		count := up(n.N, 8) / 8
		return func(at int) [2]part {
			step := t.Op(b32, "add.u32", t.warp, fmt.Sprint(at/count*teamWarps))
			return t.pairOf(n, base, t.Op(b32, "mul.lo.u32", step, fmt.Sprint(t.step())), t.column(t.group, at%count*8, n.N))
		}
	}
	count, column := pieces(n.N), t.Op(b32, "mad.lo.u32", t.warp, "8", t.group)
	near := t.Op(b64, "mad.lo.u64", t.Op(b64, "cvt.u64.u32", column), fmt.Sprint(4*n.Weight.N), base)
	near = t.Op(b64, "mad.lo.u64", t.Op(b64, "cvt.u64.u32", t.member), fmt.Sprint(4*n.Weight.K*t.lanesOf()), near)
	return func(at int) [2]part {
		k, by := at/count*t.step(), 8*teamWarps*(at%count)
		if k+t.step() > n.Args[0].N || by+8*teamWarps > n.N {
			return t.pairOf(n, base, t.Op(b32, "mov.u32", fmt.Sprint(k)), t.column(column, by, n.N))
		}
		return t.parts(func(e int) string {
			return t.F("ld.global.nc", fmt.Sprintf("[%s+%d]", near, 4*((k+e)*n.Weight.K+by*n.Weight.N)))
		})
	}
}

// parts returns the thread's weights of a step, given how to load element e behind its first.
func (t *team) parts(load func(e int) string) (out [2]part) {
	for i := range out {
		e := i * t.step() / 2
		if t.halves {
			out[i] = part{high: t.pair("", load(e), load(e+1))}
		} else {
			out[i] = t.part(load(e))
		}
	}
	return out
}

// column returns a column, by so many further than one, that is there.
func (t *team) column(c string, by, n int) string {
	return t.Op(b32, "min.u32", t.Op(b32, "add.u32", c, fmt.Sprint(by)), fmt.Sprint(n-1))
}

// pairOf loads the thread's weights of a step that begins with element k, in one column; beyond the
// last element they are zero.
func (t *team) pairOf(n *rows.Node, base, k, column string) [2]part {
	address := t.Op(b64, "mad.lo.u64", t.Op(b64, "cvt.u64.u32", column), fmt.Sprint(4*n.Weight.N), base)
	mine := t.Op(b32, "mad.lo.u32", t.member, fmt.Sprint(t.lanesOf()), k)
	return t.parts(func(by int) string {
		e, x := t.Op(b32, "add.u32", mine, fmt.Sprint(by)), t.F("mov", assembly.Float(0))
		in := t.Op(pred, "setp.lt.u32", e, fmt.Sprint(n.Args[0].N))
		at := t.Op(b64, "mad.lo.u64", t.Op(b64, "cvt.u64.u32", e), fmt.Sprint(4*n.Weight.K), address)
		t.Line("@%s ld.global.nc.f32 %s, [%s]", in, x, at)
		return x
	})
}

// holdVector loads the warp's columns of a vector that all rows share, before the loop.
func (t *team) holdVector(n *rows.Node) {
	step, even := evenly(n.Place.Elems)
	if !even || kindOf(n.Type).Class != f32 {
		refuse("a shared row whose %d elements lie unevenly", n.N)
	}
	first := t.Op(b32, "mad.lo.u32", t.warp, "8", t.Op(b32, "shl.b32", t.member, "1"))
	for i := range pieces(n.N) {
		var x [2]string
		for j := range x {
			e := t.column(first, 8*teamWarps*i+j, n.N)
			at := t.Op(b64, "mad.lo.u64", t.Op(b64, "cvt.u64.u32", e), fmt.Sprint(4*step), t.inputs[n.Input])
			x[j] = t.F("ld.global.nc", fmt.Sprintf("[%s+%d]", at, 4*(n.Place.Offset+n.Place.Elems[0])))
		}
		t.vectors[n] = append(t.vectors[n], x)
	}
}
