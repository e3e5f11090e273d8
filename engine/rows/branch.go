package rows

import (
	"maps"
	"slices"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/ir"
)

// branch returns an outcome of an If. One that is taken if any row wants it is taken by each row
// for itself, if those that do not want it are shown to come out as in the other arm.
func (f *finder) branch(v *ir.Value, axis int) *Node {
	if f.region {
		refuse("a branch is computed before a region, which reads what comes out of it")
	}
	n := v.Node
	for i, arm := range n.Funcs {
		for j, c := range n.CapturesOf(i) {
			f.outer[arm.Captures[j]] = c
		}
	}
	cond, any := f.condition(n.Inputs[0])
	b := f.arms[n]
	if b == nil || b.Cond != cond {
		b = &Branch{Cond: cond}
		f.arms[n] = b
	}
	then := f.under(cond, true, n.Funcs[0].Results[v.Index], axis)
	otherwise := f.under(cond, false, n.Funcs[1].Results[v.Index], axis)
	if any && f.under(cond, false, n.Funcs[0].Results[v.Index], axis) != otherwise {
		refuse("a branch that any row takes changes rows that do not want it")
	}
	if then == otherwise {
		return then
	}
	for _, o := range b.Outcomes {
		if o.Then == then && o.Else == otherwise {
			return o.Chosen
		}
	}
	chosen := f.node(Node{Op: Chosen, Type: v.DType(), N: then.N, Args: []*Node{cond}, Branch: b, Which: len(b.Outcomes)})
	b.Outcomes = append(b.Outcomes, Outcome{then, otherwise, chosen})
	return chosen
}

// condition returns a branch's, and whether it is that of any row.
func (f *finder) condition(v *ir.Value) (cond *Node, any bool) {
	v = f.source(v)
	if v.Node.Op == compute.OpTypeReduceLogicalOr && slices.Contains(v.Node.Inputs[0].Shape.Dimensions, f.rows) {
		x := v.Node.Inputs[0]
		row := f.row(x, f.rowAxis(x))
		return f.reduce(compute.OpTypeReduceLogicalOr, row, [][]int{count(row.N)}), true
	}
	return f.row(v, -1), false
}

// suppose notes what a condition is. If it is that one of several holds, and does not, none does.
func (f *finder) suppose(n *Node, yes bool) {
	f.assume[n] = yes
	alternatives := n.Op == Reduce && n.Map == compute.OpTypeReduceLogicalOr || n.Op == Map && n.Map == compute.OpTypeLogicalOr
	if n.Op == Pick && len(n.Args) == 1 && n.Args[0].N == 1 || alternatives && !yes {
		for _, a := range n.Args {
			f.suppose(a, yes)
		}
	}
}

// under returns row where a condition is known.
func (f *finder) under(cond *Node, yes bool, v *ir.Value, axis int) *Node {
	outer, stage := f.assume, f.stage
	f.assume = maps.Clone(outer)
	if f.assume == nil {
		f.assume = map[*Node]bool{}
	}
	f.suppose(cond, yes)
	f.last++
	f.stage = f.last
	n := f.row(v, axis)
	f.assume, f.stage = outer, stage
	return n
}
