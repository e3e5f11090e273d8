package shuffle

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/internal/subgraph"
)

// Nodes returns where positions point in the order of n things that a key names, as int32: At as
// graph code. Positions are a uint32 vector.
func Nodes(n int, key [Words]*graph.Node, positions *graph.Node) *graph.Node {
	p, g, like := shape(n), positions.Graph(), positions.Shape()
	x := p.graphOnce(positions, key)
	if n&(n-1) == 0 && n >= 1<<minBits {
		return graph.ConvertDType(x, dtypes.Int32) // it is below n at once
	}
	beyond := func(x *graph.Node) *graph.Node { return graph.GreaterOrEqual(x, graph.ConstAs(x, uint32(n))) }
	cond := subgraph.Closure(g, func(g *graph.Graph) []*graph.Node {
		return []*graph.Node{graph.LogicalAny(beyond(graph.Parameter(g, "x", like)))}
	})
	walk := subgraph.Closure(g, func(g *graph.Graph) []*graph.Node {
		x := graph.Parameter(g, "x", like)
		return []*graph.Node{graph.Where(beyond(x), p.graphOnce(x, key), x)}
	})
	return graph.ConvertDType(graph.While(cond, walk, x)[0], dtypes.Int32)
}

// graphOnce returns once.
func (p *Order) graphOnce(x *graph.Node, key [rounds]*graph.Node) *graph.Node {
	l := graph.BitwiseShiftRightLogicalScalar(x, uint32(p.right))
	r := graph.BitwiseAnd(x, graph.ConstAs(x, p.maskR))
	half := func(a, b *graph.Node, key *graph.Node, mask uint32) *graph.Node {
		return graph.BitwiseXor(a, graph.BitwiseAnd(graphMix(graph.Add(b, key)), graph.ConstAs(b, mask)))
	}
	for i := 0; i < rounds; i += 2 {
		l = half(l, r, key[i], p.maskL)
		r = half(r, l, key[i+1], p.maskR)
	}
	return graph.BitwiseOr(graph.BitwiseShiftLeftScalar(l, uint32(p.right)), r)
}

// graphMix returns mix.
func graphMix(x *graph.Node) *graph.Node {
	down := func(x *graph.Node, n uint32) *graph.Node {
		return graph.BitwiseXor(x, graph.BitwiseShiftRightLogicalScalar(x, n))
	}
	x = graph.Mul(down(x, 16), graph.ConstAs(x, uint32(0x85ebca6b)))
	x = graph.Mul(down(x, 13), graph.ConstAs(x, uint32(0xc2b2ae35)))
	return down(x, 16)
}
