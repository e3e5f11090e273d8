package kernel_test

import (
	"fmt"

	"github.com/weft-rl/weft/engine/internal/kernel"
)

// A product, its scratch kept by the caller.
func ExampleGemm32() {
	g := kernel.Gemm32{
		M: 2, K: 3, N: 2,
		A: []float32{1, 2, 3, 4, 5, 6}, LDA: 3,
		B: []float32{1, 0, 0, 1, 1, -3}, LDB: 2,
		C: make([]float32, 4), LDC: 2,
	}
	scratch := make([]float32, g.Scratch())
	if err := g.Run(scratch); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.C)
	// Output: [4 -7 10 -13]
}

func ExampleReduceRows32() {
	x := []float32{1, 2, 3, 4, 5, 6}
	sums := make([]float32, 2)
	kernel.ReduceRows32(kernel.ReduceSum, sums, x, 2, 3)
	fmt.Println(sums)
	// Output: [6 15]
}

func ExampleUnary32() {
	x := []float32{-2, -0.5, 0, 2.5}
	kernel.Unary32(kernel.Round, x, x)
	fmt.Println(x)
	// Output: [-2 -0 0 2]
}
