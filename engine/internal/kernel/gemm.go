package kernel

import (
	"fmt"
	"math"
)

// Gemm32 is one matrix product C = op(A)*op(B).
//
// op(A) is M x K and op(B) is K x N. A is stored in rows of LDA elements, as M x K or, with TransA,
// as K x M; B in rows of LDB as K x N or, with TransB, N x K; C in rows of LDC. With Acc the first
// chains start from what C holds. A value may be kept and run again; it is not changed by Run.
type Gemm32 struct {
	M, N, K int
	A       []float32
	LDA     int
	TransA  bool
	B       []float32
	LDB     int
	TransB  bool
	C       []float32
	LDC     int
	Acc     bool
	Packed  []float32 // op(B) by PackB32, used instead of B when set
}

// Check says whether the slices hold the matrices they are said to.
func (g *Gemm32) Check() error {
	if g.M < 0 || g.N < 0 || g.K < 0 {
		return fmt.Errorf("product %dx%dx%d: negative size", g.M, g.K, g.N)
	}
	if g.M == 0 || g.N == 0 {
		return nil
	}
	if err := checkMatrix("C", len(g.C), g.M, g.N, g.LDC, false); err != nil {
		return err
	}
	if g.K == 0 {
		return nil
	}
	if err := checkMatrix("A", len(g.A), g.M, g.K, g.LDA, g.TransA); err != nil {
		return err
	}
	if g.Packed != nil {
		if len(g.Packed) < PackedSize(g.K, g.N) {
			return fmt.Errorf("packed B has %d values, needs %d", len(g.Packed), PackedSize(g.K, g.N))
		}
		return nil
	}
	return checkMatrix("B", len(g.B), g.K, g.N, g.LDB, g.TransB)
}

func checkMatrix(name string, have, rows, cols, ld int, trans bool) error {
	if trans {
		rows, cols = cols, rows
	}
	if need := (rows-1)*ld + cols; ld < cols || have < need {
		return fmt.Errorf("matrix %s of %dx%d in rows of %d needs %d values, has %d", name, rows, cols, ld, need, have)
	}
	return nil
}

// ProductBlock is how many terms a chain has at most: the products of a longer sum are added block
// by block.
const ProductBlock = 256

// Run computes the whole product. scratch holds at least Scratch values; its contents do not
// matter.
func (g *Gemm32) Run(scratch []float32) error { return g.RunRange(0, g.M, 0, g.N, scratch) }

// RunRange computes rows [r0,r1) and columns [c0,c1) of C: any split of C into ranges gives the
// same bits as Run. c0 is a multiple of PanelWidth where Packed is set. Ranges running at the same
// time need scratch of their own.
func (g *Gemm32) RunRange(r0, r1, c0, c1 int, scratch []float32) error {
	if err := g.Check(); err != nil {
		return err
	}
	if r0 < 0 || r1 > g.M || c0 < 0 || c1 > g.N || g.Packed != nil && c0%PanelWidth != 0 {
		return fmt.Errorf("range rows %d:%d, columns %d:%d does not fit a %dx%d product", r0, r1, c0, c1, g.M, g.N)
	}
	if need := g.Scratch(); len(scratch) < need {
		return fmt.Errorf("scratch has %d values, needs %d", len(scratch), need)
	}
	if r0 >= r1 || c0 >= c1 {
		return nil
	}
	g.run(r0, r1, c0, c1, scratch)
	return nil
}

// PanelWidth is how many columns a panel of packed B holds.
const PanelWidth = 16

// PackedSize returns how many values PackB32 writes for a K x N operand.
func PackedSize(k, n int) int { return (n + PanelWidth - 1) / PanelWidth * PanelWidth * k }

// PackB32 lays op(B), K x N, out in panels of PanelWidth columns, the last filled up with zeros: a
// weight matrix used by many products is packed once. dst holds PackedSize(k, n) values.
func PackB32(dst, b []float32, ldb, k, n int, trans bool) error {
	if k <= 0 || n <= 0 {
		return nil
	}
	if err := checkMatrix("B", len(b), k, n, ldb, trans); err != nil {
		return err
	}
	if len(dst) < PackedSize(k, n) {
		return fmt.Errorf("packed B has room for %d values, needs %d", len(dst), PackedSize(k, n))
	}
	for j := 0; j < n; j += PanelWidth {
		cols := min(PanelWidth, n-j)
		if trans {
			packTrans(dst[j*k:], b[j*ldb:], ldb, k, cols)
		} else {
			packPanel(dst[j*k:], b[j:], ldb, k, cols)
		}
	}
	return nil
}

