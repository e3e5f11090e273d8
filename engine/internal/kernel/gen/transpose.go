package main

import "fmt"

// transpose writes the transposition of a strip of up to one vector of rows, block by block along
// its columns:
//
//	func transpose(dst *float32, ldd uintptr, src *float32, lds uintptr, rows, cols int)
//
// Strides are in bytes. Rows and columns a block does not have are neither read nor written.
func (a *asm) transpose() {
	n := a.lanes
	fmt.Fprintf(&a.w, "// func transpose%s(dst *float32, ldd uintptr, src *float32, lds uintptr, rows, cols int)\n", a.name)
	fmt.Fprintf(&a.w, "TEXT ·transpose%s(SB), NOSPLIT, $0-48\n", a.name)
	for i, r := range []string{"DI dst", "R8 ldd", "SI src", "R9 lds", "R10 rows", "R11 cols"} {
		var reg, name string
		fmt.Sscan(r, &reg, &name)
		a.ins("MOVQ %s+%d(FP), %s", name, 8*i, reg)
	}
	if a.wide {
		a.laneMask("R10", 2)
	}
	a.label("block")
	a.ins("CMPQ R11, $0")
	a.ins("JLE done")
	a.ins("MOVQ R11, R12")
	a.ins("MOVQ $%d, AX", n)
	a.ins("CMPQ R12, AX")
	a.ins("CMOVQGT AX, R12")
	// Load row r into register r.
	if a.wide {
		a.laneMask("R12", 1)
	} else {
		a.laneMaskAVX2("R12", 8)
	}
	a.ins("MOVQ SI, BX")
	for r := range n {
		a.ins("CMPQ R10, $%d", r)
		a.ins("JLE loaded")
		if a.wide {
			a.ins("VMOVUPS.Z (BX), K1, Z%d", r)
		} else {
			a.ins("VMASKMOVPS (BX), Y8, Y%d", r)
		}
		a.ins("ADDQ R9, BX")
	}
	a.label("loaded")
	a.shuffles()
	first := 0
	if !a.wide {
		first = 8
		a.laneMaskAVX2("R10", 0)
	}
	for c := range n {
		if a.wide {
			a.ins("VMOVUPS Z%d, K2, (DI)", first+c)
		} else {
			a.ins("VMASKMOVPS Y%d, Y0, (DI)", first+c)
		}
		a.ins("ADDQ R8, DI")
		if c+1 < n {
			a.ins("CMPQ R12, $%d", c+1)
			a.ins("JLE next")
		}
	}
	a.label("next")
	a.ins("ADDQ $%d, SI", 4*n)
	a.ins("SUBQ $%d, R11", n)
	a.ins("JMP block")
	a.label("done")
	a.ins("VZEROUPPER")
	a.ins("RET")
	a.w.WriteString("\n")
}

// laneMask sets mask register k to the lowest lanes, as many as reg says.
func (a *asm) laneMask(reg string, k int) {
	a.ins("MOVQ %s, CX", reg)
	a.ins("MOVL $1, AX")
	a.ins("SHLL CX, AX")
	a.ins("DECL AX")
	a.ins("KMOVW AX, K%d", k)
}

func (a *asm) laneMaskAVX2(reg string, y int) {
	a.maskTable()
	a.ins("MOVQ %s, CX", reg)
	a.ins("NEGQ CX")
	a.ins("LEAQ tailmask<>(SB), AX")
	a.ins("VMOVUPS 32(AX)(CX*4), Y%d", y)
}

// shuffles turns rows into columns: pairs of elements, pairs of pairs, then 128-bit lanes.
// Registers it was not given rows in hold rubbish, which ends up in lanes that are not stored.
func (a *asm) shuffles() {
	n := a.lanes
	for i := 0; i < n; i += 2 {
		a.ins("VUNPCKLPS %s, %s, %s", a.v(i+1), a.v(i), a.v(n+i))
		a.ins("VUNPCKHPS %s, %s, %s", a.v(i+1), a.v(i), a.v(n+i+1))
	}
	for g := 0; g < n; g += 4 {
		for h := range 2 {
			a.ins("VUNPCKLPD %s, %s, %s", a.v(n+g+h+2), a.v(n+g+h), a.v(g+2*h))
			a.ins("VUNPCKHPD %s, %s, %s", a.v(n+g+h+2), a.v(n+g+h), a.v(g+2*h+1))
		}
	}
	for j := range 4 {
		if !a.wide {
			a.ins("VPERM2F128 $0x20, Y%d, Y%d, Y%d", 4+j, j, 8+j)
			a.ins("VPERM2F128 $0x31, Y%d, Y%d, Y%d", 4+j, j, 12+j)
			continue
		}
		for h := range 2 {
			lo, hi := 8*h+j, 8*h+4+j
			a.ins("VSHUFF32X4 $0x88, Z%d, Z%d, Z%d", hi, lo, 16+4*j+2*h)
			a.ins("VSHUFF32X4 $0xdd, Z%d, Z%d, Z%d", hi, lo, 16+4*j+2*h+1)
		}
	}
	if !a.wide {
		return
	}
	for j := range 4 {
		p, q := 16+4*j, 16+4*j+2
		a.ins("VSHUFF32X4 $0x88, Z%d, Z%d, Z%d", q, p, j)
		a.ins("VSHUFF32X4 $0x88, Z%d, Z%d, Z%d", q+1, p+1, 4+j)
		a.ins("VSHUFF32X4 $0xdd, Z%d, Z%d, Z%d", q, p, 8+j)
		a.ins("VSHUFF32X4 $0xdd, Z%d, Z%d, Z%d", q+1, p+1, 12+j)
	}
}
