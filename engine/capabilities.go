package engine

import (
	"sync"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/record"
)

// capabilities lists what the engine does: every operation with a loop or a lowering, and views.
var capabilities = sync.OnceValue(func() compute.Capabilities {
	return record.Capabilities(func(op compute.OpType) bool {
		_, lowered := lowerings[op]
		return lowered || ir.Elementwise(op) || ir.View(op) || op == compute.OpTypeBroadcastInDim ||
			op == compute.OpTypeTranspose
	})
})
