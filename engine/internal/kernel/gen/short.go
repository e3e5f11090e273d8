package main

import "fmt"

// Kernels over rows no longer than a vector: a vector's worth of rows is transposed in registers,
// so that each register holds one column and lanes are rows.

// shortRows writes the loop over blocks of rows; f gets the columns in registers first, first+1,
// ... and leaves its result, one value per row, in the register it returns. On entry: DI dst, SI
// rows, R10 how many, R12 columns, which the caller bounds by the lane count; R9 becomes the row
// stride.
func (a *asm) shortRows(f func(first int) int) {
	n := a.lanes
	a.ins("LEAQ (R12*4), R9")
	if a.wide {
		a.laneMask("R12", 1)
	}
	a.label("block")
	a.ins("CMPQ R10, $0")
	a.ins("JLE done")
	if !a.wide {
		a.laneMaskAVX2("R12", 8)
	}
	for r := range n {
		if r > 0 {
			a.ins("CMPQ R10, $%d", r)
			a.ins("JLE loaded")
		}
		if a.wide {
			a.ins("VMOVUPS.Z (SI), K1, Z%d", r)
		} else {
			a.ins("VMASKMOVPS (SI), Y8, Y%d", r)
		}
		a.ins("ADDQ R9, SI")
	}
	a.label("loaded")
	a.shuffles()
	first := 0
	if !a.wide {
		first = 8
	}
	res := f(first)
	a.ins("CMPQ R10, $%d", n)
	a.ins("JLT part")
	a.ins("VMOVUPS %s, (DI)", a.v(res))
	a.ins("ADDQ $%d, DI", 4*n)
	a.ins("SUBQ $%d, R10", n)
	a.ins("JMP block")
	a.label("part")
	if a.wide {
		a.laneMask("R10", 2)
		a.ins("VMOVUPS %s, K2, (DI)", a.v(res))
	} else {
		other := 7 - res%8
		a.laneMaskAVX2("R10", other)
		a.ins("VMASKMOVPS %s, Y%d, (DI)", a.v(res), other)
	}
	a.label("done")
	a.ins("VZEROUPPER")
	a.ins("RET")
	a.w.WriteString("\n")
}

// reduceShort writes func reduceShortSum(dst, x []float32, n int): one result per row of n. The
// tree over lanes is that of reduce, without the lanes that have no element; the identity, joined
// last, turns -0 into +0 under a sum.
func (a *asm) reduceShort(r reduction) {
	name := "reduceShort" + r.name + a.name
	fmt.Fprintf(&a.w, "// func %s(dst, x []float32, n int)\nTEXT ·%s(SB), NOSPLIT, $0-56\n", name, name)
	a.ins("MOVQ dst_base+0(FP), DI")
	a.ins("MOVQ dst_len+8(FP), R10")
	a.ins("MOVQ x_base+24(FP), SI")
	a.ins("MOVQ n+48(FP), R12")
	a.pairs(r)
	a.shortRows(func(first int) int {
		for s := a.lanes / 2; s > 0; s /= 2 {
			for j := range s {
				a.ins("CMPQ R12, $%d", j+s)
				a.ins("JLE level%d", s)
				a.joinInto(r, first+j, first+j+s)
			}
			a.label(fmt.Sprintf("level%d", s))
		}
		id := 16 // columns are in 0-15, rubbish above
		if !a.wide {
			id = 0
		}
		a.broadcast(r.identity, id)
		a.joinInto(r, first, id)
		return first
	})
}

// joinInto joins on registers, with temporaries from those that hold no column.
func (a *asm) joinInto(r reduction, acc, val int) {
	b := newBody()
	x, y := b.in(f32), b.in(f32)
	out := r.join(b, x, y)
	s := newAlloc(a, b, []*node{out}, a.regs)
	free := []int{1, 2, 3, 4, 5, 6, 7}
	if a.wide {
		free = []int{17, 18, 19, 20, 21, 22, 23}
	}
	s.free = free
	s.reg[x], s.reg[y] = []int{acc}, []int{val}
	s.left[x], s.left[y] = forever, forever
	s.emit(b, []*node{out})
	a.ins("VMOVAPS %s, %s", s.r(out, 0), a.v(acc))
}

