package engine_test

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine"
)

// GoMLX runs on the engine as on any backend.
func Example() {
	backend, err := engine.New("")
	if err != nil {
		panic(err)
	}
	defer backend.Finalize()
	double, err := graph.NewExec(backend, func(x *graph.Node) *graph.Node { return graph.Add(x, x) })
	if err != nil {
		panic(err)
	}
	y, err := double.Call1([]float32{1, 2, 3})
	if err != nil {
		panic(err)
	}
	fmt.Println(y.Value())
	// Output: [2 4 6]
}

// A loop that runs the same graph many times binds its inputs and outputs once.
func ExampleExecutable_Bind() {
	backend, err := engine.New("threads=1")
	if err != nil {
		panic(err)
	}
	defer backend.Finalize()
	shape := shapes.Make(dtypes.Float32, 2)
	g := graph.NewGraph(backend, "square")
	x := graph.Parameter(g, "x", shape)
	if err := g.Compile(graph.Mul(x, x)); err != nil {
		panic(err)
	}
	in, data, err := backend.NewSharedBuffer(0, shape)
	if err != nil {
		panic(err)
	}
	call, err := g.Executable().(*engine.Executable).Bind([]compute.Buffer{in}, nil)
	if err != nil {
		panic(err)
	}
	defer call.Close()
	out, err := call.Outputs()[0].Data()
	if err != nil {
		panic(err)
	}
	for i := range 3 {
		copy(data.([]float32), []float32{float32(i), float32(i) + 0.5})
		if err := call.Run(); err != nil {
			panic(err)
		}
		fmt.Println(out)
	}
	// Output:
	// [0 0.25]
	// [1 2.25]
	// [4 6.25]
}

// The configuration turns passes off; a mistake in it is reported whole.
func ExampleNew() {
	_, err := engine.New("threads=0,off=magic")
	fmt.Println(err)
	// Output: engine configuration "threads=0,off=magic": threads=0: want a positive number
	// off=magic: want all or one of fold, cse, identities, dce, fuse, epilogue, tail, sweep, inplace
}
