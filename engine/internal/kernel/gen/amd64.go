package main

import (
	"fmt"
	"strings"
)

// isa describes how straight-line code differs between the two instruction sets.
type isa struct {
	name  string // suffix of function names
	wide  bool   // AVX-512
	lanes int
	regs  int
}

var (
	avx2   = &isa{name: "AVX2", lanes: 8, regs: 15} // Y15 keeps the tail mask
	avx512 = &isa{name: "AVX512", wide: true, lanes: 16, regs: 32}
)

// asm writes the text of one assembly file.
type asm struct {
	*isa
	w      strings.Builder
	consts map[string]string // symbol to DATA lines
	held   map[constant]int  // constants kept in registers by the function being written
	labels int
}

// constant identifies a constant by its bits and their number.
type constant struct {
	wide bool
	bits uint64
}

func constantOf(n *node) constant { return constant{n.kind == f64, n.imm} }

func newAsm(i *isa) *asm { return &asm{isa: i, consts: map[string]string{}} }

func (a *asm) ins(format string, args ...any) { fmt.Fprintf(&a.w, "\t"+format+"\n", args...) }
func (a *asm) label(l string)                 { fmt.Fprintf(&a.w, "%s:\n", l) }

func (a *asm) v(r int) string {
	if a.wide {
		return fmt.Sprintf("Z%d", r)
	}
	return fmt.Sprintf("Y%d", r)
}

// half names the register that holds half of a vector's bytes.
func (a *asm) half(r int) string {
	if a.wide {
		return fmt.Sprintf("Y%d", r)
	}
	return fmt.Sprintf("X%d", r)
}

// sym gives a constant's symbol, a full AVX2 vector long; AVX-512 broadcasts its first element.
func (a *asm) sym(k kind, bits uint64) string {
	name, size := fmt.Sprintf("f%08x", bits), 4
	if k == f64 {
		name, size = fmt.Sprintf("d%016x", bits), 8
	}
	if a.consts[name] == "" {
		var d strings.Builder
		for o := 0; o < 32; o += size {
			fmt.Fprintf(&d, "DATA %s<>+%d(SB)/%d, $0x%0*x\n", name, o, size, 2*size, bits)
		}
		fmt.Fprintf(&d, "GLOBL %s<>(SB), RODATA|NOPTR, $32\n", name)
		a.consts[name] = d.String()
	}
	return name + "<>(SB)"
}

func (a *asm) dataSection() string {
	var w strings.Builder
	for _, n := range sortedKeys(a.consts) {
		w.WriteString(a.consts[n])
	}
	return w.String()
}

// alloc maps the nodes of one body to registers by last use.
type alloc struct {
	*asm
	free  []int
	kfree []int
	reg   map[*node][]int
	left  map[*node]int
	temps []int
}

const forever = 1 << 30

func newAlloc(a *asm, b *body, outs []*node, reserved int) *alloc {
	s := &alloc{asm: a, reg: map[*node][]int{}, left: map[*node]int{}}
	for r := a.regs - 1; r >= reserved; r-- {
		s.free = append(s.free, r)
	}
	s.kfree = []int{7, 6, 5, 4, 3, 2} // K1 keeps the tail mask
	live := liveNodes(b, outs)
	for _, n := range b.nodes {
		if live[n] {
			for _, x := range n.args {
				s.left[x]++
			}
		}
	}
	for _, o := range outs {
		s.left[o] = forever
	}
	return s
}

func (s *alloc) take() int {
	if len(s.free) == 0 {
		panic("out of vector registers")
	}
	r := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return r
}

func (s *alloc) temp() int {
	r := s.take()
	s.temps = append(s.temps, r)
	return r
}

func (s *alloc) isMaskReg(n *node) bool { return n.kind == mask && s.wide }

func (s *alloc) newRegs(n *node) []int {
	switch {
	case s.isMaskReg(n):
		if len(s.kfree) == 0 {
			panic("out of mask registers")
		}
		r := s.kfree[len(s.kfree)-1]
		s.kfree = s.kfree[:len(s.kfree)-1]
		return []int{r}
	case n.kind == f64:
		return []int{s.take(), s.take()}
	}
	return []int{s.take()}
}

func (s *alloc) release(n *node, regs []int) {
	if s.isMaskReg(n) {
		s.kfree = append(s.kfree, regs...)
		return
	}
	s.free = append(s.free, regs...)
}

