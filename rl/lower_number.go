package rl

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// CountAt does what Count does inside a device program.
func (system) CountAt(o *Opt) Tensor {
	if o.count.in.node == nil {
		failf("optimiser %q: its count inside a device program is asked for outside of one", o.name)
	}
	return o.count.in
}

// hostColumn returns a table's numbers, and zeros for the rest of the chunk.
func hostColumn(d dtypes.DType, x []float64, size int) Tensor {
	shape := shapes.Make(d, size)
	var flat any
	switch d {
	case dtypes.Int32:
		flat = filled[int32](x, size)
	case dtypes.Int64:
		flat = filled[int64](x, size)
	case dtypes.Float32:
		flat = filled[float32](x, size)
	case dtypes.Float64:
		flat = filled[float64](x, size)
	default:
		failf("%s", fmt.Sprintf("a table of %s", d))
	}
	return constantOf(shape, flat)
}

func filled[N int32 | int64 | float32 | float64](x []float64, size int) []N {
	flat := make([]N, size)
	for i, v := range x {
		flat[i] = N(v)
	}
	return flat
}
