package main

import (
	"fmt"
	"slices"
	"strings"
)

// param is one argument of a kernel: a slice walked in step with the others, or a scalar held in
// all lanes.
type param struct {
	name, typ string
	scalar    bool
	in, out   bool
}

// kern is one elementwise kernel: what it computes for a lane, and where its functions go in the
// table.
type kern struct {
	name string
	slot string // field of the table, or field[Index]
	ins  []param
	all  []param
	f    func(b *body, in []*node) []*node
}

func newKern(name, slot string, f func(b *body, in []*node) []*node, all ...param) *kern {
	k := &kern{name: name, slot: slot, all: all, f: f}
	for _, p := range all {
		if p.in {
			k.ins = append(k.ins, p)
		}
	}
	return k
}

func vec(name, typ string) param { return param{name: name, typ: typ, in: true} }
func scl(name, typ string) param { return param{name: name, typ: typ, in: true, scalar: true} }
func out(name, typ string) param { return param{name: name, typ: typ, out: true} }

func (p param) kind() kind {
	switch p.typ {
	case "float32":
		return f32
	case "bool":
		return mask
	}
	return i32
}

func (p param) size() int {
	if p.typ == "bool" {
		return 1
	}
	return 4
}

func (k *kern) build() (b *body, ins, outs []*node) {
	b = newBody()
	for _, p := range k.ins {
		ins = append(ins, b.in(p.kind()))
	}
	return b, ins, k.f(b, ins)
}

// signature returns the Go parameter list every implementation shares.
func (k *kern) signature() string {
	var ps []string
	for _, p := range k.all {
		if p.scalar {
			ps = append(ps, p.name+" "+p.typ)
		} else {
			ps = append(ps, p.name+" []"+p.typ)
		}
	}
	return strings.Join(ps, ", ")
}

// goLoop writes the twin's loop over slices; the caller has made their lengths equal.
func (k *kern) goLoop() string {
	var w strings.Builder
	fmt.Fprintf(&w, "func %sGo(%s) {\n", k.name, k.signature())
	first := ""
	for _, p := range k.all {
		switch {
		case p.scalar:
		case first == "":
			first = p.name
		default:
			fmt.Fprintf(&w, "\t%s = %s[:len(%s)]\n", p.name, p.name, first)
		}
	}
	var args, res []string
	for _, p := range k.ins {
		a := p.name
		if !p.scalar {
			a += "[i]"
		}
		if p.typ == "uint32" {
			a = "int32(" + a + ")"
		}
		args = append(args, a)
	}
	call := fmt.Sprintf("%s(%s)", k.scalarName(), strings.Join(args, ", "))
	for _, p := range k.all {
		if p.out {
			res = append(res, p.name+"[i]")
			if p.typ == "uint32" {
				call = "uint32(" + call + ")"
			}
		}
	}
	fmt.Fprintf(&w, "\tfor i := range %s {\n\t\t%s = %s\n\t}\n}\n\n", first, strings.Join(res, ", "), call)
	return w.String()
}

// scalarName returns shared by the broadcast variants of one operation.
func (k *kern) scalarName() string {
	n := k.name
	for _, s := range []string{"VV", "VS", "SV"} {
		n = strings.TrimSuffix(n, s)
	}
	return n + "Lane"
}

// layout gives each parameter's offset in the argument frame, and the frame's size.
func (k *kern) layout() ([]int, int) {
	var offs []int
	at := 0
	for _, p := range k.all {
		size, align := 24, 8
		if p.scalar {
			size, align = 4, 4
		}
		at = (at + align - 1) / align * align
		offs = append(offs, at)
		at += size
	}
	return offs, at
}

var pointers = []string{"DI", "SI", "DX", "R8", "R9", "R10"}

// asmLoop writes the vector loop and its masked tail.
func (a *asm) asmLoop(k *kern) {
	offs, frame := k.layout()
	fmt.Fprintf(&a.w, "// func %s%s(%s)\nTEXT ·%s%s(SB), NOSPLIT, $0-%d\n", k.name, a.name, k.signature(), k.name, a.name, frame)
	ptr := map[string]string{}
	scalars := 0
	for i, p := range k.all {
		if p.scalar {
			a.ins("VBROADCASTSS %s+%d(FP), %s", p.name, offs[i], a.v(scalars))
			scalars++
			continue
		}
		r := pointers[len(ptr)]
		a.ins("MOVQ %s_base+%d(FP), %s", p.name, offs[i], r)
		if len(ptr) == 0 {
			a.ins("MOVQ %s_len+%d(FP), CX", p.name, offs[i]+8)
		}
		ptr[p.name] = r
	}
	u, hold := a.plan(k, ptr)
	a.hold(hold, scalars)
	for _, n := range hold {
		a.fill(n, a.v(a.held[constantOf(n)]))
	}
	if u > 1 {
		a.vectors(k, ptr, u, "wide", "loop")
	}
	a.vectors(k, ptr, 1, "loop", "tail")
	a.label("tail")
	a.ins("TESTQ CX, CX")
	a.ins("JEQ done")
	a.tailMask()
	a.step(k, ptr, 1, true)
	a.label("done")
	a.ins("VZEROUPPER")
	a.ins("RET")
	a.w.WriteString("\n")
}