// done counts a use of each argument and frees those used up, except the one whose registers were
// taken over.
func (s *alloc) done(n, kept *node) {
	for _, x := range n.args {
		if x.op == opConst {
			continue
		}
		s.left[x]--
		if s.left[x] == 0 && x != kept {
			s.release(x, s.reg[x])
		}
	}
	s.free = append(s.free, s.temps...)
	s.temps = s.temps[:0]
}

// r names a register of a node, loading a constant into a temporary where an instruction wants a
// register.
func (s *alloc) r(n *node, part int) string {
	if n.op != opConst {
		return s.v(s.reg[n][part])
	}
	if r, ok := s.held[constantOf(n)]; ok {
		return s.v(r)
	}
	t := s.v(s.temp())
	s.fill(n, t)
	return t
}

// fill loads a constant into a register.
func (s *asm) fill(n *node, t string) {
	switch {
	case !s.wide:
		s.ins("VMOVUPS %s, %s", s.sym(n.kind, n.imm), t)
	case n.kind == f64:
		s.ins("VBROADCASTSD %s, %s", s.sym(n.kind, n.imm), t)
	default:
		s.ins("VBROADCASTSS %s, %s", s.sym(n.kind, n.imm), t)
	}
}

// m names a source that may be a constant in memory, with the suffix the mnemonic then needs.
func (s *alloc) m(n *node, part int) (suffix, operand string) {
	if n.op != opConst {
		return "", s.v(s.reg[n][part])
	}
	if r, ok := s.held[constantOf(n)]; ok {
		return "", s.v(r)
	}
	if s.wide {
		suffix = ".BCST"
	}
	return suffix, s.sym(n.kind, n.imm)
}

func parts(n *node) int {
	if n.kind == f64 {
		return 2
	}
	return 1
}

// emit writes the whole body; inputs must already have registers.
func (s *alloc) emit(b *body, outs []*node) {
	live := liveNodes(b, outs)
	for _, n := range b.nodes {
		if live[n] && n.op != opInput && n.op != opConst {
			s.node(n)
		}
	}
}

func (s *alloc) node(n *node) {
	switch n.op {
	case opFMA, opFNMA:
		s.fma(n)
	case opBits:
		s.move(n)
	case opWide, opNarrow, opInt, opPow2D:
		s.convert(n)
	case opEQ, opNE, opLT, opLE, opGT, opGE:
		s.compare(n)
	case opMaskAnd, opMaskOr, opMaskNot:
		s.maskOp(n)
	case opSel:
		s.sel(n)
	case opSign:
		s.sign(n)
	case opLookup:
		s.lookup(n)
	case opFourth:
		if s.wide {
			s.done(n, nil)
		} else {
			s.plain(n)
		}
	default:
		s.plain(n)
	}
}

// move hands the argument's register on, or copies it when it is still needed.
func (s *alloc) move(n *node) {
	x := n.args[0]
	if s.left[x] == 1 {
		s.reg[n] = s.reg[x]
		s.done(n, x)
		return
	}
	src := s.r(x, 0)
	s.reg[n] = s.newRegs(n)
	s.ins("VMOVAPS %s, %s", src, s.v(s.reg[n][0]))
	s.done(n, nil)
}

var floatOp = map[op]string{opAdd: "VADD", opSub: "VSUB", opMul: "VMUL", opDiv: "VDIV", opMinX: "VMIN", opMaxX: "VMAX",
	opSqrt: "VSQRT"}

var intOp = map[op]string{opAdd: "VPADDD", opSub: "VPSUBD", opMul: "VPMULLD", opShl: "VPSLLD", opFourth: "VPSLLD", opShr: "VPSRLD",
	opSra: "VPSRAD", opShlV: "VPSLLVD", opShrV: "VPSRLVD", opSraV: "VPSRAVD", opTrunc: "VCVTTPS2DQ", opFloat: "VCVTDQ2PS"}

func (s *alloc) mnemonic(n *node) string {
	bits := map[op]string{opAnd: "VPAND", opOr: "VPOR", opXor: "VPXOR"}
	switch m, isBits := bits[n.op]; {
	case isBits && s.wide:
		return m + "D"
	case isBits:
		return m
	case n.op == opRound && s.wide:
		return "VRNDSCALEPS"
	case n.op == opRound:
		return "VROUNDPS"
	case n.kind == f64:
		return floatOp[n.op] + "PD"
	case n.kind == f32 && n.op != opFloat:
		return floatOp[n.op] + "PS"
	}
	return intOp[n.op]
}

