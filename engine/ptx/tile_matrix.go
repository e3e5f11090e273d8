package ptx

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-rl/weft/engine/internal/assembly"
	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/rows"
)

// special computes what is not the thread's alone: products, and what is long.
func (t *tiler) special(n *rows.Node) []string {
	if n.Op == rows.Dot && !spread(n.N) {
		return t.smallDot(n)
	}
	if n.Op == rows.Reduce && spread(n.Args[0].N) {
		return t.across(n)
	}
	if spread(n.N) {
		refuse("a row's %d elements in one thread", n.N)
	}
	for _, a := range n.Args {
		if spread(a.N) {
			refuse("%s of a row's %d elements", n.Op, a.N)
		}
	}
	return nil
}

// keep has a node in shared memory as a matrix of the tile.
func (t *tiler) keep(n *rows.Node) *matrix { return t.keepAs(form{n, false}) }

// keepOperand returns keep of what products multiply.
func (t *tiler) keepOperand(n *rows.Node) *matrix { return t.keepAs(form{n, t.halves}) }

func (t *tiler) keepAs(f form) *matrix {
	n := f.node
	if h := t.buffers[f]; h != nil {
		t.read(f)
		return h
	}
	switch {
	case !spread(n.N):
		t.keepSmall(n)
	case n.Op == rows.Load && (n.Place.Row != 0 || len(n.Dyn) > 0):
		t.keepLoad(n)
	default:
		t.keepLong(n)
	}
	t.Line("bar.sync 0")
	t.settleBut(n)
	t.read(f)
	return t.buffers[f]
}

// settleBut settles all but what was just made.
func (t *tiler) settleBut(n *rows.Node) {
	made := map[form]*matrix{}
	for _, f := range t.forms(n) {
		made[f] = t.buffers[f]
		delete(t.buffers, f)
	}
	t.settle()
	maps.Copy(t.buffers, made)
}

// rooms returns where the forms of a node go: into free memory, or in place of what is worn by
// then.
func (t *tiler) rooms(n *rows.Node) (out []*matrix) {
	for _, f := range t.forms(n) {
		h := t.worn(f)
		if h == nil {
			h = t.room(f.matrix())
		} else {
			t.Line("bar.sync 0") // all are through with what they did with it before
		}
		out = append(out, h)
	}
	return out
}

// worn returns a matrix that is read for the last time while the form is written, if there is one
// like it: whoever writes an element is the one that read it in that place just before.
func (t *tiler) worn(f form) *matrix {
	span := t.knew[f.node]
	for _, old := range sorted(t.buffers) {
		last, h := t.known[old], t.buffers[old]
		if !f.half && !old.half && h.stride == f.matrix().stride && last > span[0] && last <= span[1] {
			return h
		}
	}
	return nil
}

// filled notes that they are there, and what was in their place is not.
func (t *tiler) filled(n *rows.Node, hs []*matrix) {
	maps.DeleteFunc(t.buffers, func(_ form, h *matrix) bool { return slices.Contains(hs, h) })
	for i, f := range t.forms(n) {
		t.buffers[f] = hs[i]
	}
}

// rowOf returns the address of the thread's row in a matrix of the tile.
func (t *tiler) rowOf(h *matrix) string {
	return t.Op(b32, "mad.lo.u32", t.mine, fmt.Sprint(h.size*h.stride), t.shared0())
}

// keepSmall writes what each thread has of its row, and zeros up to a whole operand.
func (t *tiler) keepSmall(n *rows.Node) {
	regs := slices.Clone(t.get(n))
	for len(regs) < up(n.N, 16) {
		regs = append(regs, assembly.Float(0))
	}
	hs := t.rooms(n)
	for _, h := range hs {
		at := t.rowOf(h)
		for i := 0; i < len(regs); i += 2 {
			t.putPair(h, at, i, "@"+t.first+" ", regs[i], regs[i+1])
		}
	}
	t.filled(n, hs)
}

// putPair writes elements i and i+1 of a row that begins at an address.
func (t *tiler) putPair(h *matrix, at string, i int, guard, x, y string) {
	if h.size == 2 {
		t.Line("%sst.shared.b32 [%s+%d], %s", guard, at, h.at+2*i, t.pair(guard, x, y))
		return
	}
	t.Line("%sst.shared.v2.f32 [%s+%d], {%s, %s}", guard, at, h.at+4*i, x, y)
}

