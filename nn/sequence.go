package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// Visited returns the first observations of sequences [rows, time, ...] and all that followed, one
// more than there are steps: within an episode the next one is where a step led.
func Visited(first, rest rl.Tree) rl.Tree {
	leaves := make([]rl.Tensor, first.Len())
	for i := range leaves {
		one := SliceAxis(first.At(i).Node(), 1, AxisRange(0, 1))
		leaves[i] = rl.Wrap(Concatenate([]*Node{one, rest.At(i).Node()}, 1))
	}
	return rl.NewTree(first.Names(), leaves)
}

// ButLast returns [rows, time, ...] without the last time.
func ButLast(x *Node) *Node { return SliceAxis(x, 1, AxisRange(0, x.Shape().Dimensions[1]-1)) }

// ButFirst returns [rows, time, ...] without the first time.
func ButFirst(x *Node) *Node { return SliceAxis(x, 1, AxisRangeToEnd(1)) }

// LastTrue returns marks [rows, time] where x is true and the next time, if there is one, is not.
func LastTrue(x *Node) *Node {
	none := Zeros(x.Graph(), shapes.Make(dtypes.Bool, x.Shape().Dimensions[0], 1))
	return LogicalAnd(x, LogicalNot(Concatenate([]*Node{ButFirst(x), none}, 1)))
}

// StackTrees returns trees of one form with a new axis, along which they follow each other.
func StackTrees(trees []rl.Tree, axis int) rl.Tree {
	leaves := make([]rl.Tensor, trees[0].Len())
	for i := range leaves {
		parts := make([]*Node, len(trees))
		for j, t := range trees {
			parts[j] = t.At(i).Node()
		}
		leaves[i] = rl.Wrap(Stack(parts, axis))
	}
	return rl.NewTree(trees[0].Names(), leaves)
}
