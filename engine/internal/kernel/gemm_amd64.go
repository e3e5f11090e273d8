//go:build !noasm

package kernel

import "unsafe"

// tile is the argument of the product kernels; strides are in bytes. The kernel walks the rows and
// uses a, c and rows up as it goes.
type tile struct {
	a        unsafe.Pointer
	aRow, aK uintptr
	b        unsafe.Pointer
	bK, bV   uintptr // distances from row to row, and from panel to panel
	c        unsafe.Pointer
	ldc      uintptr
	k, rows  int
	mask     uint32 // columns of the last panel
	acc      uint32 // how the product is joined with C's contents
}

// Values of tile.acc: C is overwritten, the chain starts from it, or the chain is added to it when
// it ends.
const accNone, accFrom, accOnto = 0, 1, 2

// Cache blocks: ProductBlock x nBlock of B and rowBlock x ProductBlock of A share the second cache,
// rowBlock x nBlock of C is finished while it is there.
const (
	nBlock   = 256
	rowBlock = 96
)

// Scratch returns how many float32 of scratch Run and RunRange need.
func (g *Gemm32) Scratch() int {
	return rowBlock*PanelWidth + PackedSize(min(g.K, ProductBlock), min(g.N, nBlock))
}

func (g *Gemm32) run(r0, r1, c0, c1 int, scratch []float32) {
	if Level(active) == Go {
		g.runGo(r0, r1, c0, c1)
		return
	}
	s := gemmRun{Gemm32: *g, temp: scratch[:rowBlock*PanelWidth], pack: scratch[rowBlock*PanelWidth:],
		wide: Level(active) == AVX512}
	switch {
	case g.K == 0:
		g.runGo(r0, r1, c0, c1)
	case s.swaps(r1-r0, c1-c0):
		s.swapped(r0, r1, c0, c1)
	default:
		for j := c0; j < c1; j += nBlock {
			s.columns(r0, r1, j, min(j+nBlock, c1))
		}
	}
}

// gemmRun is one run's scratch.
type gemmRun struct {
	Gemm32     // by value: a pointer here would move every caller's product to the heap
	temp, pack []float32
	wide       bool
}

// strides gives the distances, in elements, between rows and columns of an operand.
func strides(ld int, trans bool) (row, col int) {
	if trans {
		return 1, ld
	}
	return ld, 1
}

// columns computes columns [c0,c1), at most nBlock, block of k by block of k.
func (s *gemmRun) columns(r0, r1, c0, c1 int) {
	for k0 := 0; k0 < s.K; k0 += ProductBlock {
		k1 := min(k0+ProductBlock, s.K)
		b, bK, bV := s.operand(k0, k1, c0, c1, r1-r0)
		for i := r0; i < r1; i += rowBlock {
			e := min(i+rowBlock, r1)
			s.block(i, e, c0, c1, k0, k1, b, bK, bV)
		}
	}
}

// operand gives rows [k0,k1) and columns [c0,c1) of op(B) where the kernels can walk them: in place
// if its rows are contiguous and packing would not pay, else packed.
func (s *gemmRun) operand(k0, k1, c0, c1, rows int) (b []float32, bK, bV int) {
	if s.Packed != nil {
		return s.Packed[c0*s.K+k0*PanelWidth:], PanelWidth, s.K * PanelWidth
	}
	n, k := c1-c0, k1-k0
	whole := s.wide || n%PanelWidth == 0
	if whole && !s.TransB && (s.LDB <= nBlock || rows < 32) {
		return s.B[k0*s.LDB+c0:], s.LDB, PanelWidth
	}
	row, col := strides(s.LDB, s.TransB)
	_ = PackB32(s.pack, s.B[k0*row+c0*col:], s.LDB, k, n, s.TransB) // sizes were checked
	return s.pack, PanelWidth, k * PanelWidth
}

// acc returns what a block of k that starts at k0 does with what C holds.
func (s *gemmRun) acc(k0 int) uint32 {
	switch {
	case k0 > 0:
		return accOnto
	case s.Acc:
		return accFrom
	}
	return accNone
}

