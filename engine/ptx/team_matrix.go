package ptx

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/assembly"
	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/rows"
)

// room finds shared memory for a matrix of the block's rows.
func (t *team) room(columns int) *matrix { return t.rooms(columns, 1) }

// rooms finds shared memory for several such matrices, one behind the other, and returns the first.
func (t *team) rooms(columns, n int) *matrix {
	h := &matrix{rows: t.rows(), columns: up(columns, 16), stride: up(columns, 16) + 4, size: 4}
	size := n * h.bytes()
	for i, s := range t.free {
		if s.size >= size {
			h.at = s.at
			if t.free[i] = (span{s.at + size, s.size - size}); s.size == size {
				t.free = slices.Delete(t.free, i, i+1)
			}
			return h
		}
	}
	h.at = t.top
	if i := len(t.free) - 1; i >= 0 && t.free[i].at+t.free[i].size == t.top { // what is free at the end
		h.at, t.free = t.free[i].at, t.free[:i]
	}
	t.top = h.at + size
	return h
}

// release gives n matrices' memory back, once everybody is through with them.
func (t *team) release(h *matrix, n int) {
	if t.known != nil {
		t.Line("bar.sync 0")
		t.free = joined(append(t.free, span{h.at, n * h.bytes()}))
	}
}

// read notes that a matrix has been read.
func (t *team) read(n *rows.Node) {
	t.order++
	t.reads[n] = t.order
}

// settle releases what has been read for the last time.
func (t *team) settle() {
	if t.known == nil {
		return
	}
	freed := false
	for _, n := range slices.SortedFunc(maps.Keys(t.buffers), func(a, b *rows.Node) int { return a.ID - b.ID }) {
		if h := t.buffers[n]; t.known[n] <= t.order {
			t.free = append(t.free, span{h.at, h.bytes()})
			delete(t.buffers, n)
			freed = true
		}
	}
	if freed {
		t.free = joined(t.free)
		t.Line("bar.sync 0") // all have read it before it is written again
	}
}

// shared0 returns the address of shared memory.
func (t *team) shared0() string {
	if t.stage == "" {
		t.stage = t.Op(b32, "mov.u32", "stage")
	}
	return t.stage
}

// rowOf returns the address of the thread's row in a matrix.
func (t *team) rowOf(h *matrix) string {
	return t.Op(b32, "mad.lo.u32", t.mine, fmt.Sprint(4*h.stride), t.shared0())
}

// corner returns the address of the thread's two columns of a piece, in the first band.
func (t *team) corner(h *matrix) string {
	at := t.Op(b32, "mad.lo.u32", t.group, fmt.Sprint(4*h.stride), t.shared0())
	return t.Op(b32, "mad.lo.u32", t.member, "8", at)
}

// ours returns the address of the thread's two columns of the warp's first piece.
func (t *team) ours(h *matrix) string {
	return t.Op(b32, "mad.lo.u32", t.warp, "32", t.corner(h))
}

// eighths returns how many pieces of eight columns a long vector has. Columns beyond its end are
// the last one again, so that what is made of them is a number wherever that is; weights make
// nothing of it.
func eighths(n int) int { return up(n, 16) / 8 }

// pieces returns how many of them a warp has.
func pieces(n int) int { return up(eighths(n), teamWarps) / teamWarps }

// guard returns what stands before instructions that write piece i of each warp: some warps have
// none in the last round.
func (t *team) guard(n, i int) string {
	left := eighths(n) - i*teamWarps
	if left >= teamWarps {
		return ""
	}
	return "@" + t.Op(pred, "setp.lt.u32", t.warp, fmt.Sprint(left)) + " "
}

// put writes a piece of a band, whose columns begin c behind an address.
func (t *team) put(h *matrix, to string, c, b int, guard string, x [4]string) {
	at := h.at + 4*c + 4*h.stride*band*b
	t.Line("%sst.shared.v2.f32 [%s+%d], {%s, %s}", guard, to, at, x[0], x[1])
	t.Line("%sst.shared.v2.f32 [%s+%d], {%s, %s}", guard, to, at+32*h.stride, x[2], x[3])
}

// take reads what put writes.
func (t *team) take(h *matrix, from string, c, b int) (x [4]string) {
	for i := range x {
		x[i] = t.New(f32)
	}
	at := h.at + 4*c + 4*h.stride*band*b
	t.Line("ld.shared.v2.f32 {%s, %s}, [%s+%d]", x[0], x[1], from, at)
	t.Line("ld.shared.v2.f32 {%s, %s}, [%s+%d]", x[2], x[3], from, at+32*h.stride)
	return x
}