// vectors writes the loop over whole vectors, u at a time.
func (a *asm) vectors(k *kern, ptr map[string]string, u int, label, after string) {
	a.label(label)
	a.ins("CMPQ CX, $%d", u*a.lanes)
	a.ins("JLT %s", after)
	a.step(k, ptr, u, false)
	for _, p := range k.all {
		if !p.scalar {
			a.ins("ADDQ $%d, %s", u*a.lanes*p.size(), ptr[p.name])
		}
	}
	a.ins("SUBQ $%d, CX", u*a.lanes)
	a.ins("JMP %s", label)
}

// plan decides how many vectors to work on side by side, since long chains of dependent operations
// would otherwise fill the processor's window before the next vector's come into sight, and which
// constants to keep in registers, since a processor may do only one wide load a cycle. AVX2 has too
// few registers for the second.
func (a *asm) plan(k *kern, ptr map[string]string) (u int, hold []*node) {
	consts := k.constants()
	if !a.wide {
		consts = nil
	}
	for _, u := range []int{4, 3, 2} {
		if a.fits(k, ptr, u, consts) {
			return u, consts
		}
	}
	for u := 2; u > 0; u-- {
		for n := len(consts); n >= 0; n-- {
			if a.fits(k, ptr, u, consts[:n]) {
				return u, consts[:n]
			}
		}
	}
	panic(k.name + " does not fit the registers")
}

