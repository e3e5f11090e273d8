package ptx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/rows"
)

// A region is done a tile of rows at a time by the warps of a block together. What is small of a row its thread has in
// registers; longer vectors are a matrix of the tile in shared memory, as are the weights. Products run on the tensor
// cores, each warp having 16 rows of the result, and of the sums of products over rows a part of the result, which stays
// in its registers through all tiles of the block. Each block leaves its sums in memory, and what is left is to add up
// those of the blocks, in order, so that the result does not depend on which is first.
const (
	tile       = 64 // rows
	blockWarps = 4
	threads    = blockWarps * lanes
	mostBlocks = 264      // two for each processor of the largest devices so far
	mostShared = 99 << 10 // which all devices have that have these tensor cores
)

// Tiles is a region as a kernel. Its parameters are the addresses of the region's inputs, of the blocks' sums as float32,
// and of those as float64. A block's sums lie one after the other.
type Tiles struct {
	Kernel
	Shared         int // bytes of shared memory
	Blocks         int
	Single, Double int   // how many sums of each type a block has
	At             []int // where each of the region's sums begins among those of its type
}

// OfRegion writes a region as a kernel, or says why that cannot be done. With exact, products are as exact as those of
// float32; without it they round their operands to TF32.
func OfRegion(r *rows.Region, name string, exact bool) (k Tiles, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			err = r
		default:
			panic(r)
		}
	}()
	k.Blocks = min(up(r.Rows, tile)/tile, mostBlocks)
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
	first := newTiler(r, k, exact, nil)
	first.kernel()
	second := newTiler(r, k, exact, first.reads) // which knows when a matrix is read for the last time
	second.kernel()
	if second.top > mostShared {
		refuse("%d bytes of shared memory", second.top)
	}
	k.Shared = second.top
	k.Kernel = Kernel{Name: name, Text: second.text(name), Grid: k.Blocks, Block: threads}
	return k, nil
}

// tiler writes one such kernel.
type tiler struct {
	*writer
	region *rows.Region
	how    Tiles
	exact  bool

	matrices map[string]matrix    // of weights
	buffers  map[*rows.Node]*held // of the tile
	free     []span
	top      int // bytes of shared memory
	uses     map[*rows.Node]int

	order int                // counts reads, in the order of the program
	reads map[*rows.Node]int // the last one of each matrix
	known map[*rows.Node]int // of the run before

	warp, thread, mine string
	left               string // rows from the tile's first to the last
	counting           string // predicate: the thread's row counts, and it is the one that counts it
	group, member      string // of a thread in a warp: lane/4 and lane%4
	sums               []*accumulator
	fragments          map[*rows.Node][][4]part // of operands, while a product is written
}

// matrix lies in shared memory, row after row.
type matrix struct{ at, rows, columns, stride int }

type held struct {
	matrix
	node *rows.Node
}

type span struct{ at, size int }

func newTiler(r *rows.Region, how Tiles, exact bool, known map[*rows.Node]int) *tiler {
	t := &tiler{writer: newWriter(&rows.Loop{Rows: r.Rows, Inputs: r.Inputs}, blockWarps), region: r, how: how, exact: exact,
		matrices: map[string]matrix{}, buffers: map[*rows.Node]*held{}, uses: map[*rows.Node]int{}, reads: map[*rows.Node]int{}, known: known,
		fragments: map[*rows.Node][][4]part{}}
	t.own = t.special
	return t
}

func (t *tiler) text(name string) string {
	head := t.writer.text(name)
	before, after, _ := strings.Cut(head, ".visible")
	return strings.Replace(before, "sm_75", "sm_80", 1) + ".extern .shared .align 16 .b8 stage[];\n.visible" + after
}

// kernel writes the weights' way into shared memory, the loop over tiles and what becomes of the sums.
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
	t.thread = t.op(b32, "mov.u32", "%tid.x")
	t.lane = t.op(b32, "and.b32", t.thread, "31")
	t.lane64 = t.op(b64, "cvt.u64.u32", t.lane)
	t.warp = t.op(b32, "shr.u32", t.thread, "5")
	t.group, t.member = t.op(b32, "shr.u32", t.lane, "2"), t.op(b32, "and.b32", t.lane, "3")
	t.mine = t.op(b32, "and.b32", t.thread, fmt.Sprint(tile-1)) // the thread's row in the tile
	t.first = t.op(pred, "setp.lt.u32", t.thread, fmt.Sprint(tile))
	block := t.op(b32, "mov.u32", "%ctaid.x")
	t.survey()
	t.weights()
	t.accumulators()
	number := t.op(b32, "mov.u32", block)
	t.row = t.new(b64)
	start := t.label()
	t.at(start)
	t.enter()
	t.place(number)
	for _, s := range t.sums {
		t.add(s)
	}
	t.exit()
	t.line("bar.sync 0") // the next tile overwrites what this one reads
	t.line("add.u32 %s, %s, %d", number, number, t.how.Blocks)
	more := t.op(pred, "setp.lt.u32", number, fmt.Sprint(up(t.region.Rows, tile)/tile))
	t.line("@%s bra %s", more, start)
	t.leave(block, single, double)
	t.line("ret")
}

