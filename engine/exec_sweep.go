package engine

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/internal/kernel"
	"github.com/weft-rl/weft/engine/ir"
)

// rowStep is a member of a sweep. Its rows may be done in any pieces of whole tiles, by any
// goroutine.
type rowStep struct {
	before func(fr *frame) // nil if there is nothing to do
	rows   job
	finish func(fr *frame) // nil if there is nothing to do
}

// sweep lowers a group of clusters, the first of which is the one being lowered, to one step.
func (l *lowering) sweep(s *sweep) (step, error) {
	var members []rowStep
	first, early := l.index, len(s.members)-s.late
	text := fmt.Sprintf("sweep %d rows by %d", s.rows, s.tile)
	for i, c := range s.members {
		l.index = first + i
		if i == early {
			text += "\nthen"
		}
		m, line, err := l.member(c, i >= early)
		if err != nil {
			return step{}, err
		}
		members = append(members, m)
		text += "\n" + line
	}
	tiles := (s.rows + s.tile - 1) / s.tile
	work := job(func(fr *frame, lo, hi, worker int) {
		for t := lo; t < hi; t++ {
			for i := range members[:early] {
				members[i].rows(fr, t*s.tile, min((t+1)*s.tile, s.rows), worker)
			}
		}
	})
	pieces := l.pieces(s.members[early:])
	rest := job(func(fr *frame, lo, hi, worker int) {
		for _, p := range pieces[lo:hi] {
			members[early+p.member].rows(fr, p.lo, p.hi, worker)
		}
	})
	return step{strings.ReplaceAll(text, "\n", "\n    "), func(fr *frame) {
		begin(fr, members[:early])
		fr.workers.run(fr, work, tiles, 1)
		begin(fr, members[early:])
		fr.workers.run(fr, rest, len(pieces), 1)
		for i := range members {
			if f := members[i].finish; f != nil {
				f(fr)
			}
		}
	}}, nil
}

// begin does what comes before the rows.
func begin(fr *frame, members []rowStep) {
	for i := range members {
		if f := members[i].before; f != nil {
			f(fr)
		}
	}
}

// piece is rows of the result of a late member.
type piece struct {
	member, lo, hi int
	cost           int
}

// pieces cuts the late members so that all goroutines have as much to do, the largest pieces last,
// which are begun first.
func (l *lowering) pieces(late []*cluster) (list []piece) {
	total := 0
	for _, c := range late {
		total += clusterCost(c)
	}
	for i, c := range late {
		rows, cost := 1, clusterCost(c)
		if n := c.nodes[0]; n.Op == compute.OpTypeDotGeneral {
			rows = gemmOf(n).m
		}
		each := max(1, rows*total/max(1, cost*l.settings.threads))
		each = (each + 5) / 6 * 6 // rows that the product kernel does at a time
		if total < parallelCost {
			each = rows
		}
		for lo := 0; lo < rows; lo += each {
			hi := min(lo+each, rows)
			list = append(list, piece{i, lo, hi, cost * (hi - lo) / rows})
		}
	}
	slices.SortStableFunc(list, func(a, b piece) int { return a.cost - b.cost })
	return list
}

// member lowers one cluster of a sweep. The rows of a late one are those of its result.
func (l *lowering) member(c *cluster, late bool) (rowStep, string, error) {
	n := c.nodes[0]
	if c.region() {
		s, text, err := l.regionStep(c)
		if err != nil {
			return rowStep{}, "", err
		}
		width := s.size / c.sweep.rows
		return rowStep{s.before, func(fr *frame, lo, hi, worker int) { s.span(fr, lo*width, hi*width, worker) }, s.finish}, text, nil
	}
	var m rowStep
	switch {
	case n.Op == compute.OpTypeArgMinMax:
		m.rows = l.argRows(n, c.sweep.rows)
	case n.Op != compute.OpTypeDotGeneral && overRows(n) && late:
		sum := l.columnSum(n)
		m.rows = func(fr *frame, _, _, worker int) {
			sum.rows(fr, 0, c.sweep.rows, worker)
			sum.finish(fr)
		}
	case n.Op != compute.OpTypeDotGeneral && overRows(n):
		m = l.columnSum(n)
	case n.Op != compute.OpTypeDotGeneral:
		m.rows = l.reduceRows(n, c.sweep.rows)
	case overRows(n) && !late:
		m = l.weightGradient(n)
	default:
		g := gemmOf(n)
		p := g.float32s(l, n)
		m = rowStep{before: p.before, rows: p.rows}
	}
	return m, l.text(n), nil
}