// constants lists what a body uses of them, most used first.
func (k *kern) constants() []*node {
	b, _, outs := k.build()
	live := liveNodes(b, outs)
	var list []*node
	for _, n := range b.nodes {
		if n.op == opConst && live[n] {
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(x, y *node) int { return y.uses - x.uses })
	seen := map[constant]bool{}
	return slices.DeleteFunc(list, func(n *node) bool {
		again := seen[constantOf(n)]
		seen[constantOf(n)] = true
		return again
	})
}

// hold gives constants the registers after the scalars.
func (a *asm) hold(consts []*node, scalars int) {
	a.held = map[constant]int{}
	for i, n := range consts {
		a.held[constantOf(n)] = scalars + i
	}
}

func (a *asm) fits(k *kern, ptr map[string]string, u int, consts []*node) (ok bool) {
	defer func() { ok = recover() == nil }()
	t := newAsm(a.isa)
	t.hold(consts, k.scalars())
	t.step(k, ptr, u, false)
	return true
}

func (k *kern) scalars() int {
	n := 0
	for _, p := range k.all {
		if p.scalar {
			n++
		}
	}
	return n
}

// tailMask makes the mask of the CX lowest lanes.
func (a *asm) tailMask() {
	if a.wide {
		a.ins("MOVL $1, AX")
		a.ins("SHLL CX, AX")
		a.ins("DECL AX")
		a.ins("KMOVW AX, K1")
		return
	}
	a.maskTable()
	a.ins("LEAQ tailmask<>(SB), AX")
	a.ins("NEGQ CX")
	a.ins("VMOVUPS 32(AX)(CX*4), Y15")
	a.ins("NEGQ CX")
}

func (a *asm) maskTable() {
	if a.consts["tailmask"] != "" {
		return
	}
	var d strings.Builder
	for o := 0; o < 64; o += 4 {
		v := uint32(0)
		if o < 32 {
			v = 0xffffffff
		}
		fmt.Fprintf(&d, "DATA tailmask<>+%d(SB)/4, $0x%08x\n", o, v)
	}
	d.WriteString("GLOBL tailmask<>(SB), RODATA|NOPTR, $64\n")
	a.consts["tailmask"] = d.String()
}

// copies builds a body u times over, interleaved node by node.
func (k *kern) copies(u int) (b *body, ins, outs [][]*node) {
	all := newBody()
	bodies := make([]*body, u)
	for i := range bodies {
		var in, out []*node
		bodies[i], in, out = k.build()
		ins, outs = append(ins, in), append(outs, out)
	}
	for j := range bodies[0].nodes {
		for _, b := range bodies {
			all.nodes = append(all.nodes, b.nodes[j])
		}
	}
	return all, ins, outs
}

// step loads, computes and stores u vectors.
func (a *asm) step(k *kern, ptr map[string]string, u int, tail bool) {
	b, ins, outs := k.copies(u)
	var results []*node
	for _, o := range outs {
		results = append(results, o...)
	}
	s := newAlloc(a, b, results, k.scalars()+len(a.held))
	for c := range u {
		si := 0
		for i, p := range k.ins {
			n := ins[c][i]
			if p.scalar {
				s.reg[n] = []int{si}
				s.left[n] = forever
				si++
				continue
			}
			s.reg[n] = s.newRegs(n)
			a.load(s, n, p, place{ptr[p.name], c * a.lanes * p.size()}, tail)
		}
	}
	s.emit(b, results)
	for c := range u {
		oi := 0
		for _, p := range k.all {
			if p.out {
				a.store(s, outs[c][oi], p, place{ptr[p.name], c * a.lanes * p.size()}, tail)
				oi++
			}
		}
	}
}

// place is an address: a pointer register and an offset.
type place struct {
	reg string
	off int
}

func (p place) String() string {
	if p.off == 0 {
		return "(" + p.reg + ")"
	}
	return fmt.Sprintf("%d(%s)", p.off, p.reg)
}

func (a *asm) load(s *alloc, n *node, p param, ptr place, tail bool) {
	switch {
	case p.typ == "bool":
		a.loadBool(s, n, ptr, tail)
	case !tail:
		a.ins("VMOVUPS %v, %s", ptr, s.v(s.reg[n][0]))
	case a.wide:
		a.ins("VMOVUPS.Z %v, K1, %s", ptr, s.v(s.reg[n][0]))
	default:
		a.ins("VMASKMOVPS %v, Y15, %s", ptr, s.v(s.reg[n][0]))
	}
}

func (a *asm) loadBool(s *alloc, n *node, ptr place, tail bool) {
	if a.wide {
		t := s.take()
		if tail {
			a.ins("VMOVDQU8.Z %v, K1, X%d", ptr, t)
		} else {
			a.ins("VMOVDQU8 %v, X%d", ptr, t)
		}
		a.ins("VPTESTMB X%d, X%d, %s", t, t, s.k(n))
		s.free = append(s.free, t)
		return
	}
	r, zero := s.reg[n][0], s.take()
	if tail {
		l := a.fresh()
		a.ins("XORQ AX, AX")
		a.ins("MOVQ CX, BX")
		a.label(l)
		a.ins("SHLQ $8, AX")
		a.ins("MOVBLZX -1(%s)(BX*1), R11", ptr.reg)
		a.ins("ORQ R11, AX")
		a.ins("DECQ BX")
		a.ins("JNE %s", l)
		a.ins("VMOVQ AX, X%d", r)
		a.ins("VPMOVZXBD X%d, Y%d", r, r)
	} else {
		a.ins("VPMOVZXBD %v, Y%d", ptr, r)
	}
	a.ins("VPXOR Y%d, Y%d, Y%d", zero, zero, zero)
	a.ins("VPCMPGTD Y%d, Y%d, Y%d", zero, r, r)
	s.free = append(s.free, zero)
}

func (a *asm) fresh() string {
	a.labels++
	return fmt.Sprintf("l%d", a.labels)
}

func (a *asm) store(s *alloc, n *node, p param, ptr place, tail bool) {
	switch {
	case p.typ == "bool":
		a.storeBool(s, n, ptr, tail)
	case !tail:
		a.ins("VMOVUPS %s, %v", s.r(n, 0), ptr)
	case a.wide:
		a.ins("VMOVUPS %s, K1, %v", s.r(n, 0), ptr)
	default:
		a.ins("VMASKMOVPS %s, Y15, %v", s.r(n, 0), ptr)
	}
}

func (a *asm) storeBool(s *alloc, n *node, ptr place, tail bool) {
	ones := a.sym(i32, 0x01010101)
	t := s.take()
	switch {
	case a.wide:
		a.ins("VMOVDQU8.Z %s, %s, X%d", ones, s.k(n), t)
		if tail {
			a.ins("VMOVDQU8 X%d, K1, %v", t, ptr)
		} else {
			a.ins("VMOVDQU8 X%d, %v", t, ptr)
		}
	case tail:
		l := a.fresh()
		a.ins("VMOVMSKPS %s, AX", s.k(n))
		a.label(l)
		a.ins("MOVL AX, BX")
		a.ins("ANDL $1, BX")
		a.ins("MOVB BX, (%s)", ptr.reg)
		a.ins("SHRL $1, AX")
		a.ins("INCQ %s", ptr.reg)
		a.ins("DECQ CX")
		a.ins("JNE %s", l)
	default:
		r := s.reg[n][0]
		a.ins("VEXTRACTF128 $1, Y%d, X%d", r, t)
		a.ins("VPACKSSDW X%d, X%d, X%d", t, r, t)
		a.ins("VPACKSSWB X%d, X%d, X%d", t, t, t)
		a.ins("VPAND %s, X%d, X%d", ones, t, t)
		a.ins("VMOVQ X%d, %v", t, ptr)
	}
	s.free = append(s.free, t)
}
