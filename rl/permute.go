package rl

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/internal/shuffle"
)

// Permutation is a random order of 0..n-1 that needs no table: At(j) is
// computed from the key alone, so that a worker finds its own rows of a
// minibatch without drawing the others'.
type Permutation struct {
	n     int
	order shuffle.Order
}

// NewPermutation returns the order that k names, of n things.
func NewPermutation(k Key, n int) *Permutation {
	var key [shuffle.Words]uint32
	for b := range shuffle.Words / 4 {
		w := k.At(0).Bits(0, b)
		copy(key[4*b:], w[:])
	}
	return &Permutation{n, shuffle.New(n, key)}
}

// At returns where position j of the order points, for j from 0 to n-1.
func (p *Permutation) At(j int) int {
	if j < 0 || j >= p.n {
		failf("position %d is outside an order of %d elements", j, p.n)
	}
	return p.order.At(j)
}

// Fill writes positions from, from+1, ... of the order to out: At for many, and
// faster.
func (p *Permutation) Fill(out []int, from int) {
	if from < 0 || from+len(out) > p.n {
		failf("positions %d to %d are outside an order of %d elements", from, from+len(out), p.n)
	}
	p.order.Fill(out, from)
}

// GraphPermutation returns size positions of the order that k names, of n things, from
// position lo on, as graph code: the same numbers as Permutation's, as int32.
func GraphPermutation(k Key, n int, lo Int, size int) *graph.Node {
	g := k.in.w[0].Graph()
	words := k.At(0).permutationWords()
	var key [shuffle.Words]*graph.Node
	for i := range key {
		key[i] = graph.Reshape(graph.Slice(words, graph.AxisRange(i, i+1)))
	}
	shape := shapes.Make(dtypes.Uint32, size)
	x := graph.Add(rowNumbers(g, size), graph.BroadcastToShape(graph.ConvertDType(lo.Node(g), dtypes.Uint32), shape))
	return shuffle.Nodes(n, key, x)
}
