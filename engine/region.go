package engine

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/internal/loops"
	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// region is a fused group of elementwise operations. It runs over its elements in blocks small
// enough for the first-level cache; what is used only inside the region never leaves it. Every
// operation is done by its own loop and rounds by itself, so a fused region has the bits of the
// operations run one after the other.
type region struct {
	size     int // elements
	cols     int // length of a row, if some operand repeats by rows
	block    int // elements of a block
	parts    int // blocks of a row if a row is longer than a block, else 0
	tile     int // elements of a tile, whole blocks, if the region has a head or tails
	operands []operand
	fills    []fill // done once before the first block
	loads    []fill // done before every block
	code     []instr
	cost     int // rough nanoseconds per thousand elements
}

// operand is where an instruction finds or puts elements: in memory, or in a temporary of the
// worker's scratch.
type operand struct {
	temp  bool
	ref   ref  // place of an operand in memory
	off   int  // offset of an operand in the scratch
	step  int  // bytes from an element to the next; 0 if the same block or element serves everywhere
	byRow bool // counts elements from the start of the row: the operand is one row, longer than a block
	tiled bool // a temporary as long as a tile, for a reduction to take
}

type instr struct {
	fn           loops.Fn
	dst, a, b, c int // operands; 0 is none
}

// fill brings a broadcast operand into a temporary.
type fill struct {
	kind fillKind
	src  ref
	dst  int // offset in the scratch
	size int // bytes of an element
	walk *walk
}

type fillKind int

const (
	fillScalar fillKind = iota // one element, everywhere
	fillRows                   // one row, repeated
	fillCols                   // element r for all of row r
	fillWalk                   // anything else
)

// blockElements is the aim for the size of a block: with a few temporaries of four bytes an
// element, half of a small first-level cache.
const blockElements = 1024

// parallelCost is the least work, in rough nanoseconds, worth handing to another goroutine.
const parallelCost = 6000

// flopsPerNano is the rate of one core in matrix products, roughly.
const flopsPerNano = 80

// regionBuilder assembles a region.
type regionBuilder struct {
	*lowering
	c        *cluster
	dims     []int
	r        *region
	operand  map[*ir.Value]int
	scalar   map[*ir.Value]int // one-element operands, where the loop can take them as they are
	lastRead map[*ir.Value]int // position in the cluster of the last node that reads a member
	free     map[int][]int     // free temporaries by size of element
	idioms   map[*ir.Node]*idiom
	absorbed map[*ir.Node]bool // nodes that an idiom does
	used     int               // bytes of scratch
	text     []string
}

// region lowers a cluster of elementwise nodes to a step of its own.
func (l *lowering) region(c *cluster) (step, error) {
	s, text, err := l.regionStep(c)
	if err != nil {
		return step{}, err
	}
	r := s.region
	size, unit, work := r.blocks(), r.block, job(func(fr *frame, lo, hi, worker int) {
		s.span(fr, r.start(lo), r.start(hi), worker)
	})
	if r.tile > 0 {
		size, unit = (r.size+r.tile-1)/r.tile, r.tile
		work = func(fr *frame, lo, hi, worker int) { s.span(fr, lo*r.tile, min(hi*r.tile, r.size), worker) }
	}
	grain := max(1, parallelCost*1000/max((s.head.cost+r.cost)*unit, 1))
	return step{text, func(fr *frame) {
		s.before(fr)
		fr.workers.run(fr, work, size, grain)
		s.finish(fr)
	}}, nil
}

// regionStep builds a region with its head and tails.
func (l *lowering) regionStep(c *cluster) (*regionStep, string, error) {
	out := c.elementwise().Outputs[0]
	b := &regionBuilder{lowering: l, c: c, dims: out.Shape.Dimensions, operand: map[*ir.Value]int{},
		scalar: map[*ir.Value]int{}, lastRead: map[*ir.Value]int{}, free: map[int][]int{}}
	b.r = &region{size: out.Size(), operands: make([]operand, 1)}
	b.shape()
	b.findIdioms()
	for i, n := range c.nodes {
		for _, v := range b.inputs(n) {
			if !b.absorbed[n] {
				b.lastRead[v] = i
			}
		}
	}
	for i, n := range c.nodes {
		if n == c.head || b.absorbed[n] || slices.Contains(c.tails, n) {
			continue
		}
		if err := b.node(i, n); err != nil {
			return nil, "", err
		}
	}
	l.prog.scratch = max(l.prog.scratch, b.used)
	if len(b.r.operands) > maxOperands {
		return nil, "", fmt.Errorf("a region has too many operands (%d)", len(b.r.operands))
	}
	s, err := b.ends()
	return s, b.describe(), err
}

