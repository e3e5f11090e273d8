package rows

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
)

// builder makes nodes, each one once.
type builder struct {
	nodes  map[string]*Node
	assume map[*Node]bool // conditions that hold in the arm being written
}

func (b *builder) node(n Node) *Node {
	args := make([]int, len(n.Args))
	for i, a := range n.Args {
		args[i] = a.ID
	}
	branch := ""
	if n.Branch != nil {
		branch = fmt.Sprintf("%p", n.Branch)
	}
	key := fmt.Sprint(n.Op, n.Type, n.N, args, n.Map, n.Bits, n.From, n.Groups, n.Least, n.Input, n.Place, n.Dyn, n.Weight,
		n.State, branch, n.Which)
	if old := b.nodes[key]; old != nil {
		return old
	}
	n.ID = len(b.nodes)
	b.nodes[key] = &n
	return &n
}

func (b *builder) constant(t dtypes.DType, bits ...uint64) *Node {
	return b.node(Node{Op: Const, Type: t, N: len(bits), Bits: bits})
}

// apply returns an elementwise operation.
func (b *builder) apply(op compute.OpType, t dtypes.DType, n int, args ...*Node) *Node {
	if op == compute.OpTypeWhere {
		if yes, ok := b.known(args[0]); ok {
			if yes {
				return args[1]
			}
			return args[2]
		}
	}
	return b.node(Node{Op: Map, Map: op, Type: t, N: n, Args: args})
}

// known returns what a condition is, if the arm that is being written says so.
func (b *builder) known(n *Node) (yes, ok bool) {
	if yes, ok := b.assume[n]; ok {
		return yes, true
	}
	if n.Op == Pick && len(n.Args) == 1 && n.Args[0].N == 1 {
		return b.known(n.Args[0])
	}
	return false, false
}

// pick takes elements of operands. Picks of picks and of constants become one.
func (b *builder) pick(t dtypes.DType, from []At, args ...*Node) *Node {
	from = slices.Clone(from)
	var kept []*Node
	for i, f := range from {
		a := args[f.Arg]
		if a.Op == Pick {
			f = a.From[f.Elem]
			a = a.Args[f.Arg]
		}
		at := slices.Index(kept, a)
		if at < 0 {
			at = len(kept)
			kept = append(kept, a)
		}
		from[i] = At{at, f.Elem}
	}
	if len(kept) == 1 && kept[0].N == len(from) && inOrder(from) {
		return kept[0]
	}
	if !slices.ContainsFunc(kept, func(a *Node) bool { return a.Op != Const }) {
		bits := make([]uint64, len(from))
		for i, f := range from {
			bits[i] = kept[f.Arg].Bits[f.Elem]
		}
		return b.constant(t, bits...)
	}
	return b.node(Node{Op: Pick, Type: t, N: len(from), From: from, Args: kept})
}

func inOrder(from []At) bool {
	for i, f := range from {
		if f.Elem != i {
			return false
		}
	}
	return true
}

// spread returns a scalar n times.
func (b *builder) spread(x *Node, n int) *Node {
	return b.pick(x.Type, make([]At, n), x)
}

// reduce makes groups of elements one each; a group of one is that element.
func (b *builder) reduce(op compute.OpType, x *Node, groups [][]int) *Node {
	if !slices.ContainsFunc(groups, func(g []int) bool { return len(g) != 1 }) {
		from := make([]At, len(groups))
		for i, g := range groups {
			from[i].Elem = g[0]
		}
		return b.pick(x.Type, from, x)
	}
	return b.node(Node{Op: Reduce, Map: op, Type: x.Type, N: len(groups), Args: []*Node{x}, Groups: groups})
}
