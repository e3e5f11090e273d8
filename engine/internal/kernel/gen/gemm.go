package main

import "fmt"

// Offsets in the tile struct of gemm_amd64.go.
const (
	tileA, tileARow, tileAK = 0, 8, 16
	tileB, tileBK, tileBV   = 24, 32, 40
	tileC, tileLDC          = 48, 56
	tileK, tileRows         = 64, 72
	tileMask, tileAcc       = 80, 84
)

// Values of tile.acc, as in gemm_amd64.go: a chain starts from what C holds, or is added to it when
// it ends.
const accFrom, accOnto = 1, 2

// gemmKernel is a family of register tiles over the same columns, for every number of rows up to
// rows.
type gemmKernel struct {
	name   string
	panels int
	rows   int
	narrow bool // eight columns in half a register
}

// gemmKernels gives the tiles of an instruction set; AVX2 has no masks, so its last panel must be
// whole.
func gemmKernels(i *isa) []gemmKernel {
	if i.wide {
		return []gemmKernel{{"gemm4", 4, 6, false}, {"gemm2", 2, 12, false}, {"gemm1", 1, 12, false}, {"gemmHalf", 1, 12, true}}
	}
	return []gemmKernel{{"gemm4", 4, 1, false}, {"gemm1", 1, 6, false}}
}

// gemm is the state of writing one kernel. Rows of A are addressed from three bases four rows
// apart.
type gemm struct {
	*asm
	gemmKernel
	vecs int // registers across
}

func (a *asm) gemm(k gemmKernel) {
	g := &gemm{a, k, k.panels}
	if !a.wide {
		g.vecs *= 2
	}
	fmt.Fprintf(&a.w, "// func %s%s(t *tile)\nTEXT ·%s%s(SB), NOSPLIT, $0-8\n", k.name, a.name, k.name, a.name)
	a.ins("MOVQ t+0(FP), DX")
	a.ins("MOVQ %d(DX), R8", tileARow)
	a.ins("LEAQ (R8)(R8*2), R9")
	a.ins("MOVQ %d(DX), R14", tileAK)
	a.ins("MOVQ %d(DX), R11", tileBV)
	a.ins("LEAQ (R11)(R11*2), R12")
	a.ins("MOVQ %d(DX), R13", tileBK)
	if a.wide {
		a.ins("KMOVW %d(DX), K1", tileMask)
	}
	a.label("next")
	a.ins("MOVQ %d(DX), CX", tileRows)
	a.ins("CMPQ CX, $%d", k.rows)
	a.ins("JGE rows%d", k.rows)
	for r := k.rows - 1; r > 0; r-- {
		a.ins("CMPQ CX, $%d", r)
		a.ins("JEQ rows%d", r)
	}
	a.ins("VZEROUPPER")
	a.ins("RET")
	for r := k.rows; r > 0; r-- {
		g.tile(r)
	}
	a.w.WriteString("\n")
}

func (g *gemm) acc(r, v int) string { return g.vec(r*g.vecs + v) }

func (g *gemm) vec(r int) string {
	if g.narrow {
		return g.half(r)
	}
	return g.v(r)
}

// bAt addresses vector v of the current row of B.
func (g *gemm) bAt(v int) string {
	p, o := v, ""
	if !g.wide {
		p = v / 2
		if v%2 != 0 {
			o = "32"
		}
	}
	return o + [...]string{"(R10)", "(R10)(R11*1)", "(R10)(R11*2)", "(R10)(R12*1)"}[p]
}

func (g *gemm) aAt(r int) string {
	base := [...]string{"AX", "BX", "SI"}[r/4]
	return fmt.Sprintf([...]string{"(%s)", "(%s)(R8*1)", "(%s)(R8*2)", "(%s)(R9*1)"}[r%4], base)
}

