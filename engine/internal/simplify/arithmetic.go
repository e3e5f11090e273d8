package simplify

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// arithmetic drops operations with a neutral constant.
func (p *pass) arithmetic(n *ir.Node) *ir.Value {
	neutral := op.Of(n.Op).Neutral
	if neutral == nil {
		return nil
	}
	x, y := n.Inputs[0], n.Inputs[1]
	if isSplat(y, neutral.Value) {
		return x
	}
	if neutral.Left && isSplat(x, neutral.Value) {
		return y
	}
	return nil
}

// isSplat reports whether every element of v is the constant x; zeros are told apart by their sign.
func isSplat(v *ir.Value, x float64) bool {
	for v.Node.Op == compute.OpTypeBroadcastInDim {
		v = v.Node.Inputs[0]
	}
	l, ok := v.Node.Attr.(ir.Literal)
	if !ok || !ir.Splat(v, l) {
		return false
	}
	size := v.DType().Size()
	return string(l.Data[:size]) == string(element(v.DType(), x))
}

// element returns the bytes of a small number in a dtype; nil for types that are not looked at.
func element(d dtypes.DType, x float64) []byte {
	switch d {
	case dtypes.Float32:
		return ir.BytesOf([]float32{float32(x)})
	case dtypes.Float64:
		return ir.BytesOf([]float64{x})
	case dtypes.Int32, dtypes.Uint32:
		return ir.BytesOf([]int32{int32(x)})
	case dtypes.Int64, dtypes.Uint64:
		return ir.BytesOf([]int64{int64(x)})
	}
	return nil
}