// block computes the chains of rows [i,e), at most rowBlock, over [k0,k1).
func (s *gemmRun) block(i, e, c0, c1, k0, k1 int, b []float32, bK, bV int) {
	row, col := strides(s.LDA, s.TransA)
	t := tile{aRow: uintptr(row) * 4, aK: uintptr(col) * 4, bK: uintptr(bK) * 4, bV: uintptr(bV) * 4,
		ldc: uintptr(s.LDC) * 4, k: k1 - k0, acc: s.acc(k0)}
	a := &s.A[i*row+k0*col]
	for j := c0; j < c1; {
		t.a, t.rows = unsafe.Pointer(a), e-i
		t.b = unsafe.Pointer(&b[(j-c0)/PanelWidth*bV])
		t.c = unsafe.Pointer(&s.C[i*s.LDC+j])
		if s.wide {
			j += t.runWide(c1 - j)
		} else {
			j += s.narrow(&t, i, j, c1)
		}
	}
}

// runWide computes as many of the n columns that are left as the best kernel covers.
func (t *tile) runWide(n int) int {
	panels := min((n+PanelWidth-1)/PanelWidth, 4)
	if panels == 3 {
		panels = 2
	}
	last := min(n-(panels-1)*PanelWidth, PanelWidth)
	t.mask = 1<<last - 1
	switch {
	case panels == 4:
		gemm4AVX512(t)
	case panels == 2:
		gemm2AVX512(t)
	case last <= 8:
		gemmHalfAVX512(t)
	default:
		gemm1AVX512(t)
	}
	return panels * PanelWidth
}

// narrow returns the kernel without masks: a part of a panel is computed whole, in temp.
func (s *gemmRun) narrow(t *tile, i, j, c1 int) int {
	n := c1 - j
	switch {
	case n >= 4*PanelWidth && t.rows == 1:
		gemm4AVX2(t)
		return 4 * PanelWidth
	case n >= PanelWidth:
		gemm1AVX2(t)
		return PanelWidth
	}
	rows, ldc := t.rows, t.ldc
	if t.acc != 0 {
		for r := range rows {
			copy(s.temp[r*PanelWidth:(r+1)*PanelWidth], s.C[(i+r)*s.LDC+j:(i+r)*s.LDC+c1])
		}
	}
	t.c, t.ldc = unsafe.Pointer(&s.temp[0]), PanelWidth*4
	gemm1AVX2(t)
	t.ldc = ldc
	for r := range rows {
		copy(s.C[(i+r)*s.LDC+j:(i+r)*s.LDC+c1], s.temp[r*PanelWidth:])
	}
	return n
}

// swaps says whether to compute C^T instead: few columns, and A's rows already lie along M.
func (s *gemmRun) swaps(m, n int) bool {
	return s.TransA && n < PanelWidth && m >= PanelWidth && s.Packed == nil && (s.wide || m%PanelWidth == 0)
}

// swapped computes the transpose of rows [r0,r1) in temp, rowBlock columns at a time: op(B)^T takes
// A's place.
func (s *gemmRun) swapped(r0, r1, c0, c1 int) {
	n := c1 - c0
	for i := r0; i < r1; i += rowBlock {
		e := min(i+rowBlock, r1)
		if s.Acc {
			Transpose32(s.temp, rowBlock, s.C[i*s.LDC+c0:], s.LDC, e-i, n)
		}
		for k0 := 0; k0 < s.K; k0 += ProductBlock {
			s.swappedBlock(i, e, c0, n, k0)
		}
		Transpose32(s.C[i*s.LDC+c0:], s.LDC, s.temp, rowBlock, n, e-i)
	}
}

// swappedBlock computes the chains of rows [i,e) and n columns over the block of k that starts at
// k0.
func (s *gemmRun) swappedBlock(i, e, c0, n, k0 int) {
	row, col := strides(s.LDB, s.TransB)
	t := tile{aRow: uintptr(col) * 4, aK: uintptr(row) * 4, bK: uintptr(s.LDA) * 4, bV: PanelWidth * 4,
		ldc: rowBlock * 4, k: min(ProductBlock, s.K-k0), acc: s.acc(k0)}
	for j := i; j < e; {
		t.a, t.rows = unsafe.Pointer(&s.B[k0*row+c0*col]), n
		t.b, t.c = unsafe.Pointer(&s.A[k0*s.LDA+j]), unsafe.Pointer(&s.temp[j-i])
		if s.wide {
			j += t.runWide(e - j)
		} else {
			gemm1AVX2(&t)
			j += PanelWidth
		}
	}
}