func (r *region) blocks() int {
	if r.parts > 0 {
		return r.size / r.cols * r.parts
	}
	return (r.size + r.block - 1) / r.block
}

// shape decides how the elements are cut into blocks: whole rows if an operand repeats by rows and
// they fit. Tiles are whole blocks.
func (b *regionBuilder) shape() {
	r := b.r
	r.cols, r.block = r.size, min(blockElements, max(r.size, 1))
	least := 1
	if b.c.head != nil || len(b.c.tails) > 0 {
		least = tileOf(b.c)
	}
	rows := b.repeating()
	if rows > 0 && lcm(least, rows) > maxTile && least > 1 && least%rows != 0 {
		rows = 0 // read such operands element by element instead
	}
	if b.c.head != nil {
		rows = headWidth(b.c.head)
	}
	if rows > 0 && r.size > 0 {
		r.cols = rows
		if rows > blockElements {
			r.parts = (rows + blockElements - 1) / blockElements
			r.block = blockElements
		} else {
			r.block = min(blockElements/rows*rows, r.size)
		}
	}
	if b.c.head != nil || len(b.c.tails) > 0 {
		b.tile(lcm(least, max(rows, 1)))
	}
}

// tile sets the tile to a few of the least possible ones, and the block to a part of it.
func (b *regionBuilder) tile(least int) {
	r := b.r
	aim := 4 * blockElements
	if n := b.c.head; n != nil {
		// Few rows if each is a lot of work, so that there are tiles to share out.
		rows := parallelCost * flopsPerNano / max(2*headDepth(n)*r.cols, 1) &^ 15
		aim = min(min(max(rows, 16), headRows)*r.cols, maxTile)
	}
	r.tile = least * max(1, aim/least)
	if r.parts > 0 {
		return
	}
	unit := 1
	if r.cols < r.size {
		unit = r.cols
	}
	// The largest part of a tile that is no larger than a block should be, in whole rows.
	for parts := (r.tile + blockElements - 1) / blockElements; ; parts++ {
		if r.tile%parts == 0 && r.tile/parts%unit == 0 {
			r.block = r.tile / parts
			return
		}
	}
}

// repeating returns the length of the rows by which operands repeat, 0 if none does.
func (b *regionBuilder) repeating() int {
	for _, n := range b.c.nodes {
		if n == b.c.head || slices.Contains(b.c.tails, n) {
			continue
		}
		for _, v := range n.Inputs {
			if w := b.walk(v); w != nil && w.rows() {
				return w.dims[1]
			}
		}
	}
	return 0
}

// walk returns how operand v is read if it is a broadcast or a transposition read through, or nil.
func (b *regionBuilder) walk(v *ir.Value) *walk {
	n := v.Node
	if b.c.nodes[0].Op == compute.OpTypeTranspose {
		return transposeWalk(b.c.nodes[0])
	}
	if b.c.nodes[0].Op == compute.OpTypeBroadcastInDim {
		return broadcastWalk(b.c.nodes[0])
	}
	if b.folded[n] {
		return broadcastWalk(n)
	}
	return nil
}

// node appends the instruction of one node.
func (b *regionBuilder) node(i int, n *ir.Node) error {
	fn, cost, err := loopOf(n)
	if err != nil {
		return err
	}
	in, text, scalar := instr{fn: fn}, n.Op.String(), -1
	args := []*int{&in.a, &in.b, &in.c}
	if d := b.idioms[n]; d != nil {
		in.fn, cost = d.fn, d.cost
		for _, m := range slices.Backward(d.over) {
			text = m.Op.String() + "+" + text
		}
	} else {
		scalar = b.scalars(n, &in)
	}
	for j, v := range b.inputs(n) {
		if j == scalar {
			continue
		}
		if *args[j], err = b.read(v); err != nil {
			return err
		}
	}
	for _, v := range b.inputs(n) {
		b.release(i, v)
	}
	in.dst = b.write(n.Outputs[0])
	b.r.code = append(b.r.code, in)
	b.r.cost += cost
	b.text = append(b.text, text)
	return nil
}

// scalars replaces the loop by one that takes a single element for an operand, if there is one and
// an operand is such. It returns which operand that is, or -1.
func (b *regionBuilder) scalars(n *ir.Node, in *instr) int {
	for j, v := range n.Inputs {
		s, ok := b.scalarOperand(v)
		if !ok {
			continue
		}
		if fn, ok := op.Of(n.Op).Loops.Single(n.Inputs[len(n.Inputs)-1].DType(), j); ok {
			in.fn = fn
			*[]*int{&in.a, &in.b, &in.c}[j] = s
			return j
		}
	}
	return -1
}

