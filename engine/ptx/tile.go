package ptx

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/assembly"
	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/rows"
)

// A region is done a tile of rows at a time by the warps of a block together. What is small of a
// row its thread has in registers; longer vectors are a matrix of the tile in shared memory, as are
// the weights. Products run on the tensor cores, each warp having 16 rows of the result, and of the
// sums of products over rows a part of the result, which stays in its registers through all tiles
// of the block. Each block leaves its sums in memory, and what is left is to add up those of the
// blocks, in order, so that the result does not depend on which is first.
const (
	tile       = 64 // rows
	blockWarps = 4
	threads    = blockWarps * lanes
	processors = 132      // processors of the largest devices so far, which have two blocks each, or three that are small
	mostShared = 99 << 10 // shared memory that all devices with these tensor cores have
	third      = 75 << 10 // bytes of shared memory, of which each block takes one KiB more, on such a processor
	overhang   = 256      // bytes that a warp without a piece of its own may read behind the last matrix
)

// Tiles is a region as a kernel. Its parameters are the addresses of the region's inputs, of the
// blocks' sums as float32, of those as float64, and of the matrices that it writes besides. A
// block's sums lie one after the other.
type Tiles struct {
	Kernel
	Blocks         int
	Single, Double int   // how many sums of each type a block has
	At             []int // where each of the region's sums begins among those of its type
	Written        []int // the elements of a row of each matrix that is written besides
	Left           []Left
}

// OfRegion writes a region as a kernel whose blocks have so many bytes of shared memory at most, 0
// for those that every device has, or says why that cannot be done. Its products are as exact as
// those of float32, or round their operands.
func OfRegion(r *rows.Region, name string, p ir.Precision, shared int) (k Tiles, err error) {
	if err = refused(func() { k = ofRegion(r, name, p) }); err == nil {
		return k, nil
	}
	other := refused(func() { k = ofTeamRegion(r, name, p, max(shared, mostShared)) })
	if other == nil {
		return k, nil
	}
	return Tiles{}, fmt.Errorf("%w; by teams: %w", err, other)
}

func ofRegion(r *rows.Region, name string, p ir.Precision) (k Tiles) {
	tiles, crowd := up(r.Rows, tile)/tile, 2
	k.Blocks = min(tiles, crowd*processors)
	for _, t := range r.Sums {
		n := t.X.N
		if t.Y != nil {
			n *= t.Y.N
		}
		if t.Value.DType() == dtypes.Float64 {
			k.At = append(k.At, k.Double)
			k.Double += n
		} else {
			k.At = append(k.At, k.Single)
			k.Single += n
		}
	}
	first := newTiler(r, k, p, &tiler{})
	first.kernel()
	second := newTiler(r, k, p, first) // which knows when a matrix is read for the last time
	second.kernel()
	if k.Shared = second.top + overhang; k.Shared > mostShared {
		refuse("%d bytes of shared memory", k.Shared)
	}
	if k.Shared <= third && p != ir.Exact { // for which there are not enough registers
		crowd = 3
		k.Blocks = min(tiles, crowd*processors)
		second = newTiler(r, k, p, first)
		second.kernel()
	}
	k.Kernel = Kernel{Name: name, Text: second.text(name, crowd), Grid: k.Blocks, Block: threads, Shared: k.Shared}
	return k
}

// tiler writes one such kernel.
type tiler struct {
	*writer
	region *rows.Region
	how    Tiles

	matrices map[string]matrix // weights
	buffers  map[form]*matrix  // buffers of the tile
	free     []span
	top      int // bytes of shared memory
	uses     map[*rows.Node]int

	order  int                   // counts reads, in the order of the program
	reads  map[form]int          // the last one of each matrix
	during map[*rows.Node][2]int // the reads while a long node is written: those after the first number, up to the second
	known  map[form]int          // reads of the run before
	knew   map[*rows.Node][2]int // during of the run before

	warp, thread, mine string
	left               string // rows from the tile's first to the last
	counting           string // predicate: the thread's row counts, and it is the one that counts it
	group, member      string // position of a thread in its warp: lane/4 and lane%4
	sums               []*accumulator
	fragments          map[*rows.Node][][4]part // fragments of operands, while a product is written
}

