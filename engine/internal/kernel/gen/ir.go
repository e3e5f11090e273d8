package main

import "math"

// A kind says what a lane holds. Floats, integers and wide values live in vector registers; a mask
// lives in a mask register on AVX-512 and in a vector register on AVX2.
type kind uint8

const (
	f32 kind = iota
	i32
	f64
	mask
)

// An op is one correctly rounded primitive: the same bits from a vector instruction and from a line
// of Go.
type op uint8

const (
	opInput op = iota
	opConst
	opAdd
	opSub
	opMul
	opDiv
	opSqrt
	opFMA  // x*y + z, rounded once
	opFNMA // z - x*y, rounded once
	opMinX // x < y ? x : y, as MINPS has it
	opMaxX // x > y ? x : y, as MAXPS has it
	opRound
	opAnd
	opOr
	opXor
	opLookup // a row of the table, by the low four bits
	opFourth // the fourth bit as a sign, which only narrow lookups need
	opSign   // x, whose sign bit is clear, with the sign of y
	opShl    // shift left by a constant
	opShr
	opSra
	opShlV // shift left by a vector; a count of 32 or more clears, as the instruction has it
	opShrV
	opSraV
	opBits  // reinterpretation, no instruction
	opTrunc // float32 to int32, towards zero
	opFloat // int32 to float32
	opWide  // float32 or int32 to float64
	opNarrow
	opInt   // float64 to int32, to nearest
	opPow2D // int32 n to the float64 2**n, for n in the normal range
	opEQ
	opNE
	opLT
	opLE
	opGT
	opGE
	opMaskAnd
	opMaskOr
	opMaskNot
	opSel // mask ? x : y
)

// node is one value of a kernel's straight-line body.
type node struct {
	op   op
	kind kind
	args []*node
	imm  uint64 // constant bits, shift count or rounding mode
	id   int
	uses int
}

// body collects the nodes of one kernel in order; constants are shared.
type body struct {
	nodes  []*node
	consts map[[2]uint64]*node
}

func newBody() *body { return &body{consts: map[[2]uint64]*node{}} }

func (b *body) add(o op, k kind, imm uint64, args ...*node) *node {
	n := &node{op: o, kind: k, imm: imm, args: args, id: len(b.nodes)}
	for _, a := range args {
		a.uses++
	}
	b.nodes = append(b.nodes, n)
	return n
}

func (b *body) constant(k kind, bits uint64) *node {
	key := [2]uint64{uint64(k), bits}
	if n := b.consts[key]; n != nil {
		return n
	}
	n := b.add(opConst, k, bits)
	b.consts[key] = n
	return n
}

func (b *body) F(v float32) *node    { return b.constant(f32, uint64(math.Float32bits(v))) }
func (b *body) FB(v uint32) *node    { return b.constant(f32, uint64(v)) }
func (b *body) I(v int32) *node      { return b.constant(i32, uint64(uint32(v))) }
func (b *body) D(v float64) *node    { return b.constant(f64, math.Float64bits(v)) }
func (b *body) in(k kind) *node      { return b.add(opInput, k, 0) }
func (b *body) Add(x, y *node) *node { return b.add(opAdd, x.kind, 0, x, y) }
func (b *body) Sub(x, y *node) *node { return b.add(opSub, x.kind, 0, x, y) }
func (b *body) Mul(x, y *node) *node { return b.add(opMul, x.kind, 0, x, y) }
func (b *body) Div(x, y *node) *node { return b.add(opDiv, x.kind, 0, x, y) }
func (b *body) Sqrt(x *node) *node   { return b.add(opSqrt, x.kind, 0, x) }

// FMA returns x*y + z rounded once; FNMA is z - x*y rounded once.
func (b *body) FMA(x, y, z *node) *node  { return b.add(opFMA, x.kind, 0, x, y, z) }
func (b *body) FNMA(x, y, z *node) *node { return b.add(opFNMA, x.kind, 0, x, y, z) }
func (b *body) MinX(x, y *node) *node    { return b.add(opMinX, f32, 0, x, y) }
func (b *body) MaxX(x, y *node) *node    { return b.add(opMaxX, f32, 0, x, y) }

