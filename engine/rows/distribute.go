package rows

import (
	"slices"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/ir"
)

// distribute makes sums over rows of sums and multiples those of their parts: a loss of several
// terms would otherwise tie together all that its terms are computed from.
func distribute(f *ir.Func, rows int) {
	live := f.Live()
	out := make([]*ir.Node, 0, len(f.Nodes))
	for _, n := range f.Nodes {
		if _, ok := overRows(n, rows); ok && live[n] && n.Op == compute.OpTypeReduceSum && n.Outputs[0].Shape.Rank() == 0 {
			out = split(n, out)
			continue
		}
		out = append(out, n)
	}
	f.Nodes = out
	f.Renumber()
}

// split writes a sum to a scalar, n, as operations on simpler ones. The node stays, as the last of
// those operations.
func split(n *ir.Node, out []*ir.Node) []*ir.Node {
	x := n.Inputs[0].Node
	part := func(v *ir.Value) *ir.Value {
		s := ir.NewNode(compute.OpTypeReduceSum, ir.Axes{Axes: axesOf(v)}, []*ir.Value{v}, n.Outputs[0].Shape)
		out = split(s, out)
		return s.Outputs[0]
	}
	switch x.Op {
	case compute.OpTypeAdd, compute.OpTypeSub:
		n.Op, n.Inputs, n.Attr = x.Op, []*ir.Value{part(x.Inputs[0]), part(x.Inputs[1])}, nil
	case compute.OpTypeNeg:
		n.Op, n.Inputs, n.Attr = x.Op, []*ir.Value{part(x.Inputs[0])}, nil
	case compute.OpTypeMul:
		for i := range 2 {
			if factor := scalarOf(x.Inputs[i]); factor != nil {
				n.Op, n.Inputs, n.Attr = x.Op, []*ir.Value{part(x.Inputs[1-i]), factor}, nil
				break
			}
		}
	case compute.OpTypeReshape, compute.OpTypeIdentity:
		sum := part(x.Inputs[0])
		n.Op, n.Inputs, n.Attr = compute.OpTypeIdentity, []*ir.Value{sum}, nil
	}
	return append(out, n)
}

func axesOf(v *ir.Value) []int { return count(v.Shape.Rank()) }

// scalarOf returns the scalar that v repeats, nil if it does not.
func scalarOf(v *ir.Value) *ir.Value {
	for slices.Contains([]compute.OpType{compute.OpTypeBroadcastInDim, compute.OpTypeReshape, compute.OpTypeIdentity}, v.Node.Op) {
		if v = v.Node.Inputs[0]; v.Shape.Rank() == 0 {
			return v
		}
	}
	return nil
}
