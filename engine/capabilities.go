package engine

import (
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
)

// capabilities lists what the engine does: every operation with a loop or a lowering, views, and the fused operations
// that the recorder writes out.
var capabilities = sync.OnceValue(func() compute.Capabilities {
	c := compute.Capabilities{Functions: true, Operations: map[compute.OpType]bool{}, DTypes: map[dtypes.DType]bool{}}
	for op := range compute.OpTypeLast {
		if _, lowered := lowerings[op]; lowered || ir.Elementwise(op) || ir.View(op) {
			c.Operations[op] = true
		}
	}
	for _, op := range []compute.OpType{
		compute.OpTypeParameter, compute.OpTypeConstant, compute.OpTypeBroadcastInDim, compute.OpTypeTranspose,
		compute.OpTypeCall, compute.OpTypeDot, compute.OpTypeFusedSoftmax, compute.OpTypeFusedGelu,
		compute.OpTypeFusedLayerNorm, compute.OpTypeFusedDense, compute.OpTypeFusedScaledDotProductAttention,
		compute.OpTypeFusedAttentionQKVProjection, compute.OpTypeBatchNormForInference,
		compute.OpTypeBatchNormForTraining, compute.OpTypeBatchNormGradient,
	} {
		c.Operations[op] = true
	}
	for _, d := range []dtypes.DType{dtypes.Bool, dtypes.Int8, dtypes.Int16, dtypes.Int32, dtypes.Int64, dtypes.Uint8,
		dtypes.Uint16, dtypes.Uint32, dtypes.Uint64, dtypes.Float16, dtypes.BFloat16, dtypes.Float32, dtypes.Float64} {
		c.DTypes[d] = true
	}
	return c
})
