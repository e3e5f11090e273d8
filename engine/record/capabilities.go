package record

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
)

// written are the operations that the recorder turns into others, or that need nothing to run.
var written = []compute.OpType{
	compute.OpTypeParameter, compute.OpTypeConstant, compute.OpTypeCall, compute.OpTypeDot,
	compute.OpTypeFusedSoftmax, compute.OpTypeFusedGelu, compute.OpTypeFusedLayerNorm, compute.OpTypeFusedDense,
	compute.OpTypeFusedScaledDotProductAttention, compute.OpTypeFusedAttentionQKVProjection,
	compute.OpTypeBatchNormForInference, compute.OpTypeBatchNormForTraining, compute.OpTypeBatchNormGradient,
}

// Capabilities are those of a backend that records with this package and runs the operations that runs says.
func Capabilities(runs func(compute.OpType) bool) compute.Capabilities {
	c := compute.Capabilities{Functions: true, Operations: map[compute.OpType]bool{}, DTypes: map[dtypes.DType]bool{}}
	for op := range compute.OpTypeLast {
		if op != compute.OpTypeCapturedValue && (runs(op) || slices.Contains(written, op)) {
			c.Operations[op] = true
		}
	}
	for _, d := range dtypes.DTypeValues() {
		if CheckDType(compute.OpTypeParameter, d) == nil {
			c.DTypes[d] = true
		}
	}
	return c
}