// tile writes the code for r rows: start the chains, advance them over k, store.
func (g *gemm) tile(r int) {
	g.label(fmt.Sprintf("rows%d", r))
	g.ins("MOVQ %d(DX), AX", tileA)
	if r > 4 {
		g.ins("LEAQ (AX)(R8*4), BX")
	}
	if r > 8 {
		g.ins("LEAQ (BX)(R8*4), SI")
	}
	g.ins("MOVQ %d(DX), R10", tileB)
	g.ins("MOVQ %d(DX), DI", tileC)
	g.ins("MOVQ %d(DX), CX", tileK)
	g.ins("CMPL %d(DX), $%d", tileAcc, accFrom)
	g.ins("JNE zero%d", r)
	g.eachC(r, func(at, reg string, last bool) {
		if last && g.wide {
			g.ins("VMOVUPS.Z %s, K1, %s", at, reg)
		} else {
			g.ins("VMOVUPS %s, %s", at, reg)
		}
	})
	g.ins("MOVQ %d(DX), DI", tileC)
	g.ins("JMP start%d", r)
	g.label(fmt.Sprintf("zero%d", r))
	for i := range r * g.vecs {
		if g.wide {
			g.ins("VPXORD %s, %s, %s", g.vec(i), g.vec(i), g.vec(i))
		} else {
			g.ins("VXORPS %s, %s, %s", g.vec(i), g.vec(i), g.vec(i))
		}
	}
	g.label(fmt.Sprintf("start%d", r))
	g.ins("TESTQ CX, CX")
	g.ins("JEQ store%d", r)
	g.w.WriteString("\tPCALIGN $32\n")
	g.label(fmt.Sprintf("k%d", r))
	g.advance(r)
	g.ins("DECQ CX")
	g.ins("JNE k%d", r)
	g.label(fmt.Sprintf("store%d", r))
	g.ins("CMPL %d(DX), $%d", tileAcc, accOnto)
	g.ins("JNE put%d", r)
	g.eachC(r, func(at, reg string, last bool) {
		if last && g.wide {
			g.ins("VADDPS %s, %s, K1, %s", at, reg, reg)
		} else {
			g.ins("VADDPS %s, %s, %s", at, reg, reg)
		}
	})
	g.ins("MOVQ %d(DX), DI", tileC)
	g.label(fmt.Sprintf("put%d", r))
	g.eachC(r, func(at, reg string, last bool) {
		if last && g.wide {
			g.ins("VMOVUPS %s, K1, %s", reg, at)
		} else {
			g.ins("VMOVUPS %s, %s", reg, at)
		}
	})
	g.ins("MOVQ DI, %d(DX)", tileC)
	g.ins("IMUL3Q $%d, R8, AX", r)
	g.ins("ADDQ AX, %d(DX)", tileA)
	g.ins("SUBQ $%d, %d(DX)", r, tileRows)
	g.ins("JMP next")
}

// eachC walks the rows of the tile in C, leaving DI at the row after.
func (g *gemm) eachC(r int, f func(at, reg string, last bool)) {
	width := 64
	if !g.wide {
		width = 32
	}
	for i := range r {
		for v := range g.vecs {
			f(fmt.Sprintf("%d(DI)", v*width), g.acc(i, v), v == g.vecs-1)
		}
		g.ins("ADDQ %d(DX), DI", tileLDC)
	}
}

// advance multiplies one column of A with one row of B into the accumulators.
func (g *gemm) advance(r int) {
	next := r * g.vecs
	if r == 1 && !g.wide {
		// One row uses every element of B once: straight from memory.
		g.ins("VBROADCASTSS %s, %s", g.aAt(0), g.vec(next))
		for v := range g.vecs {
			g.ins("VFMADD231PS %s, %s, %s", g.bAt(v), g.vec(next), g.acc(0, v))
		}
	} else {
		for v := range g.vecs {
			if v == g.vecs-1 && g.wide {
				g.ins("VMOVUPS.Z %s, K1, %s", g.bAt(v), g.vec(next+v))
			} else {
				g.ins("VMOVUPS %s, %s", g.bAt(v), g.vec(next+v))
			}
		}
		for i := range r {
			if g.vecs == 1 {
				g.ins("VFMADD231PS.BCST %s, %s, %s", g.aAt(i), g.vec(next), g.acc(i, 0))
				continue
			}
			b := g.vec(next + g.vecs)
			if free := 32 - next - g.vecs; g.wide && free > 1 {
				b = g.vec(next + g.vecs + i%free) // spread, so that broadcasts run ahead
			}
			g.ins("VBROADCASTSS %s, %s", g.aAt(i), b)
			for v := range g.vecs {
				g.ins("VFMADD231PS %s, %s, %s", g.vec(next+v), b, g.acc(i, v))
			}
		}
	}
	g.ins("ADDQ R14, AX")
	if r > 4 {
		g.ins("ADDQ R14, BX")
	}
	if r > 8 {
		g.ins("ADDQ R14, SI")
	}
	g.ins("ADDQ R13, R10")
}
