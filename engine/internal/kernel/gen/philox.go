package main

import "fmt"

// philox writes func philox(dst *uint32, blocks int, c0, c1, c2, c3, k0, k1 uint32): a lane
// enciphers one block. blocks is a multiple of the lanes, and c0 must not overflow on the way.
//
// Registers: 0-3 the counter, 4-7 products, 8 and 9 the multipliers, 10 the running c0, 11 the step
// of the counter, 12-14 its other words; keys are broadcast anew for every round from general
// registers.
func (a *asm) philox() {
	n := a.lanes
	fmt.Fprintf(&a.w, "// func philox%s(dst *uint32, blocks int, c0, c1, c2, c3, k0, k1 uint32)\n", a.name)
	fmt.Fprintf(&a.w, "TEXT ·philox%s(SB), NOSPLIT, $0-40\n", a.name)
	a.ins("MOVQ dst+0(FP), DI")
	a.ins("MOVQ blocks+8(FP), CX")
	a.ins("VBROADCASTSS c0+16(FP), %s", a.v(10))
	a.ins("VPADDD %s, %s, %s", a.iota(), a.v(10), a.v(10))
	for i := range 3 {
		a.ins("VBROADCASTSS c%d+%d(FP), %s", i+1, 20+4*i, a.v(12+i))
	}
	a.broadcast(0xd2511f53, 8)
	a.broadcast(0xcd9e8d57, 9)
	a.broadcast(uint64(n), 11)
	if a.wide {
		a.ins("MOVL $0xaaaa, AX")
		a.ins("KMOVW AX, K1")
	}
	a.label("loop")
	a.ins("VMOVAPS %s, %s", a.v(10), a.v(0))
	for i := range 3 {
		a.ins("VMOVAPS %s, %s", a.v(12+i), a.v(1+i))
	}
	a.ins("MOVL k0+32(FP), R8")
	a.ins("MOVL k1+36(FP), R9")
	a.ins("MOVL $10, BX")
	a.label("round")
	a.philoxRound()
	a.ins("ADDL $0x9e3779b9, R8")
	a.ins("ADDL $0xbb67ae85, R9")
	a.ins("DECL BX")
	a.ins("JNE round")
	a.philoxStore()
	a.ins("VPADDD %s, %s, %s", a.v(11), a.v(10), a.v(10))
	a.ins("ADDQ $%d, DI", 16*n)
	a.ins("SUBQ $%d, CX", n)
	a.ins("JGT loop")
	a.ins("VZEROUPPER")
	a.ins("RET")
	a.w.WriteString("\n")
}

func (a *asm) iota() string {
	if a.consts["iota"] == "" {
		d := ""
		for i := range a.lanes {
			d += fmt.Sprintf("DATA iota<>+%d(SB)/4, $%d\n", 4*i, i)
		}
		a.consts["iota"] = d + fmt.Sprintf("GLOBL iota<>(SB), RODATA|NOPTR, $%d\n", 4*a.lanes)
	}
	return "iota<>(SB)"
}

// wideMul leaves the high words of x*m in register hi and the low words in x; t is scratch.
func (a *asm) wideMul(x, m, hi, t int) {
	a.ins("VPSRLQ $32, %s, %s", a.v(x), a.v(t))
	a.ins("VPMULUDQ %s, %s, %s", a.v(m), a.v(x), a.v(x)) // even lanes
	a.ins("VPMULUDQ %s, %s, %s", a.v(m), a.v(t), a.v(t)) // odd lanes
	a.ins("VPSRLQ $32, %s, %s", a.v(x), a.v(hi))
	if a.wide {
		a.ins("VMOVDQA32 Z%d, K1, Z%d", t, hi)
		a.ins("VPSLLQ $32, Z%d, Z%d", t, t)
		a.ins("VMOVDQA32 Z%d, K1, Z%d", t, x)
		return
	}
	a.ins("VPBLENDD $0xaa, Y%d, Y%d, Y%d", t, hi, hi)
	a.ins("VPSLLQ $32, Y%d, Y%d", t, t)
	a.ins("VPBLENDD $0xaa, Y%d, Y%d, Y%d", t, x, x)
}