func (l *lowering) argRows(n *ir.Node, rows int) job {
	in, out, least := l.at(n.Inputs[0]), l.at(n.Outputs[0]), n.Attr.(ir.ArgMinMax).IsMin
	each, size := n.Outputs[0].Size()/rows, n.Inputs[0].Size()/n.Outputs[0].Size()
	return func(fr *frame, lo, hi, _ int) {
		count := (hi - lo) * each
		to, from := unsafe.Add(fr.at(out), lo*each*4), unsafe.Add(fr.at(in), lo*each*size*4)
		kernel.ArgRows32(unsafe.Slice((*int32)(to), count), f32s(from, count*size), count, size, least)
	}
}

func (l *lowering) reduceRows(n *ir.Node, rows int) job {
	r := reductionOf(n)
	op, _ := foldOf(n).Vector()
	in, out, each := l.at(n.Inputs[0]), l.at(n.Outputs[0]), r.outer/rows
	return func(fr *frame, lo, hi, _ int) {
		count := (hi - lo) * each
		to, from := unsafe.Add(fr.at(out), lo*each*4), unsafe.Add(fr.at(in), lo*each*r.length*4)
		kernel.ReduceRows32(op, f32s(to, count), f32s(from, count*r.length), count, r.length)
	}
}

// columnSum returns a reduction over the rows, as the tail of a region that only reads.
func (l *lowering) columnSum(n *ir.Node) rowStep {
	r := reductionOf(n)
	op, _ := foldOf(n).Vector()
	t := tail{reduction: r, op: op, src: operand{ref: l.at(n.Inputs[0])},
		out: l.at(n.Outputs[0]), partial: l.scratchRef(), parts: tailParts(r)}
	return rowStep{
		rows:   func(fr *frame, lo, hi, _ int) { t.take(fr, nil, lo*r.inner, (hi-lo)*r.inner) },
		finish: t.finish,
	}
}

// weightGradient returns a product summed over the rows, block by block: the first goes to the
// result, the others are kept until all are there and then added in order.
func (l *lowering) weightGradient(n *ir.Node) rowStep {
	g := gemmOf(n)
	size := g.m * g.n
	a, b, c, rest := l.at(n.Inputs[0]), l.at(n.Inputs[1]), l.at(n.Outputs[0]), l.scratchRef()
	shape := kernel.Gemm32{M: g.m, N: g.n, K: kernel.ProductBlock, LDA: g.a.ld(), TransA: g.a.trans(), LDB: g.b.ld(), LDC: g.n}
	need := shape.Scratch()
	l.prog.scratch = max(l.prog.scratch, need*4)
	block := func(fr *frame, lo, hi, worker int) {
		p := shape
		p.K = hi - lo
		am, bm := g.a, g.b
		am.cols, bm.rows = p.K, p.K
		p.A = f32s(unsafe.Add(fr.at(a), lo*g.a.cs*4), am.span())
		p.B = f32s(unsafe.Add(fr.at(b), lo*g.b.rs*4), bm.span())
		to := fr.at(c)
		if lo > 0 {
			to = unsafe.Add(fr.at(rest), (lo/kernel.ProductBlock-1)*size*4)
		}
		p.C = f32s(to, size)
		if err := p.Run(f32s(fr.scratch[worker], need)); err != nil {
			panic(fmt.Sprintf("engine: a planned product does not fit: %v", err))
		}
	}
	return rowStep{
		rows: func(fr *frame, lo, hi, worker int) {
			for ; lo < hi; lo += kernel.ProductBlock {
				block(fr, lo, min(lo+kernel.ProductBlock, hi), worker)
			}
		},
		finish: func(fr *frame) {
			sum := view[float32](fr, c, size)
			for i := range productBlocks(g.k) - 1 {
				kernel.Binary32(kernel.Add, sum, sum, f32s(unsafe.Add(fr.at(rest), i*size*4), size))
			}
		},
	}
}

// productBlocks returns in how many blocks a product over k terms is summed.
func productBlocks(k int) int { return (k + kernel.ProductBlock - 1) / kernel.ProductBlock }

// memberScratch returns how much of the arena a member of a sweep needs that is not a region.
func memberScratch(n *ir.Node) int {
	switch {
	case n.Op == compute.OpTypeDotGeneral:
		g := gemmOf(n)
		return dotScratch(n) + (productBlocks(g.k)-1)*g.m*g.n*4
	case n.Op == compute.OpTypeArgMinMax:
		return 0
	}
	return tailScratch([]*ir.Node{n})
}
