package simplify

import (
	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// maxFolded is the largest constant that folding may make, in bytes, unless its operands are as
// large.
const maxFolded = 1 << 16

// foldable reports whether a node depends on constants alone and should be computed now. Broadcasts
// stay: what reads them takes the one element as it is.
func foldable(n *ir.Node) bool {
	switch n.Op {
	case compute.OpTypeBroadcastInDim, compute.OpTypeOptimizationBarrier, compute.OpTypeSchedulingBarrier:
		return false
	}
	if len(n.Funcs) > 0 || op.Of(n.Op).Class == op.Source {
		return false
	}
	in, out := 0, 0
	for _, v := range n.Inputs {
		if v.Node.Op != compute.OpTypeConstant {
			return false
		}
		in += v.Bytes()
	}
	for _, v := range n.Outputs {
		out += v.Bytes()
	}
	return out <= max(in, maxFolded)
}

func (p *pass) fold(n *ir.Node) ([]*ir.Node, error) {
	data, err := p.Eval(n)
	if err != nil {
		return nil, err
	}
	consts := make([]*ir.Node, len(data))
	for i, d := range data {
		consts[i] = ir.NewConst(n.Outputs[i].Shape, d)
	}
	return consts, nil
}

// constantCaptures moves constants that closures capture into the closures, where they can be
// folded.
func constantCaptures(n *ir.Node, o Options) bool {
	if !o.Fold {
		return false
	}
	return recapture(n, func(c *ir.Func, capture, from *ir.Value) bool {
		if from.Node.Op != compute.OpTypeConstant {
			return false
		}
		k := ir.NewConst(from.Shape, from.Node.Attr.(ir.Literal).Data)
		replaceNode(c, capture.Node, k)
		return true
	})
}

// unusedCaptures drops captures that a closure does not use.
func unusedCaptures(n *ir.Node) bool {
	used := map[*ir.Value]bool{}
	for _, c := range n.Funcs {
		for v := range uses(c) {
			used[v] = true
		}
	}
	return recapture(n, func(c *ir.Func, capture, _ *ir.Value) bool {
		if used[capture] {
			return false
		}
		replaceNode(c, capture.Node, nil)
		return true
	})
}

// recapture goes over the captures of a node's closures; those for which drop says so are no
// captures any more.
func recapture(n *ir.Node, drop func(c *ir.Func, capture, from *ir.Value) bool) bool {
	inputs := append([]*ir.Value{}, n.Operands()...)
	changed := false
	kept := make([][]*ir.Value, len(n.Funcs))
	for i, c := range n.Funcs {
		for j, from := range n.CapturesOf(i) {
			if drop(c, c.Captures[j], from) {
				changed = true
				continue
			}
			kept[i] = append(kept[i], c.Captures[j])
			inputs = append(inputs, from)
		}
	}
	for i, c := range n.Funcs {
		c.Captures = kept[i]
	}
	n.Inputs = inputs
	return changed
}

// replaceNode puts another node, with the same single output, in the place of a node, or removes
// it.
func replaceNode(f *ir.Func, old, now *ir.Node) {
	nodes := make([]*ir.Node, 0, len(f.Nodes))
	for _, n := range f.Nodes {
		if n != old {
			nodes = append(nodes, n)
		} else if now != nil {
			now.Outputs[0] = old.Outputs[0]
			now.Outputs[0].Node = now
			nodes = append(nodes, now)
		}
	}
	f.Nodes = nodes
}

// dead drops nodes that no result needs. Parameters stay: they are the function's signature.
func dead(f *ir.Func) bool {
	live := map[*ir.Node]bool{}
	for _, v := range f.Results {
		live[v.Node] = true
	}
	for _, v := range f.Params {
		live[v.Node] = true
	}
	for _, v := range f.Captures {
		live[v.Node] = true
	}
	for i := len(f.Nodes) - 1; i >= 0; i-- {
		if live[f.Nodes[i]] {
			for _, v := range f.Nodes[i].Inputs {
				live[v.Node] = true
			}
		}
	}
	kept := f.Nodes[:0]
	for _, n := range f.Nodes {
		if live[n] {
			kept = append(kept, n)
		}
	}
	changed := len(kept) != len(f.Nodes)
	clear(f.Nodes[len(kept):])
	f.Nodes = kept
	return changed
}