// matrix lies in shared memory, row after row, each stride elements of so many bytes behind the one
// before.
type matrix struct{ at, rows, columns, stride, size int }

func (m matrix) bytes() int { return m.size * m.rows * m.stride }

// form names one of the two matrices of the tile that a node may have: its float32 one, or the one
// that products take, where they round to bfloat16.
type form struct {
	node *rows.Node
	half bool
}

type span struct{ at, size int }

func newTiler(r *rows.Region, how Tiles, p ir.Precision, before *tiler) *tiler {
	t := &tiler{writer: newWriter(&rows.Loop{Rows: r.Rows, Inputs: r.Inputs}, blockWarps, p), region: r, how: how,
		matrices: map[string]matrix{}, buffers: map[form]*matrix{},
		uses: map[*rows.Node]int{}, reads: map[form]int{}, during: map[*rows.Node][2]int{}, known: before.reads, knew: before.during,
		fragments: map[*rows.Node][][4]part{}}
	t.own = t.special
	return t
}

// text puts the head before what was written. With three blocks to a processor each has to do with
// fewer registers.
func (t *tiler) text(name string, crowd int) string {
	head := t.writer.text(name)
	if crowd > 2 {
		head = strings.Replace(head, "\n{\n", fmt.Sprintf("\n.minnctapersm %d\n{\n", crowd), 1)
	}
	return dynamic(head)
}

// kernel writes the weights' way into shared memory, the loop over tiles and what becomes of the
// sums.
func (t *tiler) kernel() {
	for _, v := range t.region.Inputs {
		if v == nil {
			t.inputs = append(t.inputs, "")
			continue
		}
		t.inputs = append(t.inputs, t.address(t.params))
		t.params++
	}
	single, double := t.address(t.params), t.address(t.params+1)
	t.params += 2
	t.thread = t.Op(b32, "mov.u32", "%tid.x")
	t.lane = t.Op(b32, "and.b32", t.thread, "31")
	t.lane64 = t.Op(b64, "cvt.u64.u32", t.lane)
	t.warp = t.Op(b32, "shr.u32", t.thread, "5")
	t.group, t.member = t.Op(b32, "shr.u32", t.lane, "2"), t.Op(b32, "and.b32", t.lane, "3")
	t.mine = t.Op(b32, "and.b32", t.thread, fmt.Sprint(tile-1)) // the thread's row in the tile
	t.first = t.Op(pred, "setp.lt.u32", t.thread, fmt.Sprint(tile))
	block := t.Op(b32, "mov.u32", "%ctaid.x")
	t.survey()
	t.weights()
	t.accumulators()
	number := t.Op(b32, "mov.u32", block)
	t.row = t.New(b64)
	start := t.label()
	t.Label(start)
	t.enter()
	t.place(number)
	for _, s := range t.sums {
		t.add(s)
	}
	t.exit()
	t.Line("bar.sync 0") // the next tile overwrites what this one reads
	t.Line("add.u32 %s, %s, %d", number, number, t.how.Blocks)
	more := t.Op(pred, "setp.lt.u32", number, fmt.Sprint(up(t.region.Rows, tile)/tile))
	t.Line("@%s bra %s", more, start)
	t.leave(block, single, double)
	t.Line("ret")
}

// place finds the thread's row of a tile. Beyond the last row the threads do that one again, and it
// does not count.
func (t *tiler) place(number string) {
	row := t.Op(b32, "mad.lo.u32", number, fmt.Sprint(tile), t.mine)
	t.counting = t.first
	if t.region.Rows%tile != 0 {
		begin := t.Op(b32, "mul.lo.u32", number, fmt.Sprint(tile))
		t.left = t.Op(b32, "sub.u32", fmt.Sprint(t.region.Rows), begin)
		t.counting = t.Op(pred, "and.pred", t.first, t.Op(pred, "setp.lt.u32", t.mine, t.left))
		row = t.Op(b32, "min.u32", row, fmt.Sprint(t.region.Rows-1))
	}
	t.Line("cvt.u64.u32 %s, %s", t.row, row)
}

