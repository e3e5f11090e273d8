package stablehlo_test

import (
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine/internal/enginetest"
	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/ptx/ptxtest"
	"github.com/weft-rl/weft/engine/stablehlo"
)

// Loops by row and sums over rows are calls with a program in them; what is around them is written
// after what it needs.
func TestKernels(t *testing.T) {
	tap := ptxtest.NewTap(t)
	g := NewGraph(tap, "kernels")
	x := Parameter(g, "x", shapes.Make(dtypes.Float32, 64, 4))
	w := Parameter(g, "w", shapes.Make(dtypes.Float32, 4, 20))
	end := enginetest.Loop(g, 4, []*Node{x}, func(_ *Node, s []*Node) []*Node { return []*Node{Tanh(s[0])} })[0]
	grad := Gradient(ReduceAllSum(Tanh(Dot(end, w).Product())), w)[0]
	g.Compile(end, MulScalar(grad, 2))
	for _, kernels := range []bool{false, true} {
		text, err := stablehlo.Text(tap.Modules[0], stablehlo.Options{Kernels: kernels})
		if err != nil {
			t.Fatal(err)
		}
		calls, loops := strings.Count(text, "__gpu$xla.gpu.ptx"), strings.Count(text, "stablehlo.while")
		if kernels && (calls != 2 || loops != 0 || strings.Contains(text, "dot_general")) || !kernels && (calls != 0 || loops != 1) {
			t.Errorf("kernels %t: %d calls of kernels, %d loops:\n%s", kernels, calls, loops, text)
		}
	}
}

// The products of kernels round as those of the rest do.
func TestKernelPrecision(t *testing.T) {
	for p, want := range map[ir.Precision]string{ir.Exact: "tf32", ir.TF32: "tf32", ir.BF16: "bf16"} {
		tap := ptxtest.NewTap(t)
		g := NewGraph(tap, "kernels")
		x := Parameter(g, "x", shapes.Make(dtypes.Float32, 64, 4))
		w := Parameter(g, "w", shapes.Make(dtypes.Float32, 4, 64))
		v := Parameter(g, "v", shapes.Make(dtypes.Float32, 64, 20))
		loss := ReduceAllSum(Tanh(Dot(Tanh(Dot(x, w).Product()), v).Product()))
		g.Compile(Gradient(loss, w, v)...)
		text, err := stablehlo.Text(tap.Modules[0], stablehlo.Options{Kernels: true, Precision: p})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"tf32", "bf16"} {
			if strings.Contains(text, kind+"."+kind) != (kind == want) {
				t.Errorf("%s: the products of the kernel are not %s", p, want)
			}
		}
	}
}
