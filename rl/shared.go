package rl

import "github.com/gomlx/gomlx/core/graph"

// Draws that all rows of a call share: noise on weights, a mask of dropped units. They are made as
// if for row 0 of the whole batch, so every replica that calls the function with the same key draws
// the same numbers, whatever part of the rows it has. A function that draws so is still row by row,
// and several learners may share out the rows of a loss that does.

// SharedUniform draws numbers in (0,1) of the given dimensions that are the same for all rows, as
// the key of the call determines. A use may be drawn once in a graph function.
func (c *Ctx) SharedUniform(use string, dims ...int) *graph.Node {
	return graph.Squeeze(c.uniform(use, true, append([]int{1}, dims...)), 0)
}

// SharedNormal draws standard normal numbers of the given dimensions that are the same for all
// rows.
func (c *Ctx) SharedNormal(use string, dims ...int) *graph.Node {
	return normal(c.SharedUniform(use, append(append([]int(nil), dims...), 2)...))
}