// pairs writes the quick way for rows of two: even and odd elements of two vectors, joined, and put
// back in order.
func (a *asm) pairs(r reduction) {
	n := a.lanes
	a.ins("CMPQ R12, $2")
	a.ins("JNE general")
	order := ""
	if a.wide {
		order = a.pairOrder()
		a.ins("VMOVDQU64 %s, Z24", order)
	}
	p, q := 8, 9 // registers for the columns, above those joinInto takes on AVX2
	if a.wide {
		p, q = 0, 1
	}
	id := 10
	a.broadcast(r.identity, id)
	a.label("pair")
	a.ins("CMPQ R10, $%d", n)
	a.ins("JLT general")
	a.ins("VMOVUPS (SI), %s", a.v(11))
	a.ins("VMOVUPS %d(SI), %s", 4*n, a.v(12))
	a.ins("VSHUFPS $0x88, %s, %s, %s", a.v(12), a.v(11), a.v(p))
	a.ins("VSHUFPS $0xdd, %s, %s, %s", a.v(12), a.v(11), a.v(q))
	a.joinInto(r, p, q)
	a.joinInto(r, p, id)
	if a.wide {
		a.ins("VPERMQ Z%d, Z24, Z%d", p, p)
	} else {
		a.ins("VPERMQ $0xd8, Y%d, Y%d", p, p)
	}
	a.ins("VMOVUPS %s, (DI)", a.v(p))
	a.ins("ADDQ $%d, SI", 8*n)
	a.ins("ADDQ $%d, DI", 4*n)
	a.ins("SUBQ $%d, R10", n)
	a.ins("JMP pair")
	a.label("general")
}

// pairOrder returns the permutation of quadwords that undoes VSHUFPS of two vectors.
func (a *asm) pairOrder() string {
	if a.consts["pairorder"] == "" {
		d := ""
		for i, q := range []int{0, 2, 4, 6, 1, 3, 5, 7} {
			d += fmt.Sprintf("DATA pairorder<>+%d(SB)/8, $%d\n", 8*i, q)
		}
		a.consts["pairorder"] = d + "GLOBL pairorder<>(SB), RODATA|NOPTR, $64\n"
	}
	return "pairorder<>(SB)"
}

// argShort writes func argMaxShort(dst []int32, x []float32, n int): the first largest (or
// smallest) of every row, a NaN beating all.
func (a *asm) argShort(name string, predicate int) {
	name = "arg" + name + "Short" + a.name
	fmt.Fprintf(&a.w, "// func %s(dst []int32, x []float32, n int)\nTEXT ·%s(SB), NOSPLIT, $0-56\n", name, name)
	a.ins("MOVQ dst_base+0(FP), DI")
	a.ins("MOVQ dst_len+8(FP), R10")
	a.ins("MOVQ x_base+24(FP), SI")
	a.ins("MOVQ n+48(FP), R12")
	a.shortRows(func(first int) int {
		idx, j := 0, 1
		if a.wide {
			idx, j = 16, 17
			a.ins("VPXORD Z%d, Z%d, Z%d", idx, idx, idx)
		} else {
			a.ins("VPXOR Y%d, Y%d, Y%d", idx, idx, idx)
		}
		for c := 1; c < a.lanes; c++ {
			a.ins("CMPQ R12, $%d", c)
			a.ins("JLE chosen")
			a.broadcast(uint64(c), j)
			if a.wide {
				a.ins("VCMPPS $7, Z%d, Z%d, K3", first, first) // best is not NaN
				a.ins("VCMPPS $%d, Z%d, Z%d, K3, K4", predicate, first, first+c)
				a.ins("VMOVAPS Z%d, K4, Z%d", first+c, first)
				a.ins("VMOVAPS Z%d, K4, Z%d", j, idx)
				continue
			}
			a.ins("VCMPPS $7, Y%d, Y%d, Y2", first, first)
			a.ins("VCMPPS $%d, Y%d, Y%d, Y3", predicate, first, first+c)
			a.ins("VANDPS Y2, Y3, Y3")
			a.ins("VBLENDVPS Y3, Y%d, Y%d, Y%d", first+c, first, first)
			a.ins("VBLENDVPS Y3, Y%d, Y%d, Y%d", j, idx, idx)
		}
		a.label("chosen")
		return idx
	})
}
