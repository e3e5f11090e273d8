package stablehlo

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
)

// randomBits calls a helper that ciphers as many blocks as the output takes, and gives their words
// the output's type.
func randomBits(w *writer, n *ir.Node) {
	state, next, out := n.Inputs[0], n.Outputs[0], n.Outputs[1]
	blocks := max((out.Bytes()+15)/16, 1)
	w.philox(blocks)
	left, each := w.many(2)
	words := tensor(dtypes.Uint32, 4*blocks)
	w.line("%s = func.call @philox_%d(%s) : (%s) -> (%s, %s)", left, blocks, w.name(state), typeOf(state), typeOf(next), words)
	w.names[next] = each[0]
	if out.Size() == 0 { // no block is used, and the state stays
		w.names[next] = w.name(state)
	}
	w.names[out] = w.cut(each[1], 4*blocks, out)
}

// cut makes a value of the first of the given words.
func (w *writer) cut(words string, count int, out *ir.Value) string {
	d, size := out.DType(), out.Size()
	per := 4 / d.Size() // elements in a word; 0 for elements of two words
	all, typ := words, tensor(dtypes.Uint32, count)
	flat := count
	switch {
	case d.Size() == 8:
		flat = count / 2
		pairs := tensor(dtypes.Uint32, flat, 2)
		all = w.let("stablehlo.reshape %s : (%s) -> %s", all, typ, pairs)
		all = w.let("stablehlo.bitcast_convert %s : (%s) -> %s", all, pairs, tensor(d, flat))
	case per == 1 && d != dtypes.Uint32:
		all = w.let("stablehlo.bitcast_convert %s : (%s) -> %s", all, typ, tensor(d, count))
	case per > 1:
		flat = count * per
		parts := tensor(d, count, per)
		all = w.let("stablehlo.bitcast_convert %s : (%s) -> %s", all, typ, parts)
		all = w.let("stablehlo.reshape %s : (%s) -> %s", all, parts, tensor(d, flat))
	}
	all = w.let("stablehlo.slice %s [0:%d:1] : (%s) -> %s", all, size, tensor(d, flat), tensor(d, size))
	return w.let("stablehlo.reshape %s : (%s) -> %s", all, tensor(d, size), typeOf(out))
}

// philox writes the function @philox_N, once: Philox4x32-10 of N blocks. The first word of the
// state is the key, the other two the 128-bit counter, least significant first. It returns the
// state past these blocks, and their words.
func (w *writer) philox(blocks int) {
	name := fmt.Sprintf("philox_%d", blocks)
	if w.helpers[name] {
		return
	}
	w.helpers[name] = true
	h := &writer{indent: "  ", next: 0, names: w.names}
	h.line("func.func private @%s(%%state: tensor<3xui64>) -> (tensor<3xui64>, %s) {", name, tensor(dtypes.Uint32, 4*blocks))
	h.block(func() { (&cipher{writer: h, blocks: blocks}).write() })
	h.line("}")
	w.before.WriteString(h.b.String())
}

// cipher writes the body of a Philox helper; one and all are the types of a number, and of one for
// each block.
type cipher struct {
	*writer
	blocks int
}

func (c *cipher) one(d dtypes.DType) string { return tensor(d) }
func (c *cipher) all(d dtypes.DType) string { return tensor(d, c.blocks) }

func (c *cipher) constant(x uint64, typ string) string {
	return c.let("stablehlo.constant dense<%d> : %s", x, typ)
}

func (c *cipher) op(name, a, b, typ string) string {
	return c.let("stablehlo.%s %s, %s : %s", name, a, b, typ)
}