// plain writes the operations that are one instruction with any destination.
func (s *alloc) plain(n *node) {
	mn := s.mnemonic(n)
	args := n.args
	commutes := n.op == opAdd || n.op == opMul || n.op == opAnd || n.op == opOr || n.op == opXor
	if commutes && args[0].op == opConst {
		args = []*node{args[1], args[0]}
	}
	dst := s.newRegs(n)
	for p := range parts(n) {
		d := s.v(dst[p])
		switch {
		case n.op == opShl || n.op == opFourth || n.op == opShr || n.op == opSra || n.op == opRound:
			s.ins("%s $%d, %s, %s", mn, n.imm, s.r(args[0], p), d)
		case len(args) == 1:
			s.ins("%s %s, %s", mn, s.r(args[0], p), d)
		default:
			left := s.r(args[0], p)
			suffix, right := s.m(args[1], p)
			s.ins("%s%s %s, %s, %s", mn, suffix, right, left, d)
		}
	}
	s.reg[n] = dst
	s.done(n, nil)
}

// fma picks the form whose destination is an argument on its last use.
func (s *alloc) fma(n *node) {
	x, y, z := n.args[0], n.args[1], n.args[2]
	if x.op == opConst {
		x, y = y, x
	}
	stem, suffix := "VFMADD", "PS"
	if n.op == opFNMA {
		stem = "VFNMADD"
	}
	if n.kind == f64 {
		suffix = "PD"
	}
	dies := func(v *node) bool {
		uses := 0
		for _, a := range n.args {
			if a == v {
				uses++
			}
		}
		return v.op != opConst && s.left[v] == uses
	}
	var form string
	var dst, mid, last *node // dst and mid are registers, last may be memory
	switch {
	case z.op != opConst && dies(z):
		form, dst, mid, last = "231", z, x, y
	case dies(x) && y.op == opConst:
		form, dst, mid, last = "132", x, z, y
	case dies(x):
		form, dst, mid, last = "213", x, y, z
	case dies(y):
		form, dst, mid, last = "213", y, x, z
	case z.op == opConst:
		form, dst, mid, last = "213", x, y, z
	default:
		form, dst, mid, last = "231", z, x, y
	}
	kept := dst
	var regs []int
	if dies(dst) {
		regs = s.reg[dst]
	} else {
		regs, kept = s.newRegs(n), nil
	}
	for p := range parts(n) {
		if kept == nil {
			s.ins("VMOVAPS %s, %s", s.r(dst, p), s.v(regs[p]))
		}
		mr := s.r(mid, p)
		bc, lr := s.m(last, p)
		s.ins("%s%s%s%s %s, %s, %s", stem, form, suffix, bc, lr, mr, s.v(regs[p]))
	}
	s.reg[n] = regs
	s.done(n, kept)
}

// convert writes what goes between 32-bit and 64-bit lanes: two registers on the 64-bit side.
func (s *alloc) convert(n *node) {
	x := n.args[0]
	dst := s.newRegs(n)
	extract, insert := "VEXTRACTF128", "VINSERTF128"
	if s.wide {
		extract, insert = "VEXTRACTF64X4", "VINSERTF64X4"
	}
	if n.kind == f64 {
		src := s.reg[x][0]
		up := s.temp()
		s.ins("%s $1, %s, %s", extract, s.v(src), s.half(up))
		for p, h := range []string{s.half(src), s.half(up)} {
			s.widen(n, h, s.v(dst[p]))
		}
	} else {
		mn := "VCVTPD2PS"
		if n.op == opInt {
			mn = "VCVTPD2DQ"
		}
		if !s.wide {
			mn += "Y"
		}
		up := s.temp()
		s.ins("%s %s, %s", mn, s.r(x, 0), s.half(dst[0]))
		s.ins("%s %s, %s", mn, s.r(x, 1), s.half(up))
		s.ins("%s $1, %s, %s, %s", insert, s.half(up), s.v(dst[0]), s.v(dst[0]))
	}
	s.reg[n] = dst
	s.done(n, nil)
}

func (s *alloc) widen(n *node, src, dst string) {
	switch {
	case n.op == opPow2D:
		s.ins("VPMOVSXDQ %s, %s", src, dst)
		bc := ""
		if s.wide {
			bc = ".BCST"
		}
		s.ins("VPADDQ%s %s, %s, %s", bc, s.sym(f64, 1023), dst, dst)
		s.ins("VPSLLQ $52, %s, %s", dst, dst)
	case n.args[0].kind == i32:
		s.ins("VCVTDQ2PD %s, %s", src, dst)
	default:
		s.ins("VCVTPS2PD %s, %s", src, dst)
	}
}

var predicate = map[op]int{opEQ: 0, opNE: 4, opLT: 17, opLE: 18, opGT: 30, opGE: 29}

