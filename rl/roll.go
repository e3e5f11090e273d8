package rl

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Rolls reports whether a chain of many equal steps had better be a loop of the
// graph than be written out. XLA's compiler for CPUs takes long for a long chain, and
// what it makes of one whose links read all of the link before is slow; nothing is
// fused across the rounds of a loop. On a GPU a round waits for the host, and the CPU
// engine compiles chains well.
func (c *Ctx) Rolls() bool { return c.dev.rolls }

// Repeat is n rounds of step as a loop of the graph, from state on: what is there
// after the last. i is the number of the round, an int32 scalar.
func Repeat(g *graph.Graph, n int, state []*graph.Node, step func(i *graph.Node, state []*graph.Node) []*graph.Node) []*graph.Node {
	index := shapes.Make(dtypes.Int32)
	parameters := func(g *graph.Graph) (i *graph.Node, now []*graph.Node) {
		i = graph.Parameter(g, "i", index)
		for _, x := range state {
			now = append(now, graph.Parameter(g, "", x.Shape()))
		}
		return i, now
	}
	cond := Closure(g, func(g *graph.Graph) []*graph.Node {
		i, _ := parameters(g)
		return []*graph.Node{graph.LessThan(i, graph.Const(g, int32(n)))}
	})
	body := Closure(g, func(g *graph.Graph) []*graph.Node {
		i, now := parameters(g)
		return append([]*graph.Node{graph.AddScalar(i, 1)}, step(i, now)...)
	})
	return graph.While(cond, body, append([]*graph.Node{graph.Const(g, int32(0))}, state...)...)[1:]
}
