package main

import "fmt"

// copyRows writes func copyRows(dst *float32, ldd uintptr, src *float32, lds uintptr, rows, n int):
// rows of n, at least one of either, between two layouts. Strides are in bytes.
func (a *asm) copyRows() {
	fmt.Fprintf(&a.w, "// func copyRows%s(dst *float32, ldd uintptr, src *float32, lds uintptr, rows, n int)\n", a.name)
	fmt.Fprintf(&a.w, "TEXT ·copyRows%s(SB), NOSPLIT, $0-48\n", a.name)
	a.ins("MOVQ dst+0(FP), DI")
	a.ins("MOVQ ldd+8(FP), R8")
	a.ins("MOVQ src+16(FP), SI")
	a.ins("MOVQ lds+24(FP), R9")
	a.ins("MOVQ rows+32(FP), R10")
	a.ins("MOVQ n+40(FP), R11")
	a.ins("MOVQ R11, CX")
	a.ins("ANDQ $%d, CX", a.lanes-1)
	a.tailMask()
	a.ins("SUBQ CX, R11")
	a.ins("SHLQ $2, R11") // bytes of whole vectors
	a.label("row")
	a.ins("XORQ BX, BX")
	a.ins("CMPQ BX, R11")
	a.ins("JGE tail")
	a.label("vector")
	a.ins("VMOVUPS (SI)(BX*1), %s", a.v(0))
	a.ins("VMOVUPS %s, (DI)(BX*1)", a.v(0))
	a.ins("ADDQ $%d, BX", 4*a.lanes)
	a.ins("CMPQ BX, R11")
	a.ins("JLT vector")
	a.label("tail")
	a.ins("TESTQ CX, CX")
	a.ins("JEQ next")
	a.maskedRow()
	a.label("next")
	a.ins("ADDQ R8, DI")
	a.ins("ADDQ R9, SI")
	a.ins("DECQ R10")
	a.ins("JNE row")
	a.ins("VZEROUPPER")
	a.ins("RET")
	a.w.WriteString("\n")
}

func (a *asm) maskedRow() {
	if a.wide {
		a.ins("VMOVUPS.Z (SI)(BX*1), K1, Z0")
		a.ins("VMOVUPS Z0, K1, (DI)(BX*1)")
		return
	}
	a.ins("VMASKMOVPS (SI)(BX*1), Y15, Y0")
	a.ins("VMASKMOVPS Y0, Y15, (DI)(BX*1)")
}