// keep has a node in shared memory.
func (t *team) keep(n *rows.Node) *matrix {
	if h := t.buffers[n]; h != nil {
		return h
	}
	if t.arms > 0 {
		refuse("a long row in a branch")
	}
	if n.Type != dtypes.Float32 {
		refuse("long rows of %s", n.Type)
	}
	var h *matrix
	switch {
	case !spread(n.N):
		h = t.keepSmall(n)
	case n.Op == rows.Load && !common(n):
		h = t.room(n.N)
		t.readLong(n, h)
	default:
		h = t.keepLong(n)
	}
	t.Line("bar.sync 0")
	t.settle()
	t.buffers[n] = h
	return h
}

// keepSmall writes what each thread has of its row, and zeros up to a whole operand.
func (t *team) keepSmall(n *rows.Node) *matrix {
	regs := t.get(n)
	h := t.room(n.N)
	at := t.rowOf(h)
	for i := range h.columns {
		x := assembly.Float(0)
		if i < len(regs) {
			x = regs[i]
		}
		t.Line("@%s st.shared.f32 [%s+%d], %s", t.inside, at, h.at+4*i, x)
	}
	return h
}

// keepLong computes a long node, each warp its pieces.
func (t *team) keepLong(n *rows.Node) *matrix {
	t.prepare(n)
	h := t.room(n.N)
	to := t.ours(h)
	for i := range pieces(n.N) {
		guard := t.guard(n.N, i)
		for b := range t.bands {
			t.put(h, to, 8*teamWarps*i, b, guard, t.fragment(n, i, b, 0))
		}
	}
	return h
}

// copyLong copies a matrix, each warp its pieces.
func (t *team) copyLong(to, from *matrix, n int) {
	write, read := t.ours(to), t.ours(from)
	for i := range pieces(n) {
		guard := t.guard(n, i)
		for b := range t.bands {
			t.put(to, write, 8*teamWarps*i, b, guard, t.take(from, read, 8*teamWarps*i, b))
		}
	}
}

// byRow visits a long row's elements in memory: a warp has its share of the rows, and its threads
// go along them. There is shared memory at at, and in element e's place memory at address.
func (t *team) byRow(h *matrix, n int, memory func(row, lane string) (address string, step int), do func(at, address string, offset int, guard string)) {
	each := t.rows() / teamWarps
	for j := range each {
		r := t.Op(b32, "mad.lo.u32", t.warp, fmt.Sprint(each), fmt.Sprint(j))
		row := t.Op(b32, "add.u32", t.begin, r)
		in := t.Op(pred, "setp.lt.u32", row, fmt.Sprint(t.loop.Rows))
		row = t.Op(b32, "min.u32", row, fmt.Sprint(t.loop.Rows-1))
		address, step := memory(t.Op(b64, "cvt.u64.u32", row), r)
		at := t.Op(b32, "mad.lo.u32", r, fmt.Sprint(4*h.stride), t.shared0())
		at = t.Op(b32, "mad.lo.u32", t.lane, "4", at)
		address = t.Op(b64, "mad.lo.u64", t.lane64, fmt.Sprint(4*step), address)
		for e := 0; e < n; e += lanes {
			guard := in
			if e+lanes > n {
				guard = t.Op(pred, "and.pred", in, t.Op(pred, "setp.lt.u32", t.lane, fmt.Sprint(n-e)))
			}
			do(fmt.Sprintf("[%s+%d]", at, h.at+4*e), address, 4*e*step, guard)
		}
	}
}

// readLong reads a long row of an input.
func (t *team) readLong(n *rows.Node, h *matrix) {
	step, even := evenly(n.Place.Elems)
	if n.Op != rows.Load || !even || kindOf(n.Type).Class != f32 {
		refuse("a long row that is not just read")
	}
	if len(n.Dyn) > 0 && t.rows() > lanes {
		refuse("a long row by number, of rows that no warp has all of")
	}
	var index []string
	for i, d := range n.Dyn {
		index = append(index, t.clamped(t.get(n.Args[i])[0], n.Args[i].Type, d.Most))
	}
	t.byRow(h, n.N, func(row, mine string) (string, int) {
		address := t.Op(b64, "mad.lo.u64", row, fmt.Sprint(4*n.Place.Row), t.inputs[n.Input])
		for i, d := range n.Dyn {
			address = t.Op(b64, "mad.lo.u64", t.from(kind{Class: b64}, index[i], "idx", mine), fmt.Sprint(4*d.Stride), address)
		}
		return address, step
	}, func(at, address string, offset int, guard string) {
		x := t.F("mov", assembly.Float(0))
		t.Line("@%s ld.global.nc.f32 %s, [%s+%d]", guard, x, address, offset+4*(n.Place.Offset+n.Place.Elems[0]))
		whole := ""
		if left := n.N - offset/(4*step); left < lanes {
			x = t.from(kindOf(n.Type), x, "idx", t.Op(b32, "min.u32", t.lane, fmt.Sprint(left-1)))
			whole = "@" + t.Op(pred, "setp.lt.u32", t.lane, fmt.Sprint(up(left, 16))) + " "
		}
		t.Line("%sst.shared.f32 %s, %s", whole, at, x)
	})
}

