package ptx

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/assembly"
	"github.com/weft-rl/weft/engine/rows"
)

// teamSum is a sum over rows in the registers of a block: of a row's numbers in the thread of the
// row; of long ones in the warp that makes the column; of products in pieces of 16 by 8, which the
// warps share along one side.
type teamSum struct {
	rows.Total
	at   int // among the block's sums
	regs []string
}

// byRow reports whether warps share a sum of products by X's columns: if Y has few.
func (a *teamSum) byRow() bool { return spread(a.X.N) && !spread(a.Y.N) }

// pieces returns how many a warp has along the side that is shared, and along the other.
func (a *teamSum) pieces() (shared, own int) {
	down, across := up(a.X.N, 16)/16, up(a.Y.N, 8)/8
	if a.byRow() {
		return up(down, teamWarps) / teamWarps, across
	}
	return up(across, teamWarps) / teamWarps, down
}

// fits reports whether a sum of products fits into registers.
func (a *teamSum) fits() bool {
	shared, own := a.pieces()
	return 4*shared*own <= pieceRegs
}

// begins makes the registers of a sum.
func (t *teamRegion) begins(a *teamSum) {
	switch {
	case a.Y != nil && !a.fits():
	case a.Y != nil:
		shared, own := a.pieces()
		a.regs = t.zeroed(f32, 4*shared*own)
	case spread(a.X.N):
		a.regs = t.zeroed(f32, 2*pieces(a.X.N))
	default:
		k := kindOf(a.X.Type)
		if k.Class != f32 && k.Class != f64 {
			refuse("sums of %s", a.X.Type)
		}
		a.regs = t.zeroed(k.Class, a.X.N)
	}
}

// add adds a tile's rows to a sum, or writes what others add up.
func (t *teamRegion) add(a *teamSum) {
	switch {
	case a.Y != nil && !a.fits():
		t.keep(a.X)
		t.keep(a.Y)
		t.write(a.X)
		t.write(a.Y)
	case a.Y != nil:
		t.addProducts(a)
	case spread(a.X.N):
		t.addColumns(a)
	default:
		k := kindOf(a.X.Type)
		for i, x := range t.get(a.X) {
			t.Line("@%s add.rn.%s %s, %s, %s", t.inside, k.Suffix, a.regs[i], a.regs[i], x)
		}
	}
	t.settle()
}

// addColumns adds up the warp's columns.
func (t *teamRegion) addColumns(a *teamSum) {
	h := t.keep(a.X)
	from := t.ours(h)
	for i := range pieces(a.X.N) {
		for b := range t.bands {
			x := t.take(h, from, 8*teamWarps*i, b)
			for j := range 2 {
				sum := a.regs[2*i+j]
				t.Line("add.rn.f32 %s, %s, %s", sum, sum, t.F("add.rn", x[j], x[2+j]))
			}
		}
	}
	t.read(a.X)
}

// addProducts adds the products of a tile's rows. The first operand is X turned round: its rows are
// X's columns.
func (t *teamRegion) addProducts(a *teamSum) {
	t.keep(a.X)
	y := t.keep(a.Y)
	x := t.keep(a.X) // which is still there, since it is read below
	shared, own := a.pieces()
	fromX, fromY := t.columnsOf(x, a.byRow(), 16), t.columnsOf(y, !a.byRow(), 8)
	for k := 0; k < t.rows(); k += t.step() {
		lefts, rights := map[int][4]part{}, map[int][2]part{}
		for s := range shared {
			for o := range own {
				down, across := o, teamWarps*s
				if a.byRow() {
					down, across = teamWarps*s, o
				}
				if _, ok := lefts[down]; !ok {
					lefts[down] = t.left(x, fromX, k, down)
				}
				if _, ok := rights[across]; !ok {
					rights[across] = t.parts(t.downFrom(y, fromY, k, 8*across))
				}
				i := 4 * (s*own + o)
				old := [4]string(a.regs[i : i+4])
				for j, r := range t.multiply(lefts[down], rights[across], old) {
					t.Line("mov.f32 %s, %s", old[j], r)
				}
			}
		}
	}
	t.read(a.X)
	t.read(a.Y)
}

// columnsOf returns the address of the thread's first element of a matrix whose columns are
// multiplied: those of the warp's first piece, of so many columns, if warps share them.
func (t *teamRegion) columnsOf(h *matrix, share bool, columns int) string {
	at := t.Op(b32, "mad.lo.u32", t.member, fmt.Sprint(4*h.stride*t.lanesOf()), t.shared0())
	at = t.Op(b32, "mad.lo.u32", t.group, "4", at)
	if !share {
		return at
	}
	warp := t.warp
	if there := up(h.columns, columns) / columns; there < teamWarps { // warps without a piece do the first again
		warp = t.Op(b32, "selp.b32", warp, "0", t.Op(pred, "setp.lt.u32", warp, fmt.Sprint(there)))
	}
	return t.Op(b32, "mad.lo.u32", warp, fmt.Sprint(4*columns), at)
}

// downFrom returns how to load elements of a column, e rows behind row k.
func (t *teamRegion) downFrom(h *matrix, from string, k, column int) func(e int) string {
	return func(e int) string {
		return t.F("ld.shared", fmt.Sprintf("[%s+%d]", from, h.at+4*((k+e)*h.stride+column)))
	}
}

