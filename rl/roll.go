package rl

import (
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/internal/subgraph"
)

// Rolls reports whether a chain of many equal steps had better be a loop of the
// graph than be written out. XLA's compiler for CPUs takes long for a long chain, and
// what it makes of one whose links read all of the link before is slow; nothing is
// fused across the rounds of a loop. On a GPU a round waits for the host, and the CPU
// engine compiles chains well.
func (c *Ctx) Rolls() bool { return c.dev.rolls }

// Repeat returns what n rounds of step make of state, as a loop of the graph. i is the number of
// the round, an int32 scalar.
func Repeat(g *graph.Graph, n int, state []*graph.Node, step func(i *graph.Node, state []*graph.Node) []*graph.Node) []*graph.Node {
	return subgraph.Repeat(g, n, state, step)
}
