package ptx

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/assembly"
	"github.com/weft-rl/weft/engine/rows"
)

// accumulator is a sum over rows in the registers of a block.
type accumulator struct {
	rows.Total
	at   int // among the block's sums
	regs []string
	// Of products: the result in pieces of 16 by 8, how many there are along each side, and along
	// which the warps share them.
	down, across int
	byRow        bool
}

// accumulators begins all sums with zero.
func (t *tiler) accumulators() {
	for i, s := range t.region.Sums {
		a := &accumulator{Total: s, at: t.how.At[i]}
		switch {
		case s.Y != nil:
			a.down, a.across = up(s.X.N, 16)/16, up(s.Y.N, 8)/8
			a.byRow = a.across%blockWarps != 0 && (a.down%blockWarps == 0 || a.down >= a.across)
			a.regs = t.zeros(f32, 4*len(a.pieces()))
		case spread(s.X.N):
			a.regs = t.zeros(f32, up(s.X.N, tile)/tile)
		default:
			a.regs = t.zeros(kindOf(s.X.Type).Class, s.X.N)
		}
		t.sums = append(t.sums, a)
	}
}

func (t *tiler) zeros(c assembly.Class, n int) []string {
	out := t.Many(c, n)
	for _, r := range out {
		if c == f64 {
			t.Line("mov.f64 %s, %s", r, assembly.Double(0))
		} else {
			t.Line("mov.f32 %s, %s", r, assembly.Float(0))
		}
	}
	return out
}

// piece is one of a warp's: its number along the side that is shared, which the warp's number is
// added to, and along the other.
type piece struct{ shared, own int }

func (a *accumulator) pieces() (out []piece) {
	shared, own := a.across, a.down
	if a.byRow {
		shared, own = own, shared
	}
	for s := 0; s < shared; s += blockWarps {
		for o := range own {
			out = append(out, piece{s, o})
		}
	}
	return out
}

// add adds the tile's rows to a sum.
func (t *tiler) add(a *accumulator) {
	switch {
	case a.Y != nil:
		t.addProducts(a)
	case spread(a.X.N):
		t.addLong(a)
	default:
		k := kindOf(a.X.Type)
		if k.Class != f32 && k.Class != f64 {
			refuse("sums of %s", a.X.Type)
		}
		for i, x := range t.get(a.X) { // the second thread of a row adds nothing
			t.Line("@%s add.rn.%s %s, %s, %s", t.counting, k.Suffix, a.regs[i], a.regs[i], x)
		}
	}
}

// addLong adds up columns: a thread has a column and half of the rows.
func (t *tiler) addLong(a *accumulator) {
	h := t.keep(a.X)
	t.blank(h)
	half := t.Op(b32, "shr.u32", t.thread, "6")
	at := t.Op(b32, "mad.lo.u32", half, fmt.Sprint(4*h.stride*tile/2), t.shared0())
	for i, sum := range a.regs {
		column := t.Op(b32, "add.u32", t.mine, fmt.Sprint(i*tile))
		if (i+1)*tile > a.X.N {
			column = t.Op(b32, "min.u32", column, fmt.Sprint(a.X.N-1))
		}
		from := t.Op(b32, "mad.lo.u32", column, "4", at)
		var parts []string
		for r := range tile / 2 {
			x := t.F("ld.shared", fmt.Sprintf("[%s+%d]", from, h.at+4*h.stride*r))
			if len(parts) < 4 {
				parts = append(parts, x)
			} else {
				parts[r%4] = t.F("add.rn", parts[r%4], x)
			}
		}
		t.Line("add.rn.f32 %s, %s, %s", sum, sum, t.total(parts))
	}
	t.settle()
}

