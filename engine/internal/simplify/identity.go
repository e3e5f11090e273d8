package simplify

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// identity returns a simpler value with the bits of n's output, or nil. It may add nodes.
func (p *pass) identity(n *ir.Node) *ir.Value {
	switch n.Op {
	case compute.OpTypeIdentity, compute.OpTypeSchedulingBarrier:
		return n.Inputs[0]
	case compute.OpTypeConvertDType, compute.OpTypeBitcast:
		return same(n)
	case compute.OpTypeReshape:
		return p.reshape(n)
	case compute.OpTypeTranspose:
		return p.transpose(n)
	case compute.OpTypeBroadcastInDim:
		return p.broadcast(n)
	case compute.OpTypeSlice:
		return same(n)
	case compute.OpTypePad:
		if slices.ContainsFunc(n.Attr.(ir.Pad).Axes, func(a compute.PadAxis) bool { return a != compute.PadAxis{} }) {
			return nil
		}
		return n.Inputs[0]
	case compute.OpTypeReverse:
		for _, a := range n.Attr.(ir.Axes).Axes {
			if n.Inputs[0].Shape.Dimensions[a] > 1 {
				return nil
			}
		}
		return n.Inputs[0]
	case compute.OpTypeDotGeneral:
		return p.dot(n)
	}
	if in := n.Inputs; len(in) == 1 && in[0].Node.Op == n.Op && op.Of(n.Op).Involution {
		return in[0].Node.Inputs[0]
	}
	if v := p.arithmetic(n); v != nil {
		return v
	}
	return p.sink(n)
}

// same returns the operand of a node that leaves shape and type alone. For a slice of the operand's
// shape that means the whole of it.
func same(n *ir.Node) *ir.Value {
	if n.Inputs[0].Shape.Equal(n.Outputs[0].Shape) {
		return n.Inputs[0]
	}
	return nil
}

func (p *pass) reshape(n *ir.Node) *ir.Value {
	in := n.Inputs[0]
	if in.Shape.Equal(n.Outputs[0].Shape) {
		return in
	}
	switch in.Node.Op {
	case compute.OpTypeReshape:
		return p.add(ir.NewNode(n.Op, nil, in.Node.Inputs[:1:1], n.Outputs[0].Shape))
	case compute.OpTypeConstant:
		return p.add(ir.NewConst(n.Outputs[0].Shape, in.Node.Attr.(ir.Literal).Data))
	}
	return nil
}

// transpose composes permutations, turns those that move only axes of length one into a reshape,
// and lets a product give its result the other way round.
func (p *pass) transpose(n *ir.Node) *ir.Value {
	in, perm := n.Inputs[0], n.Attr.(ir.Axes).Axes
	long := slices.DeleteFunc(slices.Clone(perm), func(a int) bool { return in.Shape.Dimensions[a] == 1 })
	if slices.IsSorted(long) {
		return p.add(ir.NewNode(compute.OpTypeReshape, nil, n.Inputs, n.Outputs[0].Shape))
	}
	switch in.Node.Op {
	case compute.OpTypeTranspose:
		inner := in.Node.Attr.(ir.Axes).Axes
		axes := make([]int, len(perm))
		for i, a := range perm {
			axes[i] = inner[a]
		}
		return p.add(ir.NewNode(n.Op, ir.Axes{Axes: axes}, in.Node.Inputs[:1:1], n.Outputs[0].Shape))
	case compute.OpTypeDotGeneral:
		return p.turned(n, in.Node, perm)
	}
	return nil
}

// turned makes the transpose of a product the product of its operands exchanged: the chains of
// multiply-adds are the same.
func (p *pass) turned(n, dot *ir.Node, perm []int) *ir.Value {
	d := dot.Attr.(ir.Dot)
	if len(d.LhsBatch) > 0 || p.uses[dot.Outputs[0]] > 1 {
		return nil
	}
	left := dot.Inputs[0].Shape.Rank() - len(d.LhsContract)
	for i, a := range perm {
		if a != (i+left)%len(perm) {
			return nil
		}
	}
	attr := ir.Dot{LhsContract: d.RhsContract, LhsBatch: d.RhsBatch, RhsContract: d.LhsContract, RhsBatch: d.LhsBatch}
	return p.add(ir.NewNode(dot.Op, attr, []*ir.Value{dot.Inputs[1], dot.Inputs[0]}, n.Outputs[0].Shape))
}

