package nn

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// Features returns observations as float32 numbers [..., features] for an MLP: boxes
// flat, whole numbers one-hot, the leaves of a Dict one after another.
func Features(space rl.Space, x rl.Tree) *Node {
	leaves := space.Leaves()
	parts := make([]*Node, len(leaves))
	for i, l := range leaves {
		parts[i] = features(l.Space, x.Leaf(l.Name).Node())
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return Concatenate(parts, -1)
}

func features(space rl.Space, x *Node) *Node {
	switch s := space.(type) {
	case rl.Discrete:
		return OneHot(SubScalar(ConvertDType(x, dtypes.Int32), s.Start), s.N, dtypes.Float32)
	case rl.MultiDiscrete:
		parts := make([]*Node, len(s.N))
		for i, n := range s.N {
			digit := Squeeze(SliceAxis(x, -1, AxisElem(i)), -1)
			parts[i] = OneHot(ConvertDType(digit, dtypes.Int32), n, dtypes.Float32)
		}
		return Concatenate(parts, -1)
	}
	event := space.Shape().Dimensions
	lead := x.Shape().Dimensions[:x.Rank()-len(event)]
	return Reshape(pixels(x), append(append([]int(nil), lead...), size(event))...)
}
