//go:build xla

package pjrt_test

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine/pjrt"
	"github.com/weft-rl/weft/engine/plugin"
)

// State that stays on a device from run to run. It prints nothing here, because there may be no
// plugin.
func Example() {
	found, err := plugin.Find(plugin.CPU)
	if err != nil {
		return // it says what to install
	}
	backend, err := pjrt.New(pjrt.Options{Plugin: found})
	if err != nil {
		return
	}
	defer backend.Finalize()
	shape := shapes.Make(dtypes.Float32, 2)
	g := NewGraph(backend, "double")
	x := Parameter(g, "x", shape)
	if err := g.Compile(Add(x, x)); err != nil {
		return
	}
	first, err := backend.BufferFromFlatData(0, []float32{1, 3}, shape)
	if err != nil {
		return
	}
	call, err := g.Executable().(*pjrt.Executable).Bind([]compute.Buffer{first}, pjrt.Carry{Input: 0, Output: 0})
	if err != nil {
		return
	}
	for range 10 {
		call.Start() // the host is free until it waits
		if call.Wait() != nil {
			return
		}
	}
	result := make([]float32, 2)
	if call.Outputs()[0].ToFlatData(result) == nil {
		fmt.Println(result) // [1024 3072]
	}
}