// keepLoad reads a long row of an input, by pairs of elements; the two threads of a row take turns.
func (t *tiler) keepLoad(n *rows.Node) {
	k := kindOf(n.Type)
	if k.Class != f32 {
		refuse("long rows of %s", n.Type)
	}
	address := t.base(t.inputs[n.Input], n.Place, k.Size)
	for i, d := range n.Dyn {
		index := t.clamped(t.get(n.Args[i])[0], n.Args[i].Type, d.Most)
		address = t.Op(b64, "mad.lo.u64", index, fmt.Sprint(d.Stride*k.Size), address)
	}
	hs := t.rooms(n)
	var at []string
	for _, h := range hs {
		at = append(at, t.rowOf(h))
	}
	half := t.Op(b32, "shr.u32", t.thread, "6")
	other := t.Op(pred, "setp.ne.u32", half, "0")
	for i := 0; i < up(n.N, 16); i += 2 {
		guard := "@!" + other + " "
		if i%4 == 2 {
			guard = "@" + other + " "
		}
		pair := [2]string{assembly.Float(0), assembly.Float(0)}
		for j := i; j < min(i+2, n.N); j++ {
			pair[j-i] = t.New(f32)
			t.Line("%sld.global.nc.f32 %s, [%s+%d]", guard, pair[j-i], address, 4*n.Place.Elems[j])
		}
		for k, h := range hs {
			if i < h.columns {
				t.putPair(h, at[k], i, guard, pair[0], pair[1])
			}
		}
	}
	t.filled(n, hs)
}

// keepLong computes a long node eight columns at a time, each warp its 16 rows.
func (t *tiler) keepLong(n *rows.Node) {
	outer := t.fragments // of what is being written around this
	t.fragments = map[*rows.Node][][4]part{}
	t.prepare(n)
	start := t.order
	hs := t.rooms(n)
	var to []string
	for _, h := range hs {
		to = append(to, t.corner(h))
	}
	for c := 0; c < up(n.N, 16); c += 8 {
		x := [4]string{assembly.Float(0), assembly.Float(0), assembly.Float(0), assembly.Float(0)}
		if c < n.N {
			x = t.fragment(n, c)
		}
		for i, h := range hs {
			if c < h.columns {
				t.put(h, to[i], c, x)
			}
		}
	}
	t.fragments = outer
	t.during[n] = [2]int{start, t.order}
	t.filled(n, hs)
}

// put writes eight columns of the warp's rows, from c on, as the tensor cores leave them.
func (t *tiler) put(h *matrix, to string, c int, x [4]string) {
	t.putPair(h, to, c, "", x[0], x[1])
	t.putPair(h, to, c+8*h.stride, "", x[2], x[3])
}

// corner returns the address of the thread's part of the warp's rows: of each eight columns a
// thread has two, in rows lane/4 and 8 further.
func (t *tiler) corner(m *matrix) string {
	row := t.Op(b32, "mad.lo.u32", t.warp, "16", t.group)
	at := t.Op(b32, "mad.lo.u32", row, fmt.Sprint(m.size*m.stride), t.shared0())
	return t.Op(b32, "mad.lo.u32", t.member, fmt.Sprint(2*m.size), at)
}

// prepare has everything ready that fragments of a node are made of.
func (t *tiler) prepare(n *rows.Node) {
	switch {
	case n.Op == rows.Dot:
		t.operand(n)
	case n.Op == rows.Map:
		for _, a := range n.Args {
			if t.kept(a) {
				t.keep(a)
			} else {
				t.prepare(a)
			}
		}
	}
}

// kept reports whether a long node is a matrix of its own: if it is used more than once, and not
// just read.
func (t *tiler) kept(n *rows.Node) bool {
	if !spread(n.N) || n.Op == rows.Const || n.Op == rows.Load && n.Place.Row == 0 && len(n.Dyn) == 0 {
		return false
	}
	return t.uses[n] > 1 || n.Op == rows.Load
}

// operand loads a product's operand, all of the warp's rows.
func (t *tiler) operand(n *rows.Node) {
	if t.fragments[n] != nil {
		return
	}
	h := t.keepOperand(n.Args[0])
	if t.halves {
		t.fragments[n] = t.halfOperand(h)
		return
	}
	row := t.Op(b32, "mad.lo.u32", t.warp, "16", t.group)
	at := t.Op(b32, "mad.lo.u32", row, fmt.Sprint(4*h.stride), t.shared0())
	at = t.Op(b32, "mad.lo.u32", t.member, "4", at)
	var out [][4]part
	for k := 0; k < up(n.Args[0].N, 8); k += 8 {
		var x [4]part
		for i, offset := range [4]int{4 * k, 4*k + 32*h.stride, 4 * (k + 4), 4*(k+4) + 32*h.stride} {
			x[i] = t.part(t.F("ld.shared", fmt.Sprintf("[%s+%d]", at, h.at+offset)))
		}
		out = append(out, x)
	}
	t.fragments[n] = out
}

// fragment returns eight columns of a long node, from c on: what the tensor cores leave with each
// thread.
func (t *tiler) fragment(n *rows.Node, c int) [4]string {
	if h := t.buffers[form{n, false}]; h != nil {
		at := t.corner(h)
		var x [4]string
		for i := range x {
			x[i] = t.New(f32)
		}
		t.Line("ld.shared.v2.f32 {%s, %s}, [%s+%d]", x[0], x[1], at, h.at+4*c)
		t.Line("ld.shared.v2.f32 {%s, %s}, [%s+%d]", x[2], x[3], at, h.at+4*c+32*h.stride)
		t.read(form{n, false})
		return x
	}
	switch n.Op {
	case rows.Const:
		return t.constantColumns(n)
	case rows.Load:
		return t.columns(n, c)
	case rows.Dot:
		return t.product(n, c)
	case rows.Map:
		return t.mappedColumns(n, c)
	case rows.Pick: // one number all over
		if n.Args[0].Op == rows.Load && n.Args[0].N == 1 && n.Args[0].Place.Row == 0 && len(n.Args[0].Dyn) == 0 {
			x := t.get(n.Args[0])[0]
			return [4]string{x, x, x, x}
		}
	}
	refuse("%s of %d elements", n.Op, n.N)
	return [4]string{}
}