// writeLong writes a long row of a result.
func (t *team) writeLong(i int, h *matrix) {
	r := t.loop.Results[i]
	step, even := evenly(r.Place.Elems)
	if !even {
		refuse("a row whose %d elements lie unevenly", len(r.Place.Elems))
	}
	output := t.outputAt(i)
	t.byRow(h, len(r.Place.Elems), func(row, _ string) (string, int) {
		return t.Op(b64, "mad.lo.u64", row, fmt.Sprint(4*r.Place.Row), output), step
	}, func(at, address string, offset int, guard string) {
		x := t.F("ld.shared", at)
		t.Line("@%s st.global.f32 [%s+%d], %s", guard, address, offset+4*(r.Place.Offset+r.Place.Elems[0]), x)
	})
}

// kept reports whether a long node is a matrix of its own: if it is used more than once, and of a
// type that lies there.
func (t *team) kept(n *rows.Node) bool {
	if !spread(n.N) || n.Op == rows.Const || common(n) || n.Op == rows.Pick || n.Type != dtypes.Float32 {
		return false
	}
	return t.uses[n] > 1 || n.Op == rows.Load || n.Op == rows.Carried
}

// prepare has everything ready that pieces of a node are made of.
func (t *team) prepare(n *rows.Node) {
	switch n.Op {
	case rows.Dot:
		t.multiplyLong(n)
	case rows.Map, rows.Pick:
		for _, a := range n.Args {
			switch {
			case !spread(a.N) && t.rows() > lanes:
				t.keep(a)
			case !spread(a.N):
				t.get(a)
			case t.kept(a) || n.Op == rows.Pick:
				t.keep(a)
			default:
				t.prepare(a)
			}
		}
	}
}

// fragment returns piece i of the warp and band b of a long node, moved by so many columns: what
// the tensor cores leave with each thread.
func (t *team) fragment(n *rows.Node, i, b, by int) [4]string {
	if h := t.buffers[n]; h != nil {
		t.read(n)
		return t.take(h, t.ours(h), 8*teamWarps*i+by, b)
	}
	switch n.Op {
	case rows.Const:
		return t.constantColumns(n)
	case rows.Load:
		if x := t.vectors[n]; x != nil && by == 0 {
			return [4]string{x[i][0], x[i][1], x[i][0], x[i][1]}
		}
	case rows.Dot:
		if by == 0 {
			return t.products[n][i][b]
		}
	case rows.Map:
		args := make([][4]string, len(n.Args))
		for j, a := range n.Args {
			args[j] = t.fragment(a, i, b, by)
		}
		return t.mapColumns(n, args)
	case rows.Pick:
		return t.pickColumns(n, i, b, by)
	}
	refuse("%s of %d elements", n.Op, n.N)
	return [4]string{}
}

// pickColumns returns one number of each row all over, or columns that lie together elsewhere.
func (t *team) pickColumns(n *rows.Node, i, b, by int) (out [4]string) {
	first := n.From[0]
	a := n.Args[first.Arg]
	together, same := spread(a.N) && first.Elem%8 == 0, !spread(a.N)
	for j, f := range n.From {
		together = together && f.Arg == first.Arg && f.Elem == first.Elem+j
		same = same && f == first
	}
	switch {
	case together && first.Elem+8*eighths(n.N) <= 8*eighths(a.N):
		return t.fragment(a, i, b, by+first.Elem)
	case !same:
		refuse("a row that is put together of %d elements", n.N)
	}
	for j := range 2 {
		x := t.ofRow(a, first.Elem, band*b+8*j)
		out[2*j], out[2*j+1] = x, x
	}
	return out
}

// ofRow returns an element of what is small of row group+r: from the thread that has it, or by way
// of shared memory.
func (t *team) ofRow(n *rows.Node, e, r int) string {
	if t.rows() <= lanes {
		return t.from(kindOf(n.Type), t.get(n)[e], "idx", t.Op(b32, "add.u32", t.group, fmt.Sprint(r)))
	}
	h := t.buffers[n]
	t.read(n)
	at := t.Op(b32, "mad.lo.u32", t.group, fmt.Sprint(4*h.stride), t.shared0())
	return t.F("ld.shared", fmt.Sprintf("[%s+%d]", at, h.at+4*(r*h.stride+e)))
}

// fold combines the elements of a group of a thread's row, four at a time.
func (t *team) fold(n *rows.Node, at string, h *matrix, group []int) string {
	combine := op.Of(n.Map).By
	var parts []string
	for i, e := range group {
		x := t.F("ld.shared", fmt.Sprintf("[%s+%d]", at, h.at+4*e))
		if i < 4 {
			parts = append(parts, x)
		} else {
			parts[i%4] = t.scalar(combine, n.Type, n.Type, []string{parts[i%4], x})
		}
	}
	for _, x := range parts[1:] {
		parts[0] = t.scalar(combine, n.Type, n.Type, []string{parts[0], x})
	}
	return parts[0]
}