// addProducts adds the tile's products to the pieces of each warp.
func (t *tiler) addProducts(a *accumulator) {
	t.keepOperand(a.X)
	y := t.keepOperand(a.Y)
	x := t.keepOperand(a.X) // which is still there: this is a read of it
	t.blank(y)
	left, right, step := t.sumOperands(a, x, y)
	for k := 0; k < tile; k += step {
		lefts, rights := map[int][4]part{}, map[int][2]part{}
		for i, p := range a.pieces() {
			down, across := p.own, p.shared
			if a.byRow {
				down, across = across, down
			}
			if _, ok := lefts[down]; !ok {
				lefts[down] = left(k, down)
			}
			if _, ok := rights[across]; !ok {
				rights[across] = right(k, across)
			}
			old := [4]string(a.regs[4*i : 4*i+4])
			for j, r := range t.multiply(lefts[down], rights[across], old) {
				t.Line("mov.f32 %s, %s", old[j], r)
			}
		}
	}
	t.settle()
}

// sumOperands load what a step of the tensor cores takes of the tile, from row k on: 16 columns of
// X, and 8 of Y.
func (t *tiler) sumOperands(a *accumulator, x, y *matrix) (left func(k, down int) [4]part, right func(k, across int) [2]part, step int) {
	if t.halves {
		return t.halfSumOperands(a, x, y)
	}
	// The first operand is X turned round: rows of the result are X's columns. Of both, the thread
	// has row k+member.
	from := t.Op(b32, "mad.lo.u32", t.member, fmt.Sprint(4*x.stride), t.shared0())
	from = t.Op(b32, "mad.lo.u32", t.group, "4", from)
	other := t.Op(b32, "mad.lo.u32", t.member, fmt.Sprint(4*y.stride), t.shared0())
	other = t.Op(b32, "mad.lo.u32", t.group, "4", other)
	from, other = t.shareOut(a, from, other, 4)
	left = func(k, down int) (f [4]part) {
		for i, o := range [4]int{0, 32, 16 * x.stride, 16*x.stride + 32} {
			f[i] = t.part(t.F("ld.shared", fmt.Sprintf("[%s+%d]", from, x.at+4*k*x.stride+64*down+o)))
		}
		return f
	}
	right = func(k, across int) (f [2]part) {
		at := y.at + 4*k*y.stride + 32*across
		for i := range f {
			f[i] = t.part(t.F("ld.shared", fmt.Sprintf("[%s+%d]", other, at+16*i*y.stride)))
		}
		return f
	}
	return left, right, 8
}

// shareOut moves the address of X's or Y's columns, of elements of so many bytes, to those of the
// warp's first piece.
func (t *tiler) shareOut(a *accumulator, x, y string, size int) (string, string) {
	if a.byRow {
		return t.Op(b32, "mad.lo.u32", t.sharedPiece(a.down), fmt.Sprint(16*size), x), y
	}
	return x, t.Op(b32, "mad.lo.u32", t.sharedPiece(a.across), fmt.Sprint(8*size), y)
}

// sharedPiece returns the warp's first piece along the side that warps share; if there are fewer
// pieces than warps, the last warps compute the first piece again, and drop it in the end.
func (t *tiler) sharedPiece(n int) string {
	if n >= blockWarps {
		return t.warp
	}
	return t.Op(b32, "selp.b32", t.warp, "0", t.Op(pred, "setp.lt.u32", t.warp, fmt.Sprint(n)))
}

// leave writes the block's sums.
func (t *tiler) leave(block, single, double string) {
	number := t.Op(b64, "cvt.u64.u32", block)
	single = t.Op(b64, "mad.lo.u64", number, fmt.Sprint(4*t.how.Single), single)
	double = t.Op(b64, "mad.lo.u64", number, fmt.Sprint(8*t.how.Double), double)
	for _, a := range t.sums {
		switch {
		case a.Y != nil:
			t.leaveProducts(a, single)
		case spread(a.X.N):
			t.leaveLong(a, single)
		case a.Value.DType() == dtypes.Float64:
			t.leaveSmall(a, double, 8)
		default:
			t.leaveSmall(a, single, 4)
		}
	}
}

