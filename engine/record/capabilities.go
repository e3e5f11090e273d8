package record

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/op"
)

// Capabilities returns those of a backend that records with this package and runs the operations
// that runs says. It need not run those that are recorded as others, nor parameters, constants and
// calls.
func Capabilities(runs func(compute.OpType) bool) compute.Capabilities {
	c := compute.Capabilities{Functions: true, Operations: map[compute.OpType]bool{}, DTypes: map[dtypes.DType]bool{}}
	for _, row := range op.Rows() {
		known := row.Class == op.Composite || row.Class == op.Source || row.Op == compute.OpTypeCall
		if row.Op != compute.OpTypeCapturedValue && (known || runs(row.Op)) {
			c.Operations[row.Op] = true
		}
	}
	for _, d := range dtypes.DTypeValues() {
		if CheckDType(compute.OpTypeParameter, d) == nil {
			c.DTypes[d] = true
		}
	}
	return c
}