func (a *asm) xor(x, y, d int) {
	mn := "VPXOR"
	if a.wide {
		mn = "VPXORD"
	}
	a.ins("%s %s, %s, %s", mn, a.v(x), a.v(y), a.v(d))
}

func (a *asm) philoxRound() {
	a.wideMul(0, 8, 4, 6)
	a.wideMul(2, 9, 5, 6)
	for i, key := range []string{"R8", "R9"} {
		if a.wide {
			a.ins("VPBROADCASTD %s, Z%d", key, 6+i)
		} else {
			a.ins("VMOVD %s, X%d", key, 6+i)
			a.ins("VPBROADCASTD X%d, Y%d", 6+i, 6+i)
		}
	}
	a.xor(5, 1, 1) // hi1 ^ c1 ^ k0
	a.xor(6, 1, 1)
	a.xor(4, 3, 3) // hi0 ^ c3 ^ k1
	a.xor(7, 3, 3)
	// (c0, c1, c2, c3) = (hi1^c1^k0, lo1, hi0^c3^k1, lo0)
	a.ins("VMOVAPS %s, %s", a.v(0), a.v(6))
	a.ins("VMOVAPS %s, %s", a.v(1), a.v(0))
	a.ins("VMOVAPS %s, %s", a.v(2), a.v(1))
	a.ins("VMOVAPS %s, %s", a.v(3), a.v(2))
	a.ins("VMOVAPS %s, %s", a.v(6), a.v(3))
}

// philoxStore turns four vectors of words into blocks of four words.
func (a *asm) philoxStore() {
	a.ins("VPUNPCKLDQ %s, %s, %s", a.v(1), a.v(0), a.v(4))
	a.ins("VPUNPCKHDQ %s, %s, %s", a.v(1), a.v(0), a.v(5))
	a.ins("VPUNPCKLDQ %s, %s, %s", a.v(3), a.v(2), a.v(6))
	a.ins("VPUNPCKHDQ %s, %s, %s", a.v(3), a.v(2), a.v(7))
	a.ins("VPUNPCKLQDQ %s, %s, %s", a.v(6), a.v(4), a.v(0)) // lane L: block 4L
	a.ins("VPUNPCKHQDQ %s, %s, %s", a.v(6), a.v(4), a.v(1))
	a.ins("VPUNPCKLQDQ %s, %s, %s", a.v(7), a.v(5), a.v(2))
	a.ins("VPUNPCKHQDQ %s, %s, %s", a.v(7), a.v(5), a.v(3))
	if !a.wide {
		for half, imm := range []int{0x20, 0x31} {
			for p := range 2 {
				a.ins("VPERM2I128 $0x%02x, Y%d, Y%d, Y4", imm, 2*p+1, 2*p)
				a.ins("VMOVDQU Y4, %d(DI)", 64*half+32*p)
			}
		}
		return
	}
	for p := range 2 {
		a.ins("VSHUFI32X4 $0x88, Z%d, Z%d, Z%d", 2*p+1, 2*p, 4+2*p) // blocks 4L+2p and +1, L even
		a.ins("VSHUFI32X4 $0xdd, Z%d, Z%d, Z%d", 2*p+1, 2*p, 5+2*p)
	}
	// Register 4 holds lanes b0 b8 b1 b9, 6 holds b2 b10 b3 b11, 5 and 7 the same of L odd.
	for half, imm := range []int{0x88, 0xdd} {
		for odd := range 2 {
			a.ins("VSHUFI32X4 $0x%02x, Z%d, Z%d, Z0", imm, 6+odd, 4+odd)
			a.ins("VMOVDQU32 Z0, %d(DI)", 128*half+64*odd)
		}
	}
}
