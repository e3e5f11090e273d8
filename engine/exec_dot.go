package engine

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/kernel"
	"github.com/weft-rl/weft/engine/internal/loops"
	"github.com/weft-rl/weft/engine/ir"
)

// matrix is an operand of a product: rows x cols, whose elements lie rs and cs elements apart. If
// its axes cannot be read like that, copy brings it into rows without gaps, one matrix for each of
// the batch.
type matrix struct {
	rows, cols int
	rs, cs     int
	batch      *walk // where the matrices of the batch start; nil if there is one
	copy       *walk
	size       int // elements of the copy
}

// trans says whether the matrix is stored by columns.
func (m *matrix) trans() bool { return m.cs != 1 }

// ld returns the length of a stored row.
func (m *matrix) ld() int {
	if m.trans() {
		return m.cs
	}
	return m.rs
}

// axesOf returns the dimensions and the strides of some axes.
func axesOf(dims, dense, axes []int) (ds, ss []int) {
	for _, a := range axes {
		ds, ss = append(ds, dims[a]), append(ss, dense[a])
	}
	return ds, ss
}

// flat returns the axes as one, if they can be walked as one.
func flat(dims, strides []int) (length, stride int, ok bool) {
	w := newWalk(dims, strides)
	switch len(w.dims) {
	case 0:
		return 1, 1, true
	case 1:
		return w.dims[0], w.strides[0], true
	}
	return w.dims[0] * w.dims[1], 0, false
}

func product(xs []int) int {
	p := 1
	for _, x := range xs {
		p *= x
	}
	return p
}

// matrixOf makes a matrix of an operand, given which of its axes are rows, columns and batch.
func matrixOf(dims, rows, cols, batch []int) matrix {
	dense := rowMajor(dims)
	rd, rs := axesOf(dims, dense, rows)
	cd, cs := axesOf(dims, dense, cols)
	bd, bs := axesOf(dims, dense, batch)
	m := matrix{rows: product(rd), cols: product(cd)}
	_, rstep, rok := flat(rd, rs)
	_, cstep, cok := flat(cd, cs)
	switch {
	case rok && cok && (cstep == 1 || m.cols == 1) && (rstep >= m.cols || m.rows == 1):
		m.rs, m.cs = max(rstep, m.cols), 1
	case rok && cok && (rstep == 1 || m.rows == 1) && cstep >= m.rows:
		m.rs, m.cs = 1, cstep
	default:
		m.rs, m.cs = max(m.cols, 1), 1
		m.copy = newWalk(slices.Concat(bd, rd, cd), slices.Concat(bs, rs, cs))
		m.size = product(dims)
		bs = scaled(rowMajor(bd), slices.Repeat([]int{m.rows * m.cols}, len(bd)))
	}
	if len(bd) > 0 {
		m.batch = newWalk(bd, bs)
	}
	return m
}

// gemm is a DotGeneral as a batch of matrix products.
type gemm struct {
	a, b    matrix
	batch   int
	m, n, k int
}

func gemmOf(n *ir.Node) gemm {
	d := n.Attr.(ir.Dot)
	lhs, rhs := n.Inputs[0].Shape.Dimensions, n.Inputs[1].Shape.Dimensions
	g := gemm{
		a: matrixOf(lhs, others(len(lhs), d.LhsContract, d.LhsBatch), d.LhsContract, d.LhsBatch),
		b: matrixOf(rhs, d.RhsContract, others(len(rhs), d.RhsContract, d.RhsBatch), d.RhsBatch),
	}
	batch, _ := axesOf(lhs, lhs, d.LhsBatch)
	g.batch, g.m, g.n, g.k = product(batch), g.a.rows, g.b.cols, g.a.cols
	return g
}

// others returns the axes in neither list, in order.
func others(rank int, lists ...[]int) (axes []int) {
	for a := range rank {
		if !slices.ContainsFunc(lists, func(l []int) bool { return slices.Contains(l, a) }) {
			axes = append(axes, a)
		}
	}
	return axes
}

func dotScratch(n *ir.Node) int {
	g := gemmOf(n)
	size := n.Inputs[0].DType().Size()
	bytes := 0
	for _, m := range []matrix{g.a, g.b} {
		if m.copy != nil {
			bytes += m.size*size + alignment
		}
	}
	if g.packs() && size == 4 {
		bytes += kernel.PackedSize(g.k, g.n) * 4
	}
	return bytes
}

// packs reports whether the second operand should be packed once for all rows: if the kernel would
// pack it for each piece of the rows it is given.
func (g *gemm) packs() bool {
	return g.batch == 1 && g.m >= 32 && g.k > 0 && g.n > 0 && (g.b.trans() || g.b.ld() > longRow)
}

// longRow is from where on the kernel packs rows rather than read them in place.
const longRow = 256

// offset returns where matrix i of the batch starts, in elements.
func (m *matrix) offset(i int) (off int) {
	if m.batch == nil {
		return 0
	}
	for j := len(m.batch.dims) - 1; j >= 0; j-- {
		off += i % m.batch.dims[j] * m.batch.strides[j]
		i /= m.batch.dims[j]
	}
	return off
}

