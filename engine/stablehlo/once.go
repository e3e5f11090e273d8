package stablehlo

import (
	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// big is from how many elements on it matters how often a value goes through memory.
const big = 1 << 20

// once returns the activations of a function: large values that are made element by element,
// multiplied by a matrix and read by others too. Left to itself XLA stores what they are made of
// besides, and has each reader make them again; what they are made of is then written, and read,
// for nothing.
func (w *writer) once(nodes []*ir.Node) map[*ir.Node]bool {
	uses, multiplied := map[*ir.Node]int{}, map[*ir.Node]bool{}
	for _, n := range nodes {
		for _, v := range n.Inputs {
			if n.Op != compute.OpTypeReshape {
				x := unshaped(v.Node)
				uses[x]++
				multiplied[x] = multiplied[x] || n.Op == compute.OpTypeDotGeneral
			}
		}
	}
	out := map[*ir.Node]bool{}
	for _, n := range nodes {
		if op.Of(n.Op).Elementwise() && multiplied[n] && uses[n] > 1 && n.Outputs[0].Size() >= big {
			out[n] = true
		}
	}
	return out
}

// unshaped returns what a node has the elements of.
func unshaped(n *ir.Node) *ir.Node {
	for n.Op == compute.OpTypeReshape {
		n = n.Inputs[0].Node
	}
	return n
}

// fix has a node's output in memory before anybody reads it.
func (w *writer) fix(n *ir.Node) {
	v := n.Outputs[0]
	w.names[v] = w.let("stablehlo.optimization_barrier %s : %s", w.name(v), typeOf(v))
}
