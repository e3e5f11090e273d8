package rowwise_test

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// ownColumn takes one element of each row of x, or of the row that lies so many further on.
func ownColumn(x, column *Node, further int) *Node {
	row := Iota(x.Graph(), shapes.Make(dtypes.Int32, rows, 1), 0)
	if further > 0 {
		row = ModScalar(AddScalar(row, further), rows)
	}
	return Gather(x, Concatenate([]*Node{row, ExpandAxes(column, -1)}, 1))
}

// arm returns an arm of a branch.
func arm(x *Node) *Function {
	return NewClosure(x.Graph(), func(*Graph) []*Node { return []*Node{Neg(x)} })
}

// loop does something five times.
func loop(x *Node, f func(x *Node) *Node) *Node {
	g := x.Graph()
	shape := x.Shape()
	number := func(g *Graph, n int32) *Node { return Const(g, n) }
	state := func(g *Graph) (i, x *Node) {
		return Parameter(g, "i", shapes.Make(dtypes.Int32)), Parameter(g, "x", shape)
	}
	cond := NewClosure(g, func(g *Graph) []*Node {
		i, _ := state(g)
		return []*Node{LessThan(i, number(g, 5))}
	})
	body := NewClosure(g, func(g *Graph) []*Node {
		i, x := state(g)
		return []*Node{Add(i, number(g, 1)), f(x)}
	})
	return While(cond, body, number(g, 0), x)[1]
}

// attention lets what lies along the second axis of x look at each other.
func attention(x *Node) *Node {
	return Einsum("bts,bsf->btf", Softmax(Einsum("btf,bsf->bts", x, x), -1), x)
}