// Round takes the x86 rounding mode: 0 to nearest even, 1 down, 2 up, 3 towards zero.
func (b *body) Round(x *node, mode uint64) *node { return b.add(opRound, f32, mode, x) }
func (b *body) And(x, y *node) *node             { return b.add(opAnd, x.kind, 0, x, y) }
func (b *body) Or(x, y *node) *node              { return b.add(opOr, x.kind, 0, x, y) }
func (b *body) Xor(x, y *node) *node             { return b.add(opXor, x.kind, 0, x, y) }
func (b *body) Shl(x *node, n uint64) *node      { return b.add(opShl, i32, n, x) }
func (b *body) Shr(x *node, n uint64) *node      { return b.add(opShr, i32, n, x) }
func (b *body) Sra(x *node, n uint64) *node      { return b.add(opSra, i32, n, x) }
func (b *body) ShlV(x, y *node) *node            { return b.add(opShlV, i32, 0, x, y) }
func (b *body) ShrV(x, y *node) *node            { return b.add(opShrV, i32, 0, x, y) }
func (b *body) SraV(x, y *node) *node            { return b.add(opSraV, i32, 0, x, y) }
func (b *body) AsI(x *node) *node                { return b.add(opBits, i32, 0, x) }
func (b *body) AsF(x *node) *node                { return b.add(opBits, f32, 0, x) }
func (b *body) Trunc(x *node) *node              { return b.add(opTrunc, i32, 0, x) }
func (b *body) Float(x *node) *node              { return b.add(opFloat, f32, 0, x) }
func (b *body) Wide(x *node) *node               { return b.add(opWide, f64, 0, x) }
func (b *body) Narrow(x *node) *node             { return b.add(opNarrow, f32, 0, x) }
func (b *body) Int(x *node) *node                { return b.add(opInt, i32, 0, x) }
func (b *body) Pow2D(x *node) *node              { return b.add(opPow2D, f64, 0, x) }
func (b *body) Cmp(o op, x, y *node) *node       { return b.add(o, mask, 0, x, y) }
func (b *body) MAnd(x, y *node) *node            { return b.add(opMaskAnd, mask, 0, x, y) }
func (b *body) MOr(x, y *node) *node             { return b.add(opMaskOr, mask, 0, x, y) }
func (b *body) MNot(x *node) *node               { return b.add(opMaskNot, mask, 0, x) }
func (b *body) Sel(m, x, y *node) *node          { return b.add(opSel, x.kind, 0, m, x, y) }

// Lookup returns one of sixteen numbers of a row of the table, by the low four bits of x; fourth is
// Fourth(x).
func (b *body) Lookup(row int, x, fourth *node) *node {
	return b.add(opLookup, f32, uint64(row), x, fourth)
}

// Fourth prepares the fourth bit of x for lookups.
func (b *body) Fourth(x *node) *node { return b.add(opFourth, i32, 28, x) }

// Sign gives x, which must not be negative, the sign of y.
func (b *body) Sign(x, y *node) *node { return b.add(opSign, f32, 0, x, y) }

// Abs clears the sign bit.
func (b *body) Abs(x *node) *node { return b.And(x, b.FB(0x7fffffff)) }

// Poly returns Horner's rule by FMA, lowest coefficient first.
func (b *body) Poly(x *node, c ...*node) *node {
	p := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		p = b.FMA(p, x, c[i])
	}
	return p
}

func (b *body) fcoefs(bits ...uint32) []*node {
	out := make([]*node, len(bits))
	for i, v := range bits {
		out[i] = b.FB(v)
	}
	return out
}

func (b *body) dcoefs(vs ...float64) []*node {
	out := make([]*node, len(vs))
	for i, v := range vs {
		out[i] = b.D(v)
	}
	return out
}