// scalarOperand returns the operand for a value that is one element broadcast.
func (b *regionBuilder) scalarOperand(v *ir.Value) (int, bool) {
	if !b.single(v) {
		return 0, false
	}
	if s, ok := b.scalar[v]; ok {
		return s, true
	}
	b.r.operands = append(b.r.operands, operand{ref: b.at(v.Node.Inputs[0])})
	b.scalar[v] = len(b.r.operands) - 1
	return b.scalar[v], true
}

// read returns the operand that holds v.
func (b *regionBuilder) read(v *ir.Value) (int, error) {
	if o, ok := b.operand[v]; ok {
		return o, nil
	}
	size := v.DType().Size()
	w, src := b.walk(v), b.at(b.source(v))
	o := operand{ref: src, step: size}
	switch {
	case w == nil || w.contiguous():
	case b.r.parts > 0 && w.rows() && w.dims[1] == b.r.cols:
		o.byRow = true
	case len(w.dims) > maxRank:
		return 0, fmt.Errorf("rank %d: %w", len(w.dims), compute.ErrNotImplemented)
	default:
		o = operand{temp: true, off: b.fresh(size)}
		b.fill(w, src, o.off, size)
	}
	b.r.operands = append(b.r.operands, o)
	b.operand[v] = len(b.r.operands) - 1
	return b.operand[v], nil
}

// source returns the value that a folded broadcast, or the broadcast or transposition this region
// is, reads.
func (b *regionBuilder) source(v *ir.Value) *ir.Value {
	if b.folded[v.Node] {
		return v.Node.Inputs[0]
	}
	return v
}

func (b *regionBuilder) fill(w *walk, src ref, dst, size int) {
	f := fill{src: src, dst: dst, size: size, walk: w, kind: fillWalk}
	switch {
	case w.scalar():
		f.kind = fillScalar
	case w.rows() && b.r.parts == 0 && b.r.block%w.dims[1] == 0:
		f.kind = fillRows
	case len(w.dims) == 2 && w.strides[0] == 1 && w.strides[1] == 0:
		f.kind = fillCols
	}
	if f.kind == fillScalar || f.kind == fillRows {
		b.r.fills = append(b.r.fills, f)
	} else {
		b.r.loads = append(b.r.loads, f)
	}
}

// temp returns the offset of a free temporary for elements of the given size.
func (b *regionBuilder) temp(size int) int {
	if list := b.free[size]; len(list) > 0 {
		b.free[size] = list[:len(list)-1]
		return list[len(list)-1]
	}
	return b.fresh(size)
}

// fresh returns the offset of a temporary that no instruction has written: what is filled before
// the code runs must not share with what the code computes.
func (b *regionBuilder) fresh(size int) int {
	off := b.used
	b.used += (b.r.block*size + alignment - 1) &^ (alignment - 1)
	return off
}

// reduced reports whether a tail of the region takes v.
func (b *regionBuilder) reduced(v *ir.Value) bool {
	return slices.ContainsFunc(b.c.tails, func(n *ir.Node) bool { return n.Inputs[0] == v })
}

// release frees the temporary of a member that node i was the last to read. Filled temporaries
// stay: they serve every block.
func (b *regionBuilder) release(i int, v *ir.Value) {
	if v.Node == b.c.head || !slices.Contains(b.c.nodes, v.Node) || b.lastRead[v] != i {
		return
	}
	o := b.r.operands[b.operand[v]]
	if o.temp && !o.tiled {
		size := v.DType().Size()
		if !slices.Contains(b.free[size], o.off) {
			b.free[size] = append(b.free[size], o.off)
		}
	}
}

// write returns the operand that takes output v: its memory if it has any, else a temporary.
func (b *regionBuilder) write(v *ir.Value) int {
	size := v.DType().Size()
	var o operand
	switch {
	case b.store[v] != nil:
		o = operand{ref: b.at(v), step: size}
	case b.reduced(v):
		o = operand{temp: true, tiled: true, step: size, off: b.used}
		b.used += (b.r.tile*size + alignment - 1) &^ (alignment - 1)
	default:
		o = operand{temp: true, off: b.temp(size)}
	}
	b.r.operands = append(b.r.operands, o)
	b.operand[v] = len(b.r.operands) - 1
	return b.operand[v]
}