func (t *tiler) mappedColumns(n *rows.Node, c int) [4]string {
	args := make([][4]string, len(n.Args))
	for i, a := range n.Args {
		args[i] = t.fragment(a, c)
	}
	return t.mapColumns(n, args)
}

// columns returns two elements of a vector that all rows share.
func (t *tiler) columns(n *rows.Node, c int) [4]string {
	k := kindOf(n.Type)
	step, even := evenly(n.Place.Elems)
	if n.Place.Row != 0 || len(n.Dyn) > 0 || !even {
		refuse("a long row in threads")
	}
	var x [2]string
	for i := range x {
		e := t.Op(b32, "mad.lo.u32", t.member, "2", fmt.Sprint(c+i))
		if c+8 > n.N {
			e = t.Op(b32, "min.u32", e, fmt.Sprint(n.N-1))
		}
		at := t.Op(b64, "mad.lo.u64", t.Op(b64, "cvt.u64.u32", e), fmt.Sprint(step*k.Size), t.inputs[n.Input])
		x[i] = t.read0(n, at)
	}
	return [4]string{x[0], x[1], x[0], x[1]}
}

func (t *tiler) read0(n *rows.Node, at string) string {
	return t.writer.read(n.Type, at, (n.Place.Offset+n.Place.Elems[0])*kindOf(n.Type).Size)
}

// product multiplies the operand, which is at hand, with eight columns of the matrix.
func (t *tiler) product(n *rows.Node, c int) [4]string {
	m := t.matrixOf(n)
	if t.halves {
		return t.halfProduct(n, m, c)
	}
	// An element of the second operand: of row k the thread has k+member, of columns c+group.
	step, along := m.stride, 1
	if turned(n) {
		step, along = 1, m.stride
	}
	at := t.Op(b32, "mad.lo.u32", t.member, fmt.Sprint(4*step), t.shared0())
	at = t.Op(b32, "mad.lo.u32", t.group, fmt.Sprint(4*along), at)
	// A step of the tensor cores takes long to be done: the three of exact products do not wait for
	// each other.
	zero := [4]string{assembly.Float(0), assembly.Float(0), assembly.Float(0), assembly.Float(0)}
	sum, lows, highs := zero, zero, zero
	for i, a := range t.fragments[n] {
		offset := m.at + 4*(8*i*step+c*along)
		b := [2]part{t.weight(at, offset), t.weight(at, offset+16*step)}
		if t.exact {
			lows = t.mma(each(a[:], low), each(b[:], high), lows)
			highs = t.mma(each(a[:], high), each(b[:], low), highs)
		}
		sum = t.mma(each(a[:], high), each(b[:], high), sum)
	}
	if t.exact {
		for i := range sum {
			sum[i] = t.F("add.rn", sum[i], t.F("add.rn", lows[i], highs[i]))
		}
	}
	return sum
}

// weight returns an element of a matrix of weights, which have been rounded where that is all there
// is to do.
func (t *tiler) weight(at string, offset int) part {
	where := fmt.Sprintf("[%s+%d]", at, offset)
	if t.exact {
		return t.part(t.F("ld.shared", where))
	}
	return part{high: t.Op(b32, "ld.shared.b32", where)}
}

// smallDot returns a product with few columns, which goes by way of shared memory to the threads of
// the rows.
func (t *tiler) smallDot(n *rows.Node) []string {
	t.operand(n)
	h := t.room(whole(n.N))
	to := t.corner(h)
	for c := 0; c < h.columns; c += 8 {
		t.put(h, to, c, t.product(n, c))
	}
	delete(t.fragments, n)
	t.Line("bar.sync 0")
	at := t.rowOf(h)
	out := make([]string, n.N)
	for i := range out {
		out[i] = t.F("ld.shared", fmt.Sprintf("[%s+%d]", at, h.at+4*i))
	}
	t.Line("bar.sync 0")
	t.free = joined(append(t.free, span{h.at, h.bytes()}))
	return out
}

// across reduces a long row: its thread goes along it.
func (t *tiler) across(n *rows.Node) []string {
	x := n.Args[0]
	h := t.keep(x)
	at := t.rowOf(h)
	out := make([]string, n.N)
	for i, g := range n.Groups {
		for _, e := range g {
			one := t.F("ld.shared", fmt.Sprintf("[%s+%d]", at, h.at+4*e))
			if out[i] != "" {
				one = t.scalar(op.Of(n.Map).By, n.Type, n.Type, []string{out[i], one})
			}
			out[i] = one
		}
	}
	return out
}