// blank zeroes what a matrix of the tile has beyond the last row, before it is added up.
func (t *tiler) blank(h *matrix) {
	if t.region.Rows%tile == 0 {
		return
	}
	over := t.label()
	t.Line("@%s bra %s", t.Op(pred, "setp.ge.u32", t.left, fmt.Sprint(tile)), over)
	beyond := t.Op(pred, "setp.ge.u32", t.mine, t.left)
	at := t.rowOf(h)
	for word := 0; word < h.size*h.stride; word += 4 {
		t.Line("@%s st.shared.f32 [%s+%d], %s", beyond, at, h.at+word, assembly.Float(0))
	}
	t.Label(over)
	t.Line("bar.sync 0")
}

// survey counts who uses what, so that what is used once need not be kept.
func (t *tiler) survey() {
	for _, s := range t.region.Sums {
		t.uses[s.X] += 2
		if s.Y != nil {
			t.uses[s.Y] += 2
		}
	}
	t.nodes(func(n *rows.Node) {
		for _, a := range n.Args {
			t.uses[a]++
			if n.Op == rows.Dot {
				t.uses[a]++ // an operand is kept in any case
			}
		}
		if n.Op == rows.Chosen {
			refuse("branches in a region")
		}
	})
}

// weights loads the matrices of all products.
func (t *tiler) weights() {
	t.nodes(func(n *rows.Node) {
		if n.Op == rows.Dot {
			t.matrixOf(n)
		}
	})
	t.Line("bar.sync 0")
}

// nodes visits all that the region computes, operands first.
func (t *tiler) nodes(visit func(*rows.Node)) {
	seen := map[*rows.Node]bool{}
	var down func(n *rows.Node)
	down = func(n *rows.Node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		for _, a := range n.Args {
			down(a)
		}
		visit(n)
	}
	for _, s := range t.region.Sums {
		down(s.X)
		down(s.Y)
	}
}

func up(n, to int) int { return (n + to - 1) / to * to }

// turned reports whether a product's matrix lies with the result's axis first.
func turned(n *rows.Node) bool { return n.Weight.N > n.Weight.K }

// matrixOf returns a product's matrix in shared memory, which is loaded if it is not there yet.
// Both products with a matrix and with its transpose find it.
func (t *tiler) matrixOf(n *rows.Node) matrix {
	k, c := n.Args[0].N, n.N
	far, near := n.Weight.K, n.Weight.N
	if turned(n) {
		k, c, far, near = c, k, near, far
	}
	key := fmt.Sprint(n.Input, n.Weight.Offset, k, c, far, near)
	if m, ok := t.matrices[key]; ok {
		return m
	}
	m := matrix{at: t.top, rows: up(k, 8), columns: up(c, 8), stride: up(c, 8) + 8, size: 4}
	if t.halves {
		m = matrix{at: t.top, rows: up(k, 16), columns: up(c, 16), stride: halfStride(c), size: 2}
	}
	t.top += m.bytes()
	t.matrices[key] = m
	// Word e of what is in shared memory begins with element (e/words, e%words) of so many, and
	// zero beyond the matrix.
	words := m.size * m.stride / 4
	e := t.Op(b32, "mov.u32", t.thread)
	start := t.label()
	t.Label(start)
	i := t.Op(b32, "div.u32", e, fmt.Sprint(words))
	j := t.Op(b32, "mul.lo.u32", t.Op(b32, "rem.u32", e, fmt.Sprint(words)), fmt.Sprint(4/m.size))
	inside := t.Op(pred, "setp.lt.u32", i, fmt.Sprint(k))
	element := func(j string) string {
		in := t.Op(pred, "and.pred", inside, t.Op(pred, "setp.lt.u32", j, fmt.Sprint(c)))
		at := t.Op(b32, "mad.lo.u32", i, fmt.Sprint(far), t.Op(b32, "mul.lo.u32", j, fmt.Sprint(near)))
		at = t.Op(b32, "selp.b32", at, "0", in)
		address := t.Op(b64, "mad.lo.u64", t.Op(b64, "cvt.u64.u32", at), "4", t.inputs[n.Input])
		x := t.F("ld.global.nc", fmt.Sprintf("[%s+%d]", address, 4*n.Weight.Offset))
		return t.F("selp", x, assembly.Float(0), in)
	}
	x := element(j)
	to := t.Op(b32, "mad.lo.u32", e, "4", t.shared0())
	switch {
	case t.halves:
		t.Line("st.shared.b32 [%s+%d], %s", to, m.at, t.pair("", x, element(t.Op(b32, "add.u32", j, "1"))))
	case t.exact:
		t.Line("st.shared.f32 [%s+%d], %s", to, m.at, x)
	default:
		t.Line("st.shared.b32 [%s+%d], %s", to, m.at, t.part(x).high)
	}
	t.Line("add.u32 %s, %s, %d", e, e, threads)
	more := t.Op(pred, "setp.lt.u32", e, fmt.Sprint(m.rows*words))
	t.Line("@%s bra %s", more, start)
	return m
}