// prepare returns where the matrices are read, and the step that copies those that need it.
func (g *gemm) prepare(l *lowering, n *ir.Node) (a, b, rest ref, before func(fr *frame)) {
	size, scratch := n.Inputs[0].DType().Size(), l.scratchRef()
	from := l.refs(n.Inputs)
	at := slices.Clone(from)
	copies := make([]*walk, 2)
	counts := make([]int, 2)
	for i, m := range []matrix{g.a, g.b} {
		if m.copy != nil && m.size > 0 {
			copies[i], counts[i], at[i] = m.copy, m.size, scratch
			scratch.off += (m.size*size + alignment - 1) &^ (alignment - 1)
		}
	}
	if copies[0] == nil && copies[1] == nil {
		return at[0], at[1], scratch, nil
	}
	return at[0], at[1], scratch, func(fr *frame) {
		for i, w := range copies {
			if w != nil {
				w.gather(fr.at(at[i]), fr.at(from[i]), 0, counts[i], size)
			}
		}
	}
}

func dotGeneral(l *lowering, n *ir.Node) (func(fr *frame), error) {
	g := gemmOf(n)
	if n.Inputs[0].DType() == dtypes.Float32 {
		run := g.float32s(l, n)
		size, grain := g.jobs()
		work := job(run.rows)
		return func(fr *frame) {
			run.before(fr)
			fr.workers.run(fr, work, size, grain)
		}, nil
	}
	t, ok := loops.Of(n.Inputs[0].DType())
	if !ok {
		return nil, notImplemented(n)
	}
	a, b, _, before := g.prepare(l, n)
	c, size := l.at(n.Outputs[0]), n.Outputs[0].DType().Size()
	return func(fr *frame) {
		if before != nil {
			before(fr)
		}
		for i := range g.batch {
			t.Product(g.m, g.n, g.k, unsafe.Add(fr.at(a), g.a.offset(i)*size), g.a.rs, g.a.cs,
				unsafe.Add(fr.at(b), g.b.offset(i)*size), g.b.rs, g.b.cs, unsafe.Add(fr.at(c), i*g.m*g.n*size), g.n)
		}
	}, nil
}

// jobs returns how many rows the products of the batch have together, and how many of them are
// worth a goroutine.
func (g *gemm) jobs() (rows, grain int) {
	grain = (parallelCost*flopsPerNano/max(2*g.n*g.k, 1) + 15) &^ 15
	return g.batch * g.m, max(grain, 16)
}

// product32 is a batch of float32 products, ready to run by rows.
type product32 struct {
	gemm
	aRef, bRef, cRef ref
	packed           ref
	copies           func(fr *frame)
	scratch          int // values each worker needs
	scratchOff       int // bytes of the worker's scratch that are not for the product
}

// before copies and packs what needs it.
func (p *product32) before(fr *frame) {
	if p.copies != nil {
		p.copies(fr)
	}
	if p.packs() {
		b := unsafe.Slice((*float32)(fr.at(p.bRef)), p.b.span())
		if err := kernel.PackB32(view[float32](fr, p.packed, kernel.PackedSize(p.k, p.n)), b, p.b.ld(), p.k, p.n,
			p.b.trans()); err != nil {
			panic(fmt.Sprintf("engine: a planned product does not fit: %v", err))
		}
	}
}

func (g *gemm) float32s(l *lowering, n *ir.Node) *product32 {
	p := &product32{gemm: *g, cRef: l.at(n.Outputs[0])}
	p.aRef, p.bRef, p.packed, p.copies = g.prepare(l, n)
	k := kernel.Gemm32{M: g.m, N: g.n, K: g.k, LDA: g.a.ld(), TransA: g.a.trans(), LDB: g.b.ld(), TransB: g.b.trans(),
		LDC: g.n}
	p.scratch = k.Scratch()
	l.prog.scratch = max(l.prog.scratch, p.scratch*4)
	return p
}

// rows computes rows lo to hi of the products of the batch laid end to end.
func (p *product32) rows(fr *frame, lo, hi, worker int) {
	for lo < hi {
		i := lo / p.m
		end := min(hi, (i+1)*p.m)
		p.one(fr, i, lo-i*p.m, end-i*p.m, worker)
		lo = end
	}
}

// span returns how many elements a matrix covers, first to last.
func (m *matrix) span() int { return max(0, (m.rows-1)*m.rs+(m.cols-1)*m.cs+1) }

func (p *product32) one(fr *frame, i, lo, hi, worker int) {
	g := kernel.Gemm32{
		M: p.m, N: p.n, K: p.k,
		A: unsafe.Slice((*float32)(unsafe.Add(fr.at(p.aRef), p.a.offset(i)*4)), p.a.span()), LDA: p.a.ld(), TransA: p.a.trans(),
		B: unsafe.Slice((*float32)(unsafe.Add(fr.at(p.bRef), p.b.offset(i)*4)), p.b.span()), LDB: p.b.ld(), TransB: p.b.trans(),
		C: unsafe.Slice((*float32)(unsafe.Add(fr.at(p.cRef), i*p.m*p.n*4)), p.m*p.n), LDC: p.n,
	}
	if p.packs() {
		g.Packed = view[float32](fr, p.packed, kernel.PackedSize(p.k, p.n))
	}
	scratch := unsafe.Slice((*float32)(unsafe.Add(fr.scratch[worker], p.scratchOff)), p.scratch)
	if err := g.RunRange(lo, hi, 0, p.n, scratch); err != nil {
		panic(fmt.Sprintf("engine: a planned product does not fit: %v", err))
	}
}
