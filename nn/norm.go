package nn

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// RMSNorm returns x, [..., features], divided by the root of its mean square over the features,
// times weights that start at 1 (Zhang and Sennrich, 2019).
func RMSNorm(c *rl.Ctx, sc *model.Scope, x *Node) *Node {
	mean := ReduceAndKeep(Square(x), ReduceMean, -1)
	scale := Param(c, sc, "scale", Fill(1), lastDim(x))
	return Mul(Div(x, Sqrt(AddScalar(mean, 1e-4))), ExpandLeftToRank(scale, x.Rank()))
}
