package nn

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// ForAgents returns x with an axis of agents inserted: the same for all of them. A
// single agent has no such axis.
func ForAgents(x *Node, axis, agents int) *Node {
	if agents <= 1 {
		return x
	}
	x = ExpandAxes(x, axis)
	dims := slices.Clone(x.Shape().Dimensions)
	dims[axis] = agents
	return BroadcastToDims(x, dims...)
}

// Numbered returns features [..., agent, features] with the agent's number beside
// them, one-hot: what lets agents that share a network do different things where
// they see the same. A single agent has no number.
func Numbered(x *Node, agents int) *Node {
	if agents <= 1 {
		return x
	}
	dims := slices.Clone(x.Shape().Dimensions)
	dims[x.Rank()-1] = agents
	id := ConvertDType(Diagonal(x.Graph(), agents), dtypes.Float32)
	return Concatenate([]*Node{x, BroadcastToDims(ExpandLeftToRank(id, x.Rank()), dims...)}, -1)
}