// describe prints the region: what it writes, its operations, and what it reads; ... marks what is
// broadcast.
func (b *regionBuilder) describe() string {
	var outs, ins []string
	written := map[int]bool{}
	add := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	if d := b.c.head; d != nil {
		b.text = append([]string{d.Op.String()}, b.text...)
		written[b.operand[d.Outputs[0]]] = true
		for _, v := range d.Inputs {
			add(&ins, b.prog.name(b.at(v))+":"+ir.ShapeText(v))
		}
	}
	for _, in := range b.r.code {
		for _, o := range []int{in.a, in.b, in.c} {
			if o != 0 && !written[o] && !b.r.operands[o].temp {
				add(&ins, b.prog.name(b.r.operands[o].ref))
			}
		}
		if written[in.dst] = true; !b.r.operands[in.dst].temp {
			add(&outs, b.prog.name(b.r.operands[in.dst].ref))
		}
	}
	for _, f := range slices.Concat(b.r.fills, b.r.loads) {
		add(&ins, b.prog.name(f.src)+"...")
	}
	for _, n := range b.c.tails {
		b.text = append(b.text, n.Op.String())
		add(&outs, b.prog.name(b.at(n.Outputs[0])))
	}
	return fmt.Sprintf("%s = region[%d]{%s} %s", strings.Join(outs, ", "), b.r.size, strings.Join(b.text, " "),
		strings.Join(ins, " "))
}

// loopOf returns the loop of a node, and its rough cost in nanoseconds per thousand elements.
func loopOf(n *ir.Node) (loops.Fn, int, error) {
	switch n.Op {
	case compute.OpTypeBroadcastInDim, compute.OpTypeTranspose:
		return loops.Copy(n.Outputs[0].DType().Size()), 500, nil
	case compute.OpTypeConvertDType:
		if fn, ok := loops.Convert(n.Inputs[0].DType(), n.Outputs[0].DType()); ok {
			return fn, 500, nil
		}
		return nil, 0, notImplemented(n)
	}
	fn, ok := op.Of(n.Op).Loops.Of(n.Inputs[len(n.Inputs)-1].DType())
	if !ok {
		return nil, 0, notImplemented(n)
	}
	return fn, loopCost(n.Op), nil
}

// loopCost returns the rough cost of an operation's loop, in nanoseconds per thousand elements.
func loopCost(t compute.OpType) int {
	if op.Of(t).Dear {
		return 1000
	}
	return 100
}

// regionInPlace returns the operands of a region that member v may be written over: read element by
// element, and not by any node after the one that writes v.
func regionInPlace(c *cluster, v *ir.Value, folded map[*ir.Node]bool) []*ir.Value {
	if !ir.Elementwise(v.Node.Op) {
		return nil
	}
	if c.head != nil && slices.Contains(c.head.Inputs, v) {
		return nil
	}
	at := slices.Index(c.nodes, v.Node)
	last := map[*ir.Value]int{}
	var ins []*ir.Value
	for i, n := range c.nodes {
		for _, in := range n.Inputs {
			member := slices.Contains(c.nodes, in.Node) && in.Node != c.head
			if folded[in.Node] || member || n == c.head || slices.Contains(c.tails, n) || in.DType().Size() != v.DType().Size() {
				continue
			}
			if _, ok := last[in]; !ok {
				ins = append(ins, in)
			}
			last[in] = i
		}
	}
	return slices.DeleteFunc(ins, func(in *ir.Value) bool { return last[in] > at })
}

// maxOperands bounds the addresses a region keeps on the stack, fewOperands are what most have.
const maxOperands, fewOperands = 1 + 4*maxRegionNodes, 16

// begin works out addresses and fills the temporaries that serve every block.
func (r *region) begin(fr *frame, base []unsafe.Pointer, scratch unsafe.Pointer) {
	for i, o := range r.operands[1:] {
		if o.temp {
			base[i+1] = unsafe.Add(scratch, o.off)
		} else {
			base[i+1] = fr.at(o.ref)
		}
	}
	for i := range r.fills {
		r.fills[i].once(fr, scratch, min(r.block, r.size))
	}
}

// do runs elements from to to, which are of the tile that starts at origin. Where rows count, whole
// rows.
func (r *region) do(fr *frame, base []unsafe.Pointer, scratch unsafe.Pointer, from, to, origin int) {
	for start := from; start < to; {
		n, col := min(r.block, to-start), 0
		if r.parts > 0 {
			col = start % r.cols
			n = min(n, r.cols-col)
		}
		inTile := start - origin
		for i := range r.loads {
			r.loads[i].each(fr, scratch, start, n)
		}
		for i := range r.code {
			in := &r.code[i]
			in.fn(r.addr(base, in.dst, start, col, inTile), r.addr(base, in.a, start, col, inTile),
				r.addr(base, in.b, start, col, inTile), r.addr(base, in.c, start, col, inTile), n)
		}
		start += n
	}
}

// start returns the first element of a block.
func (r *region) start(blk int) int {
	if r.parts == 0 {
		return min(blk*r.block, r.size)
	}
	return blk/r.parts*r.cols + blk%r.parts*r.block
}

func (r *region) addr(base []unsafe.Pointer, i, start, col, inTile int) unsafe.Pointer {
	o := &r.operands[i]
	if o.byRow {
		start = col
	} else if o.tiled {
		start = inTile
	}
	return unsafe.Add(base[i], start*o.step)
}
