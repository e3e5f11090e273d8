package stablehlo_test

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/record"
	"github.com/weft-rl/weft/engine/stablehlo"
)

// A recorded computation becomes a program that any XLA plugin compiles.
func Example() {
	b := record.New("norm", nil)
	f := b.Main()
	x, _ := f.Parameter("x", shapes.Make(dtypes.Float32, 3), nil)
	square, _ := f.Mul(x, x)
	sum, _ := f.ReduceSum(square)
	norm, _ := f.Sqrt(sum)
	_ = f.Return([]compute.Value{norm}, nil)
	text, _ := stablehlo.Text(b.Module(), stablehlo.Options{})
	fmt.Print(text)
	// Output:
	// module @f_norm {
	//   func.func public @main(%arg0: tensor<3xf32>) -> (tensor<f32>) {
	//     %0 = stablehlo.multiply %arg0, %arg0 : tensor<3xf32>
	//     %1 = stablehlo.constant dense<0.0> : tensor<f32>
	//     %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
	//     %3 = stablehlo.sqrt %2 : tensor<f32>
	//     return %3 : tensor<f32>
	//   }
	// }
}