func (c *cipher) write() {
	u64 := c.one(dtypes.Uint64)
	var word [3]string
	for i := range word {
		cut := c.let("stablehlo.slice %%state [%d:%d:1] : (tensor<3xui64>) -> tensor<1xui64>", i, i+1)
		word[i] = c.let("stablehlo.reshape %s : (tensor<1xui64>) -> %s", cut, u64)
	}
	low, high := c.counters(word[1], word[2])
	k0, k1 := c.halves(c.spread(word[0]))
	x0, x1 := c.halves(low)
	x2, x3 := c.halves(high)
	u32 := c.all(dtypes.Uint32)
	for round := range 10 {
		if round > 0 {
			k0 = c.op("add", k0, c.constant(0x9e3779b9, u32), u32)
			k1 = c.op("add", k1, c.constant(0xbb67ae85, u32), u32)
		}
		p0, q0 := c.product(x0, 0xd2511f53)
		p1, q1 := c.product(x2, 0xcd9e8d57)
		x0 = c.op("xor", c.op("xor", q1, x1, u32), k0, u32)
		x2 = c.op("xor", c.op("xor", q0, x3, u32), k1, u32)
		x1, x3 = p1, p0
	}
	c.finish(word, [4]string{x0, x1, x2, x3})
}

// counters returns the counter of every block, in two words: the state's, plus the block's number.
func (c *cipher) counters(low, high string) (lows, highs string) {
	u64 := c.all(dtypes.Uint64)
	return c.sum(c.spread(low), c.spread(high), c.let("stablehlo.iota dim = 0 : %s", u64), u64)
}

// sum adds to a number of two words.
func (c *cipher) sum(low, high, add, typ string) (sumLow, sumHigh string) {
	sumLow = c.op("add", low, add, typ)
	bits := "tensor<i1>"
	if typ != c.one(dtypes.Uint64) {
		bits = c.all(dtypes.Bool)
	}
	over := c.let("stablehlo.compare LT, %s, %s, UNSIGNED : (%s, %s) -> %s", sumLow, low, typ, typ, bits)
	carry := c.let("stablehlo.convert %s : (%s) -> %s", over, bits, typ)
	return sumLow, c.op("add", high, carry, typ)
}

// spread gives every block the number.
func (c *cipher) spread(x string) string {
	return c.let("stablehlo.broadcast_in_dim %s, dims = [] : (%s) -> %s", x, c.one(dtypes.Uint64), c.all(dtypes.Uint64))
}

// halves returns the low and the high 32 bits.
func (c *cipher) halves(x string) (low, high string) {
	u64, u32 := c.all(dtypes.Uint64), c.all(dtypes.Uint32)
	top := c.op("shift_right_logical", x, c.constant(32, u64), u64)
	return c.let("stablehlo.convert %s : (%s) -> %s", x, u64, u32), c.let("stablehlo.convert %s : (%s) -> %s", top, u64, u32)
}

// product returns the 64 bits of x times factor, in halves.
func (c *cipher) product(x string, factor uint64) (low, high string) {
	u64 := c.all(dtypes.Uint64)
	wide := c.let("stablehlo.convert %s : (%s) -> %s", x, c.all(dtypes.Uint32), u64)
	return c.halves(c.op("multiply", wide, c.constant(factor, u64), u64))
}

// finish joins the words of the blocks and moves the state on.
func (c *cipher) finish(state [3]string, x [4]string) {
	column, rows := tensor(dtypes.Uint32, c.blocks, 1), tensor(dtypes.Uint32, c.blocks, 4)
	for i := range x {
		x[i] = c.let("stablehlo.reshape %s : (%s) -> %s", x[i], c.all(dtypes.Uint32), column)
	}
	rowwise := c.let("stablehlo.concatenate %s, %s, %s, %s, dim = 1 : (%s, %s, %s, %s) -> %s", x[0], x[1], x[2], x[3], column,
		column, column, column, rows)
	flat := tensor(dtypes.Uint32, 4*c.blocks)
	words := c.let("stablehlo.reshape %s : (%s) -> %s", rowwise, rows, flat)
	u64 := c.one(dtypes.Uint64)
	state[1], state[2] = c.sum(state[1], state[2], c.constant(uint64(c.blocks), u64), u64)
	for i := range state {
		state[i] = c.let("stablehlo.reshape %s : (%s) -> tensor<1xui64>", state[i], u64)
	}
	next := c.let("stablehlo.concatenate %s, %s, %s, dim = 0 : (tensor<1xui64>, tensor<1xui64>, tensor<1xui64>) -> tensor<3xui64>",
		state[0], state[1], state[2])
	c.line("return %s, %s : tensor<3xui64>, %s", next, words, flat)
}
