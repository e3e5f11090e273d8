package rl

import "github.com/gomlx/gomlx/core/graph"

// GraphUniform draws as Key.Uniform does, rows x n numbers, with the key's words
// as a graph value of shape [5]. It exists so that a whole loop can become one
// device program and still draw the same numbers.
func (system) GraphUniform(key *graph.Node, use string, rows, n int) *graph.Node {
	return newGraphKey(key).use(use).uniform(rows, n)
}

// Words returns the key as the graph's functions take it: its own four, and the
// global index of row 0.
func (system) Words(k Key) [5]uint32 { return [5]uint32{k.w[0], k.w[1], k.w[2], k.w[3], k.row} }
