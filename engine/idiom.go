package engine

import (
	"slices"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/kernel"
	"github.com/weft-rl/weft/engine/internal/loops"
	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// idiom is a few operations of a region that one loop does in one pass, each still rounding by
// itself: what layers and their gradients are made of, where passing through the cache between the
// operations takes longer than they do.
type idiom struct {
	fn   loops.Fn
	args []*ir.Value
	over []*ir.Node // the nodes that the loop does besides the last
	cost int
}

// findIdioms notes which nodes of the region end an idiom, and which are part of one.
func (b *regionBuilder) findIdioms() {
	b.idioms, b.absorbed = map[*ir.Node]*idiom{}, map[*ir.Node]bool{}
	for i, n := range b.c.nodes {
		if n == b.c.head || n.Outputs[0].DType() != dtypes.Float32 {
			continue
		}
		d := b.addThenActivate(n)
		if d == nil {
			d = b.backThroughTanh(n)
		}
		if d == nil || !b.postponable(d, i) {
			continue
		}
		b.idioms[n] = d
		for _, m := range d.over {
			b.absorbed[m] = true
		}
	}
}

// inputs returns what the step of a node reads.
func (b *regionBuilder) inputs(n *ir.Node) []*ir.Value {
	if d := b.idioms[n]; d != nil {
		return d.args
	}
	return n.Inputs
}

// addThenActivate matches tanh(x+y), logistic(x+y) and max(x+y, 0).
func (b *regionBuilder) addThenActivate(n *ir.Node) *idiom {
	act := op.Of(n.Op).AfterAdd
	if n.Op == compute.OpTypeMax && constant32(n.Inputs[1], 0) {
		act = kernel.Relu
	}
	if act == kernel.Identity {
		return nil
	}
	add := b.private(n.Inputs[0], compute.OpTypeAdd, 1)
	if add == nil || slices.ContainsFunc(add.Inputs, b.single) {
		return nil
	}
	return &idiom{args: add.Inputs, over: []*ir.Node{add}, cost: loopCost(n.Op),
		fn: func(dst, x, y, _ unsafe.Pointer, n int) {
			kernel.AddAct32(act, f32s(dst, n), f32s(x, n), f32s(y, n))
		}}
}

// backThroughTanh matches g * (1 - y*y), either way round.
func (b *regionBuilder) backThroughTanh(n *ir.Node) *idiom {
	if n.Op != compute.OpTypeMul {
		return nil
	}
	for i, g := range n.Inputs {
		slope := b.private(n.Inputs[1-i], compute.OpTypeSub, 1)
		if slope == nil || !constant32(slope.Inputs[0], 1) || b.single(g) {
			continue
		}
		square := b.private(slope.Inputs[1], compute.OpTypeMul, 1)
		if square == nil || square.Inputs[0] != square.Inputs[1] || b.single(square.Inputs[0]) {
			continue
		}
		return &idiom{args: []*ir.Value{g, square.Inputs[0]}, over: []*ir.Node{square, slope}, cost: 150,
			fn: func(dst, g, y, _ unsafe.Pointer, n int) {
				kernel.TanhGrad32(f32s(dst, n), f32s(g, n), f32s(y, n))
			}}
	}
	return nil
}

func f32s(p unsafe.Pointer, n int) []float32 { return unsafe.Slice((*float32)(p), n) }

// constant32 reports whether v is the number x everywhere.
func constant32(v *ir.Value, x float32) bool {
	n := v.Node
	if n.Op == compute.OpTypeBroadcastInDim {
		n = n.Inputs[0].Node
	}
	if n.Op != compute.OpTypeConstant || n.Outputs[0].DType() != dtypes.Float32 || n.Outputs[0].Size() != 1 {
		return false
	}
	data := n.Attr.(ir.Literal).Data
	return *(*float32)(unsafe.Pointer(unsafe.SliceData(data))) == x && (x != 0 || data[3] == 0)
}

// single reports whether v is one element broadcast.
func (b *regionBuilder) single(v *ir.Value) bool {
	return b.folded[v.Node] && v.Node.Inputs[0].Size() == 1 && v.Size() > 0
}

// private returns the node behind v if it is an op of the region that nothing but so many of its
// operands reads.
func (b *regionBuilder) private(v *ir.Value, op compute.OpType, reads int) *ir.Node {
	n := v.Node
	if n.Op != op || n == b.c.head || b.absorbed[n] || b.idioms[n] != nil || b.store[v] != nil || !slices.Contains(b.c.nodes, n) {
		return nil
	}
	for _, m := range b.c.nodes {
		for _, in := range m.Inputs {
			if in == v {
				reads--
			}
		}
	}
	if reads != 0 {
		return nil
	}
	return n
}

// postponable reports whether an idiom's operands are still there at its last node, number end:
// nothing that the region writes to memory meanwhile goes over them.
func (b *regionBuilder) postponable(d *idiom, end int) bool {
	first := slices.Index(b.c.nodes, d.over[0])
	for _, n := range b.c.nodes[first:end] {
		v := n.Outputs[0]
		if b.store[v] == nil || n == b.c.head {
			continue
		}
		for _, arg := range d.args {
			if own := b.owner[b.source(arg)]; own != nil && own != v && b.store[own] != nil && b.at(own) == b.at(v) {
				return false
			}
		}
	}
	return true
}