// dot reads through transposed operands.
func (p *pass) dot(n *ir.Node) *ir.Value {
	d := n.Attr.(ir.Dot)
	lhs, lc, lb := untransposed(n.Inputs[0], d.LhsContract, d.LhsBatch)
	rhs, rc, rb := untransposed(n.Inputs[1], d.RhsContract, d.RhsBatch)
	if lhs == n.Inputs[0] && rhs == n.Inputs[1] {
		return nil
	}
	attr := ir.Dot{LhsContract: lc, LhsBatch: lb, RhsContract: rc, RhsBatch: rb}
	return p.add(ir.NewNode(n.Op, attr, []*ir.Value{lhs, rhs}, n.Outputs[0].Shape))
}

// untransposed returns what a transposed operand was made of and its axes there, if its free axes
// keep their order.
func untransposed(v *ir.Value, contract, batch []int) (*ir.Value, []int, []int) {
	if v.Node.Op != compute.OpTypeTranspose {
		return v, contract, batch
	}
	perm := v.Node.Attr.(ir.Axes).Axes
	var free []int
	for i, a := range perm {
		if !slices.Contains(contract, i) && !slices.Contains(batch, i) {
			free = append(free, a)
		}
	}
	if !slices.IsSorted(free) {
		return v, contract, batch
	}
	through := func(axes []int) []int {
		out := make([]int, len(axes))
		for i, a := range axes {
			out[i] = perm[a]
		}
		return out
	}
	return v.Node.Inputs[0], through(contract), through(batch)
}

// broadcast reads through reshapes and broadcasts, and becomes a reshape if it only adds axes of
// length one.
func (p *pass) broadcast(n *ir.Node) *ir.Value {
	in, axes, out := n.Inputs[0], n.Attr.(ir.Axes).Axes, n.Outputs[0]
	if in.Size() == out.Size() && slices.IsSorted(axes) {
		return p.add(ir.NewNode(compute.OpTypeReshape, nil, n.Inputs, out.Shape))
	}
	switch in.Node.Op {
	case compute.OpTypeBroadcastInDim:
		inner := in.Node.Attr.(ir.Axes).Axes
		through := make([]int, len(inner))
		for i, a := range inner {
			through[i] = axes[a]
		}
		return p.add(ir.NewNode(n.Op, ir.Axes{Axes: through}, in.Node.Inputs[:1:1], out.Shape))
	case compute.OpTypeReshape, compute.OpTypeConstant:
		return p.squeezed(n, in, axes)
	}
	return nil
}

// squeezed broadcasts without the operand's axes of length one, if a reshape or a constant put them
// there.
func (p *pass) squeezed(n *ir.Node, in *ir.Value, axes []int) *ir.Value {
	var dims, kept []int
	for i, d := range in.Shape.Dimensions {
		if d != 1 {
			dims, kept = append(dims, d), append(kept, axes[i])
		}
	}
	if len(kept) == len(axes) {
		return nil
	}
	var from *ir.Value
	switch {
	case in.Node.Op == compute.OpTypeConstant:
		from = p.add(ir.NewConst(shapes.Make(in.DType(), dims...), in.Node.Attr.(ir.Literal).Data))
	case slices.Equal(in.Node.Inputs[0].Shape.Dimensions, dims):
		from = in.Node.Inputs[0]
	default:
		return nil
	}
	return p.add(ir.NewNode(n.Op, ir.Axes{Axes: kept}, []*ir.Value{from}, n.Outputs[0].Shape))
}

// sink moves an elementwise node whose operands are all broadcasts of single elements before the
// broadcast.
func (p *pass) sink(n *ir.Node) *ir.Value {
	if !ir.Elementwise(n.Op) || n.Outputs[0].Size() <= 1 {
		return nil
	}
	ins := make([]*ir.Value, len(n.Inputs))
	for i, v := range n.Inputs {
		if v.Node.Op != compute.OpTypeBroadcastInDim || v.Node.Inputs[0].Shape.Rank() != 0 {
			return nil
		}
		ins[i] = v.Node.Inputs[0]
	}
	one := p.add(ir.NewNode(n.Op, n.Attr, ins, shapes.Make(n.Outputs[0].DType())))
	return p.add(ir.NewNode(compute.OpTypeBroadcastInDim, ir.Axes{}, []*ir.Value{one}, n.Outputs[0].Shape))
}