func (t *tiler) leaveProducts(a *accumulator, to string) {
	for i, p := range a.pieces() {
		// Piece (down, across), of which the thread has rows group and group+8, columns 2 member
		// and the next.
		shared := t.Op(b32, "add.u32", t.warp, fmt.Sprint(p.shared))
		own := t.Op(b32, "mov.u32", fmt.Sprint(p.own))
		down, across, most := own, shared, a.across
		if a.byRow {
			down, across, most = shared, own, a.down
		}
		row := t.Op(b32, "mad.lo.u32", down, "16", t.group)
		column := t.Op(b32, "mad.lo.u32", across, "8", t.Op(b32, "mul.lo.u32", t.member, "2"))
		fits := t.Op(pred, "setp.lt.u32", shared, fmt.Sprint(most))
		for j := range 4 {
			r, c := row, column
			if j >= 2 {
				r = t.Op(b32, "add.u32", row, "8")
			}
			if j%2 == 1 {
				c = t.Op(b32, "add.u32", column, "1")
			}
			in := t.Op(pred, "and.pred", t.Op(pred, "setp.lt.u32", r, fmt.Sprint(a.X.N)), t.Op(pred, "setp.lt.u32", c, fmt.Sprint(a.Y.N)))
			in = t.Op(pred, "and.pred", in, fits)
			e := t.Op(b32, "mad.lo.u32", r, fmt.Sprint(a.Y.N), c)
			at := t.Op(b64, "mad.lo.u64", t.Op(b64, "cvt.u64.u32", e), "4", to)
			t.Line("@%s st.global.f32 [%s+%d], %s", in, at, 4*a.at, a.regs[4*i+j])
		}
	}
}

// leaveLong adds the two halves of each column.
func (t *tiler) leaveLong(a *accumulator, to string) {
	at := t.Op(b32, "mad.lo.u32", t.thread, "4", t.shared0())
	for i, sum := range a.regs {
		t.Line("bar.sync 0")
		t.Line("st.shared.f32 [%s], %s", at, sum)
		t.Line("bar.sync 0")
		other := t.F("ld.shared", fmt.Sprintf("[%s+%d]", t.Op(b32, "mad.lo.u32", t.mine, "4", t.shared0()), 4*tile))
		column := t.Op(b32, "add.u32", t.mine, fmt.Sprint(i*tile))
		in := t.Op(pred, "and.pred", t.first, t.Op(pred, "setp.lt.u32", column, fmt.Sprint(a.X.N)))
		address := t.Op(b64, "mad.lo.u64", t.Op(b64, "cvt.u64.u32", column), "4", to)
		t.Line("@%s st.global.f32 [%s+%d], %s", in, address, 4*a.at, t.F("add.rn", sum, other))
	}
}

// leaveSmall adds up what the threads of the rows have.
func (t *tiler) leaveSmall(a *accumulator, to string, size int) {
	k := kindOf(a.X.Type)
	for i, sum := range a.regs {
		for d := lanes / 2; d > 0; d /= 2 {
			sum = t.Op(k.Class, "add.rn."+k.Suffix, sum, t.from(k, sum, "bfly", fmt.Sprint(d)))
		}
		t.Line("bar.sync 0")
		at := t.Op(b32, "mad.lo.u32", t.warp, fmt.Sprint(size), t.shared0())
		t.Line("st.shared.%s [%s], %s", k.Suffix, at, sum)
		t.Line("bar.sync 0")
		whole := t.Op(k.Class, "ld.shared."+k.Suffix, fmt.Sprintf("[%s]", t.shared0()))
		for w := 1; w < tile/lanes; w++ {
			whole = t.Op(k.Class, "add.rn."+k.Suffix, whole, t.Op(k.Class, "ld.shared."+k.Suffix, fmt.Sprintf("[%s+%d]", t.shared0(), size*w)))
		}
		only := t.Op(pred, "setp.eq.u32", t.thread, "0")
		t.Line("@%s st.global.%s [%s+%d], %s", only, k.Suffix, to, size*(a.at+i), whole)
	}
}