// place finds the thread's row of a tile. Beyond the last row the threads do that one again, and it does not count.
func (t *tiler) place(number string) {
	row := t.op(b32, "mad.lo.u32", number, fmt.Sprint(tile), t.mine)
	t.counting = t.first
	if t.region.Rows%tile != 0 {
		begin := t.op(b32, "mul.lo.u32", number, fmt.Sprint(tile))
		t.left = t.op(b32, "sub.u32", fmt.Sprint(t.region.Rows), begin)
		t.counting = t.op(pred, "and.pred", t.first, t.op(pred, "setp.lt.u32", t.mine, t.left))
		row = t.op(b32, "min.u32", row, fmt.Sprint(t.region.Rows-1))
	}
	t.line("cvt.u64.u32 %s, %s", t.row, row)
}

// blank zeroes what a matrix of the tile has beyond the last row, before it is added up.
func (t *tiler) blank(h *held) {
	if t.region.Rows%tile == 0 {
		return
	}
	over := t.label()
	t.line("@%s bra %s", t.op(pred, "setp.ge.u32", t.left, fmt.Sprint(tile)), over)
	beyond := t.op(pred, "setp.ge.u32", t.mine, t.left)
	at := t.op(b32, "mad.lo.u32", t.mine, fmt.Sprint(4*h.stride), t.shared0())
	for c := range h.stride {
		t.line("@%s st.shared.f32 [%s+%d], %s", beyond, at, h.at+4*c, float(0))
	}
	t.at(over)
	t.line("bar.sync 0")
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
	t.line("bar.sync 0")
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

// matrixOf is a product's matrix in shared memory, which is loaded if it is not there yet. Both products with a matrix
// and with its transpose find it.
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
	m := matrix{at: t.top, rows: up(k, 8), columns: up(c, 8), stride: up(c, 8) + 8}
	t.top += 4 * m.rows * m.stride
	t.matrices[key] = m
	// Element e of what is in shared memory is (e/stride, e%stride), and zero beyond the matrix.
	e := t.op(b32, "mov.u32", t.thread)
	start := t.label()
	t.at(start)
	i := t.op(b32, "div.u32", e, fmt.Sprint(m.stride))
	j := t.op(b32, "rem.u32", e, fmt.Sprint(m.stride))
	in := t.op(pred, "and.pred", t.op(pred, "setp.lt.u32", i, fmt.Sprint(k)), t.op(pred, "setp.lt.u32", j, fmt.Sprint(c)))
	at := t.op(b32, "mad.lo.u32", i, fmt.Sprint(far), t.op(b32, "mul.lo.u32", j, fmt.Sprint(near)))
	at = t.op(b32, "selp.b32", at, "0", in)
	address := t.op(b64, "mad.lo.u64", t.op(b64, "cvt.u64.u32", at), "4", t.inputs[n.Input])
	x := t.f("ld.global.nc", fmt.Sprintf("[%s+%d]", address, 4*n.Weight.Offset))
	x = t.f("selp", x, float(0), in)
	if !t.exact {
		x = t.op(f32, "mov.b32", t.part(x).high)
	}
	to := t.op(b32, "mad.lo.u32", e, "4", t.shared0())
	t.line("st.shared.f32 [%s+%d], %s", to, m.at, x)
	t.line("add.u32 %s, %s, %d", e, e, threads)
	more := t.op(pred, "setp.lt.u32", e, fmt.Sprint(m.rows*m.stride))
	t.line("@%s bra %s", more, start)
	return m
}

// shared0 is the address of shared memory.
func (t *tiler) shared0() string {
	if t.stage == "" {
		t.stage = t.op(b32, "mov.u32", "stage")
	}
	return t.stage
}

// room finds shared memory for a matrix of the tile.
func (t *tiler) room(n *rows.Node, columns int) *held {
	stride := up(columns, 8) + 4
	if columns <= small {
		stride = up(columns, 16) + 4 // an operand of sums has 16 at least
	}
	size := 4 * tile * stride
	h := &held{matrix{rows: tile, columns: up(columns, 8), stride: stride}, n}
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

// read notes that a matrix of the tile is read, and frees those that are not read any more once everybody is through.
func (t *tiler) read(n *rows.Node) {
	t.order++
	t.reads[n] = t.order
}

// settle frees what has been read for the last time.
func (t *tiler) settle() {
	if t.known == nil {
		return
	}
	freed := false
	for _, n := range sorted(t.buffers) {
		if h := t.buffers[n]; t.known[n] <= t.order && t.known[n] > 0 {
			t.free = append(t.free, span{h.at, 4 * tile * h.stride})
			delete(t.buffers, n)
			freed = true
		}
	}
	if freed {
		t.free = joined(t.free)
		t.line("bar.sync 0") // all have read it before it is written again
	}
}

// sorted are the nodes of a map in the order in which they were made.
func sorted[V any](m map[*rows.Node]V) []*rows.Node {
	var out []*rows.Node
	for n := range m {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b *rows.Node) int { return a.ID - b.ID })
	return out
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