func (s *alloc) k(n *node) string {
	if s.wide {
		return fmt.Sprintf("K%d", s.reg[n][0])
	}
	return s.v(s.reg[n][0])
}

func (s *alloc) compare(n *node) {
	x, y := n.args[0], n.args[1]
	s.reg[n] = s.newRegs(n)
	if x.kind == f32 {
		left := s.r(x, 0)
		bc, right := s.m(y, 0)
		s.ins("VCMPPS%s $%d, %s, %s, %s", bc, predicate[n.op], right, left, s.k(n))
	} else {
		mn := "VPCMPEQD"
		switch n.op {
		case opGT:
			mn = "VPCMPGTD"
		case opLT:
			mn, x, y = "VPCMPGTD", y, x
		case opEQ:
		default:
			panic("integer comparison: only ==, < and >")
		}
		left := s.r(x, 0)
		bc, right := s.m(y, 0)
		s.ins("%s%s %s, %s, %s", mn, bc, right, left, s.k(n))
	}
	s.done(n, nil)
}

func (s *alloc) maskOp(n *node) {
	wide := map[op]string{opMaskAnd: "KANDW", opMaskOr: "KORW", opMaskNot: "KNOTW"}
	narrow := map[op]string{opMaskAnd: "VPAND", opMaskOr: "VPOR"}
	s.reg[n] = s.newRegs(n)
	switch {
	case s.wide && n.op == opMaskNot:
		s.ins("%s %s, %s", wide[n.op], s.k(n.args[0]), s.k(n))
	case s.wide:
		s.ins("%s %s, %s, %s", wide[n.op], s.k(n.args[0]), s.k(n.args[1]), s.k(n))
	case n.op == opMaskNot:
		s.ins("VPXOR %s, %s, %s", s.sym(i32, 0xffffffff), s.k(n.args[0]), s.k(n))
	default:
		s.ins("%s %s, %s, %s", narrow[n.op], s.k(n.args[0]), s.k(n.args[1]), s.k(n))
	}
	s.done(n, nil)
}

func (s *alloc) sel(n *node) {
	m, x, y := n.args[0], n.args[1], n.args[2]
	s.reg[n] = s.newRegs(n)
	other := s.r(y, 0)
	bc, picked := s.m(x, 0)
	if s.wide {
		s.ins("VBLENDMPS%s %s, %s, %s, %s", bc, picked, other, s.k(m), s.v(s.reg[n][0]))
	} else {
		s.ins("VBLENDVPS %s, %s, %s, %s", s.k(m), picked, other, s.v(s.reg[n][0]))
	}
	s.done(n, nil)
}

// sign ors in a sign bit: one ternary operation (x | y&mask) where there is one.
func (s *alloc) sign(n *node) {
	x, y := s.r(n.args[0], 0), s.r(n.args[1], 0)
	s.reg[n] = s.newRegs(n)
	d, bit := s.v(s.reg[n][0]), s.sym(f32, 0x80000000)
	if s.wide {
		s.ins("VMOVAPS %s, %s", x, d)
		s.ins("VPTERNLOGD.BCST $0xf8, %s, %s, %s", bit, y, d)
	} else {
		s.ins("VANDPS %s, %s, %s", bit, y, d)
		s.ins("VORPS %s, %s, %s", x, d, d)
	}
	s.done(n, nil)
}

// lookup picks one of sixteen numbers: one permutation, or two of which the fourth bit picks.
func (s *alloc) lookup(n *node) {
	x, row := s.r(n.args[0], 0), s.tableRow(int(n.imm))
	s.reg[n] = s.newRegs(n)
	d := s.v(s.reg[n][0])
	s.ins("VPERMPS %s+0(SB), %s, %s", row, x, d)
	if !s.wide {
		high := s.take()
		s.ins("VPERMPS %s+32(SB), %s, %s", row, x, s.v(high))
		s.ins("VBLENDVPS %s, %s, %s, %s", s.r(n.args[1], 0), s.v(high), d, d)
		s.free = append(s.free, high)
	}
	s.done(n, nil)
}

// tableRow names a row of the table in memory.
func (a *asm) tableRow(row int) string {
	name := fmt.Sprintf("lookup%d", row)
	if a.consts[name] == "" {
		var d strings.Builder
		for i, v := range tanhTable[row] {
			fmt.Fprintf(&d, "DATA %s<>+%d(SB)/4, $0x%08x\n", name, 4*i, v)
		}
		fmt.Fprintf(&d, "GLOBL %s<>(SB), RODATA|NOPTR, $64\n", name)
		a.consts[name] = d.String()
	}
	return name + "<>"
}
