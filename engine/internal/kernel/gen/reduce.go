package main

import "fmt"

// reduction is one way of joining; the identity starts every chain.
type reduction struct {
	name, index string
	join        func(b *body, x, y *node) *node
	identity    uint64
}

var reductions = []reduction{
	{"Sum", "ReduceSum", (*body).Add, 0},
	{"Product", "ReduceProduct", (*body).Mul, 0x3f800000},
	{"Max", "ReduceMax", maximum, 0xff800000},
	{"Min", "ReduceMin", minimum, 0x7f800000},
}

// join writes acc = join(acc, val) on whole registers; temporaries begin at register from.
func (a *asm) join(r reduction, acc, val, from int) {
	b := newBody()
	x, y := b.in(f32), b.in(f32)
	out := r.join(b, x, y)
	s := newAlloc(a, b, []*node{out}, from)
	s.reg[x], s.reg[y] = []int{acc}, []int{val}
	s.left[x], s.left[y] = forever, forever
	s.emit(b, []*node{out})
	a.ins("VMOVAPS %s, %s", s.r(out, 0), a.v(acc))
}

func (a *asm) broadcast(bits uint64, reg int) {
	if a.wide {
		a.ins("VBROADCASTSS %s, %s", a.sym(f32, bits), a.v(reg))
	} else {
		a.ins("VMOVUPS %s, %s", a.sym(f32, bits), a.v(reg))
	}
}

// reduce writes the reduction of one block: func reduceSum(x []float32) float32. Sixteen lanes are
// one register on AVX-512 and two on AVX2.
func (a *asm) reduce(r reduction) {
	name := "reduce" + r.name + a.name
	fmt.Fprintf(&a.w, "// func %s(x []float32) float32\nTEXT ·%s(SB), NOSPLIT, $0-28\n", name, name)
	a.ins("MOVQ x_base+0(FP), SI")
	a.ins("MOVQ x_len+8(FP), CX")
	accs := 16 / a.lanes
	val, from := accs, accs+1
	for i := range accs {
		a.broadcast(r.identity, i)
	}
	a.label("loop")
	a.ins("SUBQ $16, CX")
	a.ins("JLT tail")
	for i := range accs {
		a.ins("VMOVUPS %d(SI), %s", i*32, a.v(val))
		a.join(r, i, val, from)
	}
	a.ins("ADDQ $64, SI")
	a.ins("JMP loop")
	a.label("tail")
	a.ins("ADDQ $16, CX")
	a.ins("JEQ lanes")
	if a.wide {
		a.tailMask()
		a.broadcast(r.identity, val)
		a.ins("VMOVUPS (SI), K1, Z%d", val)
		a.join(r, 0, val, from)
	} else {
		a.tailAVX2(r, val, from)
	}
	a.label("lanes")
	a.lanesTree(r, val, from)
	a.ins("VMOVSS X0, ret+24(FP)")
	a.ins("VZEROUPPER")
	a.ins("RET")
	a.w.WriteString("\n")
}

// tailAVX2 joins up to 15 elements: eight into the first register if there are as many, the rest
// masked. The masked lanes join the identity, which keeps every value but a -0 under a sum, and no
// chain that began at +0 is -0.
func (a *asm) tailAVX2(r reduction, val, from int) {
	a.ins("CMPQ CX, $8")
	a.ins("JLT low")
	a.ins("VMOVUPS (SI), Y%d", val)
	a.join(r, 0, val, from)
	a.ins("SUBQ $8, CX")
	a.ins("JEQ lanes")
	a.ins("ADDQ $32, SI")
	for i, l := range []string{"high", "low"} {
		if l == "low" {
			a.label("low")
		}
		a.tailMask()
		a.broadcast(r.identity, from)
		a.ins("VMASKMOVPS (SI), Y15, Y%d", val)
		a.ins("VBLENDVPS Y15, Y%d, Y%d, Y%d", val, from, val)
		a.join(r, 1-i, val, from)
		if l == "high" {
			a.ins("JMP lanes")
		}
	}
}

// lanesTree joins lanes 8 apart, then 4, 2 and 1, into lane 0 of register 0.
func (a *asm) lanesTree(r reduction, val, from int) {
	if a.wide {
		a.ins("VSHUFF32X4 $0x4e, Z0, Z0, Z%d", val)
		a.join(r, 0, val, from)
		a.ins("VSHUFF32X4 $0xb1, Z0, Z0, Z%d", val)
		a.join(r, 0, val, from)
	} else {
		a.join(r, 0, 1, from)
		a.ins("VPERM2F128 $0x01, Y0, Y0, Y%d", val)
		a.join(r, 0, val, from)
	}
	for _, imm := range []int{0x4e, 0xb1} {
		a.ins("VPERMILPS $0x%02x, %s, %s", imm, a.v(0), a.v(val))
		a.join(r, 0, val, from)
	}
}

// columns writes the join of rows, in order from the identity, into dst, one row long:
//
//	func columnsSum(dst []float32, x *float32, rows int)
func (a *asm) columns(r reduction) {
	name := "columns" + r.name + a.name
	fmt.Fprintf(&a.w, "// func %s(dst []float32, x *float32, rows int)\nTEXT ·%s(SB), NOSPLIT, $0-40\n", name, name)
	a.ins("MOVQ dst_base+0(FP), DI")
	a.ins("MOVQ dst_len+8(FP), CX")
	a.ins("MOVQ x+24(FP), SI")
	a.ins("MOVQ rows+32(FP), R8")
	a.ins("LEAQ (CX*4), R9")
	const wide = 4
	a.stripe(r, wide, "four", "one")
	a.stripe(r, 1, "one", "tail")
	a.label("tail")
	a.ins("TESTQ CX, CX")
	a.ins("JEQ done")
	a.tailMask()
	a.rowsLoop(r, 1, "tail", true)
	if a.wide {
		a.ins("VMOVUPS Z0, K1, (DI)")
	} else {
		a.ins("VMASKMOVPS Y0, Y15, (DI)")
	}
	a.label("done")
	a.ins("VZEROUPPER")
	a.ins("RET")
	a.w.WriteString("\n")
}

// stripe joins whole vectors of columns, n at a time, until fewer are left.
func (a *asm) stripe(r reduction, n int, label, after string) {
	a.label(label)
	a.ins("CMPQ CX, $%d", n*a.lanes)
	a.ins("JLT %s", after)
	a.rowsLoop(r, n, label, false)
	for v := range n {
		a.ins("VMOVUPS %s, %d(DI)", a.v(v), v*a.lanes*4)
	}
	a.ins("ADDQ $%d, DI", n*a.lanes*4)
	a.ins("ADDQ $%d, SI", n*a.lanes*4)
	a.ins("SUBQ $%d, CX", n*a.lanes)
	a.ins("JMP %s", label)
}

func (a *asm) rowsLoop(r reduction, n int, label string, masked bool) {
	for v := range n {
		a.broadcast(r.identity, v)
	}
	a.ins("MOVQ SI, BX")
	a.ins("MOVQ R8, AX")
	a.label(label + "Rows")
	for v := range n {
		switch {
		case !masked:
			a.ins("VMOVUPS %d(BX), %s", v*a.lanes*4, a.v(n+v))
		case a.wide:
			a.ins("VMOVUPS.Z (BX), K1, %s", a.v(n+v))
		default:
			a.ins("VMASKMOVPS (BX), Y15, %s", a.v(n+v))
		}
		a.join(r, v, n+v, 2*n)
	}
	a.ins("ADDQ R9, BX")
	a.ins("DECQ AX")
	a.ins("JNE %sRows", label)
}