// shared0 returns the address of shared memory.
func (t *tiler) shared0() string {
	if t.stage == "" {
		t.stage = t.Op(b32, "mov.u32", "stage")
	}
	return t.stage
}

// whole returns a matrix of the tile in float32.
func whole(columns int) *matrix {
	return &matrix{rows: tile, columns: up(columns, 8), stride: up(columns, 8) + 4, size: 4}
}

// matrix returns what the form lies in.
func (f form) matrix() *matrix {
	columns := f.node.N
	if f.half {
		return &matrix{rows: tile, columns: up(columns, 16), stride: halfStride(columns), size: 2}
	}
	h := whole(columns)
	if columns <= small {
		h.stride = up(columns, 16) + 4 // an operand of sums has 16 at least
	}
	return h
}

// room finds shared memory for a matrix of the tile.
func (t *tiler) room(h *matrix) *matrix {
	size := h.bytes()
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
	t.top += size
	return h
}

// forms returns what a node that is kept has to be there as: all that it is read as, once that is
// known.
func (t *tiler) forms(n *rows.Node) (out []form) {
	for _, f := range []form{{n, false}, {n, true}} {
		if (t.halves || !f.half) && (t.known == nil || t.known[f] > 0) {
			out = append(out, f)
		}
	}
	return out
}

// read notes that a matrix of the tile is read, and frees those that are not read any more once
// everybody is through.
func (t *tiler) read(f form) {
	t.order++
	t.reads[f] = t.order
}

// settle frees what has been read for the last time.
func (t *tiler) settle() {
	if t.known == nil {
		return
	}
	freed := false
	for _, f := range sorted(t.buffers) {
		if h := t.buffers[f]; t.known[f] <= t.order && t.known[f] > 0 {
			t.free = append(t.free, span{h.at, h.bytes()})
			delete(t.buffers, f)
			freed = true
		}
	}
	if freed {
		t.free = joined(t.free)
		t.Line("bar.sync 0") // all have read it before it is written again
	}
}

// sorted returns the forms of a map in the order in which their nodes were made.
func sorted(m map[form]*matrix) []form {
	place := func(f form) int {
		if f.half {
			return 2*f.node.ID + 1
		}
		return 2 * f.node.ID
	}
	return slices.SortedFunc(maps.Keys(m), func(a, b form) int { return place(a) - place(b) })
}

// joined makes one of free spans that touch.
func joined(spans []span) (out []span) {
	slices.SortFunc(spans, func(a, b span) int { return a.at - b.at })
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].at+out[n-1].size == s.at {
			out[n-1].size += s.size
		} else {
			out = append(out, s)
		}
	}
	return out
}
