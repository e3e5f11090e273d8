package engine

import (
	"unsafe"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/internal/kernel"
	"github.com/weft-rl/weft/engine/ir"
)

// A region with a head or reductions at its tail runs tile by tile: the head's rows of a tile, the
// region's blocks, then the reductions, which take the tile's elements while they are in the cache.
// Partial results are joined at the end in the order that the reduction by itself has, so the bits
// are the same.

// maxTile bounds a tile, in elements, to what the second-level cache holds several of.
const maxTile = 1 << 14

// tailUnit returns how many elements a reduction takes at a time when it is the tail of a region,
// or 0 if it cannot be: the blocks of its own order must not be cut.
func tailUnit(n *ir.Node) int {
	if !fastReduce(n) || n.Inputs[0].Size() == 0 {
		return 0
	}
	switch r := reductionOf(n); {
	case r.walk != nil || r.inner > 1 && r.outer > 1:
		return 0
	case r.inner > 1:
		return kernel.ColumnBlock * r.inner
	case r.outer == 1 || r.length > kernel.ReduceBlock:
		if r.outer > 1 {
			return 0
		}
		return kernel.ReduceBlock
	default:
		return r.length
	}
}

func lcm(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// tileOf returns the least tile of a cluster, 0 if its parts do not go together.
func tileOf(c *cluster) int {
	tile := 1
	if c.head != nil {
		tile = headWidth(c.head)
	}
	for _, n := range c.tails {
		if tile = lcm(tile, tailUnit(n)); tile > maxTile {
			return 0
		}
	}
	return tile
}

// tail is a reduction of a region's elements.
type tail struct {
	reduction
	op      kernel.ReduceOp
	src     operand
	out     ref
	partial ref
	parts   int // values of partial results
}

// tailParts returns how many partial results a reduction has.
func tailParts(r reduction) int {
	switch {
	case r.inner > 1:
		return kernel.ColumnScratch(r.length, r.inner)
	case r.outer == 1:
		return kernel.Blocks(r.length)
	}
	return 0
}

func tailScratch(tails []*ir.Node) (bytes int) {
	for _, n := range tails {
		bytes += (tailParts(reductionOf(n))*4 + alignment - 1) &^ (alignment - 1)
	}
	return bytes
}

// tails makes the reductions of the region; their partial results lie from scratch on.
func (b *regionBuilder) tails(scratch ref) (tails []tail) {
	for _, n := range b.c.tails {
		by, _ := foldOf(n).Vector()
		t := tail{reduction: reductionOf(n), op: by, out: b.at(n.Outputs[0]),
			src: b.r.operands[b.operand[n.Inputs[0]]], partial: scratch}
		t.parts = tailParts(t.reduction)
		scratch.off += (t.parts*4 + alignment - 1) &^ (alignment - 1)
		tails = append(tails, t)
	}
	return tails
}

// take reduces the n elements from start on.
func (t *tail) take(fr *frame, scratch unsafe.Pointer, start, n int) {
	var p unsafe.Pointer
	if t.src.temp {
		p = unsafe.Add(scratch, t.src.off)
	} else {
		p = unsafe.Add(fr.at(t.src.ref), start*4)
	}
	x := unsafe.Slice((*float32)(p), n)
	switch {
	case t.inner > 1:
		b := start / (kernel.ColumnBlock * t.inner)
		rows := n / t.inner
		kernel.ReduceColBlocks32(t.op, view[float32](fr, t.partial, t.parts)[b*t.inner:], x, rows, t.inner, 0,
			kernel.ColumnBlocks(rows))
	case t.outer == 1:
		kernel.ReduceBlocks32(t.op, view[float32](fr, t.partial, t.parts)[start/kernel.ReduceBlock:], x, 0, kernel.Blocks(n))
	default:
		row := start / t.length
		kernel.ReduceRows32(t.op, view[float32](fr, t.out, t.outer)[row:], x, n/t.length, t.length)
	}
}

// finish joins the partial results.
func (t *tail) finish(fr *frame) {
	switch {
	case t.inner > 1:
		kernel.TreeCols32(t.op, view[float32](fr, t.out, t.inner), view[float32](fr, t.partial, t.parts), t.parts/t.inner, t.inner)
	case t.outer == 1:
		view[float32](fr, t.out, 1)[0] = kernel.Tree32(t.op, view[float32](fr, t.partial, t.parts))
	}
}

// headRows is about how many rows of a product are made before its region runs on them: as many as
// the kernel finishes at a time anyhow.
const headRows = 96

// head makes the rows that a region finishes.
type head struct {
	width  int             // elements of a row
	before func(fr *frame) // nil if there is nothing to do
	rows   job             // rows lo to hi
	cost   int             // rough nanoseconds per thousand elements
}

func headWidth(n *ir.Node) int {
	if n.Op == compute.OpTypeConvGeneral {
		return convOf(n).features
	}
	return gemmOf(n).n
}

// headDepth returns how many multiply-adds an element of a head takes.
func headDepth(n *ir.Node) int {
	if n.Op == compute.OpTypeConvGeneral {
		return convOf(n).patch
	}
	return gemmOf(n).k
}

// headCost returns roughly how many nanoseconds a head takes.
func headCost(n *ir.Node) int { return 2 * headDepth(n) * n.Outputs[0].Size() / flopsPerNano }

// headScratch returns how much of the arena a head needs.
func headScratch(n *ir.Node) int {
	if n.Op == compute.OpTypeConvGeneral {
		return 0
	}
	return (dotScratch(n) + alignment - 1) &^ (alignment - 1)
}

// head lowers the head of the region; used bytes of each worker's scratch are the region's.
func (l *lowering) head(n *ir.Node, used int) (head, error) {
	if n.Op == compute.OpTypeConvGeneral {
		c := convOf(n)
		rows, err := c.rows(l, n, used)
		return head{c.features, nil, rows, 2 * c.patch * 1000 / flopsPerNano}, err
	}
	g := gemmOf(n)
	p := g.float32s(l, n)
	p.scratchOff = used
	l.prog.scratch = max(l.prog.scratch, used+p.scratch*4)
	return head{g.n, p.before, p.rows, 2 * g.k * 1000 / flopsPerNano}, nil
}

// regionStep is a region with what stands before and after it.
type regionStep struct {
	*region
	head  head
	tails []tail
}

// ends adds the head and the tails of the cluster to the region.
func (b *regionBuilder) ends() (*regionStep, error) {
	scratch := b.scratchRef()
	s := &regionStep{region: b.r}
	if n := b.c.head; n != nil {
		var err error
		if s.head, err = b.lowering.head(n, b.used); err != nil {
			return nil, err
		}
		scratch.off += headScratch(n)
	}
	s.tails = b.tails(scratch)
	return s, nil
}

func (s *regionStep) before(fr *frame) {
	if s.head.before != nil {
		s.head.before(fr)
	}
}

// span does elements from to to, tile by tile.
func (s *regionStep) span(fr *frame, from, to, worker int) {
	var few [fewOperands]unsafe.Pointer // most regions have no more, and clearing many takes longer than a small one
	base := few[:]
	if len(s.operands) > fewOperands {
		var many [maxOperands]unsafe.Pointer
		base = many[:]
	}
	mine := fr.scratch[worker]
	s.begin(fr, base, mine)
	if s.tile == 0 {
		s.do(fr, base, mine, from, to, 0)
		return
	}
	for start := from; start < to; start += s.tile {
		end := min(start+s.tile, to)
		if s.head.rows != nil {
			s.head.rows(fr, start/s.head.width, end/s.head.width, worker)
		}
		s.do(fr, base, mine, start, end, start)
		for j := range s.tails {
			s.tails[j].take(fr, mine, start, end-start)
		}
	}
}

func (s *regionStep) finish(fr *frame) {
	for j := range s.tails {
		s.tails[j].finish(fr)
	}
}
