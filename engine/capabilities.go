package engine

import (
	"sync"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/record"
)

// capabilities lists what the engine does: every operation with a loop or a lowering, and views.
var capabilities = sync.OnceValue(func() compute.Capabilities {
	return record.Capabilities(func(t compute.OpType) bool {
		_, stepped := howOf(t)
		return stepped || ir.Elementwise(t) || ir.View(t) || t == compute.OpTypeBroadcastInDim
	})
})