// packPanel copies up to PanelWidth columns of k rows.
func packPanel(dst, b []float32, ldb, k, cols int) {
	for i := range k {
		d := dst[i*PanelWidth : (i+1)*PanelWidth]
		s := b[i*ldb : i*ldb+cols]
		if cols == PanelWidth {
			*(*[PanelWidth]float32)(d) = *(*[PanelWidth]float32)(s)
			continue
		}
		clear(d[copy(d, s):])
	}
}

// packTrans copies up to PanelWidth rows of B^T as columns.
func packTrans(dst, b []float32, ldb, k, cols int) {
	Transpose32(dst, PanelWidth, b, ldb, cols, k)
	for i := 0; cols < PanelWidth && i < k; i++ {
		clear(dst[i*PanelWidth+cols : (i+1)*PanelWidth])
	}
}

// at reads op(A) and op(B), for the twin.
func (g *Gemm32) at(i, k int) float32 {
	if g.TransA {
		return g.A[k*g.LDA+i]
	}
	return g.A[i*g.LDA+k]
}

func (g *Gemm32) bt(k, j int) float32 {
	switch {
	case g.Packed != nil:
		p := j / PanelWidth * PanelWidth
		return g.Packed[p*g.K+k*PanelWidth+j-p]
	case g.TransB:
		return g.B[j*g.LDB+k]
	}
	return g.B[k*g.LDB+j]
}

// runGo does what the assembly does. It goes along rows of C, so that the chains of a row advance
// side by side.
func (g *Gemm32) runGo(r0, r1, c0, c1 int) {
	var chains [PanelWidth]float32
	for i := r0; i < r1; i++ {
		for j := c0; j < c1; j += PanelWidth {
			row := g.C[i*g.LDC+j : i*g.LDC+min(j+PanelWidth, c1)]
			if !g.Acc {
				clear(row)
			}
			g.chains(row, i, j, 0)
			for k0 := ProductBlock; k0 < g.K; k0 += ProductBlock {
				clear(chains[:])
				g.chains(chains[:len(row)], i, j, k0)
				for l, x := range chains[:len(row)] {
					row[l] += x
				}
			}
		}
	}
}

// chains goes on with the chains of row i from column c on, over the block of k that starts at k0.
func (g *Gemm32) chains(row []float32, i, c, k0 int) {
	for k := k0; k < min(k0+ProductBlock, g.K); k++ {
		a := g.at(i, k)
		if g.Packed != nil || g.TransB {
			for j := range row {
				row[j] = fma32(a, g.bt(k, c+j), row[j])
			}
			continue
		}
		for j, b := range g.B[k*g.LDB+c : k*g.LDB+c+len(row)] {
			row[j] = fma32(a, b, row[j])
		}
	}
}

// Gemm64 writes op(A)*op(B) to C, or adds it with acc; operands are laid out as in Gemm32. Every
// element is one chain of fused multiply-adds, as there.
func Gemm64(m, n, k int, a []float64, lda int, transA bool, b []float64, ldb int, transB bool, c []float64, ldc int, acc bool) error {
	if m <= 0 || n <= 0 {
		return nil
	}
	if err := checkMatrix("C", len(c), m, n, ldc, false); err != nil {
		return err
	}
	if k > 0 {
		if err := checkMatrix("A", len(a), m, k, lda, transA); err != nil {
			return err
		}
		if err := checkMatrix("B", len(b), k, n, ldb, transB); err != nil {
			return err
		}
	}
	ai, ak := lda, 1
	if transA {
		ai, ak = 1, lda
	}
	bk, bj := ldb, 1
	if transB {
		bk, bj = 1, ldb
	}
	for i := range m {
		row := c[i*ldc : i*ldc+n]
		if !acc {
			clear(row)
		}
		// Column by column within a row of B, so that independent chains overlap.
		for p := range k {
			x := a[i*ai+p*ak]
			for j := range row {
				row[j] = math.FMA(x, b[p*bk+j*bj], row[j])
			}
		}
	}
	return nil
}