// left loads 16 columns of X as rows of the first operand.
func (t *teamRegion) left(h *matrix, from string, k, down int) (out [4]part) {
	for i := range 2 {
		two := t.parts(t.downFrom(h, from, k, 16*down+8*i))
		out[i], out[2+i] = two[0], two[1]
	}
	return out
}

// zeroed returns registers that are zero.
func (w *writer) zeroed(c assembly.Class, n int) []string {
	out := w.Many(c, n)
	for _, r := range out {
		if c == f64 {
			w.Line("mov.f64 %s, %s", r, assembly.Double(0))
		} else {
			w.Line("mov.f32 %s, %s", r, assembly.Float(0))
		}
	}
	return out
}

// leave writes the block's sums.
func (t *teamRegion) leave(block, single, double string) {
	single = t.Op(b64, "mad.lo.u64", block, fmt.Sprint(4*t.how.Single), single)
	double = t.Op(b64, "mad.lo.u64", block, fmt.Sprint(8*t.how.Double), double)
	for _, a := range t.sums {
		switch {
		case a.Y != nil && !a.fits():
		case a.Y != nil:
			t.leaveProducts(a, single)
		case spread(a.X.N):
			t.leaveColumns(a, single)
		case a.Value.DType() == dtypes.Float64:
			t.leaveSmall(a, double, 8)
		default:
			t.leaveSmall(a, single, 4)
		}
	}
}

func (t *teamRegion) leaveProducts(a *teamSum, to string) {
	shared, own := a.pieces()
	for s := range shared {
		for o := range own {
			mine := t.Op(b32, "add.u32", t.warp, fmt.Sprint(teamWarps*s))
			other := t.Op(b32, "mov.u32", fmt.Sprint(o))
			down, across := other, mine
			if a.byRow() {
				down, across = mine, other
			}
			row := t.Op(b32, "mad.lo.u32", down, "16", t.group)
			column := t.Op(b32, "mad.lo.u32", across, "8", t.Op(b32, "mul.lo.u32", t.member, "2"))
			for j := range 4 {
				r, c := t.Op(b32, "add.u32", row, fmt.Sprint(j/2*8)), t.Op(b32, "add.u32", column, fmt.Sprint(j%2))
				in := t.Op(pred, "and.pred", t.Op(pred, "setp.lt.u32", r, fmt.Sprint(a.X.N)), t.Op(pred, "setp.lt.u32", c, fmt.Sprint(a.Y.N)))
				at := t.Op(b64, "mad.lo.u64", t.Op(b64, "cvt.u64.u32", t.Op(b32, "mad.lo.u32", r, fmt.Sprint(a.Y.N), c)), "4", to)
				t.Line("@%s st.global.f32 [%s+%d], %s", in, at, 4*a.at, a.regs[4*(s*own+o)+j])
			}
		}
	}
}

// leaveColumns adds up what the threads of a column have, and has the first of them write it.
func (t *teamRegion) leaveColumns(a *teamSum, to string) {
	first := t.Op(b32, "mad.lo.u32", t.warp, "8", t.Op(b32, "shl.b32", t.member, "1"))
	top := t.Op(pred, "setp.eq.u32", t.group, "0")
	for i, sum := range a.regs {
		for d := 4; d < lanes; d *= 2 {
			sum = t.F("add.rn", sum, t.from(kindOf(dtypes.Float32), sum, "bfly", fmt.Sprint(d)))
		}
		c := t.Op(b32, "add.u32", first, fmt.Sprint(8*teamWarps*(i/2)+i%2))
		in := t.Op(pred, "and.pred", top, t.Op(pred, "setp.lt.u32", c, fmt.Sprint(a.X.N)))
		at := t.Op(b64, "mad.lo.u64", t.Op(b64, "cvt.u64.u32", c), "4", to)
		t.Line("@%s st.global.f32 [%s+%d], %s", in, at, 4*a.at, sum)
	}
}

// leaveSmall adds up what the threads of rows have: in each warp, then those of the warps that have
// rows of their own.
func (t *teamRegion) leaveSmall(a *teamSum, to string, size int) {
	k := kindOf(a.X.Type)
	only := t.Op(pred, "setp.eq.u32", t.thread, "0")
	for i, sum := range a.regs {
		for d := lanes / 2; d > 0; d /= 2 {
			sum = t.Op(k.Class, "add.rn."+k.Suffix, sum, t.from(k, sum, "bfly", fmt.Sprint(d)))
		}
		t.Line("bar.sync 0")
		at := t.Op(b32, "mad.lo.u32", t.warp, fmt.Sprint(size), t.shared0())
		t.Line("st.shared.%s [%s], %s", k.Suffix, at, sum)
		t.Line("bar.sync 0")
		whole := t.Op(k.Class, "ld.shared."+k.Suffix, fmt.Sprintf("[%s]", t.shared0()))
		for w := 1; w < t.rows()/lanes; w++ {
			whole = t.Op(k.Class, "add.rn."+k.Suffix, whole, t.Op(k.Class, "ld.shared."+k.Suffix, fmt.Sprintf("[%s+%d]", t.shared0(), size*w)))
		}
		t.Line("@%s st.global.%s [%s+%d], %s", only, k.Suffix, to, size*(a.at+i), whole)
	}
}
