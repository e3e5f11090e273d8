package stablehlo_test

import (
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine/ptx/ptxtest"
	"github.com/weft-rl/weft/engine/stablehlo"
)

// Large activations that several read are stored once; small ones, and those that one product alone
// reads, are left to XLA.
func TestOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		rows int
		grad bool
		want int
	}{{"large: what is multiplied forth and back", 1 << 14, true, 2}, {"small", 1 << 8, true, 0}, {"read once", 1 << 14, false, 0}} {
		t.Run(c.name, func(t *testing.T) {
			tap := ptxtest.NewTap(t)
			g := NewGraph(tap, "once")
			x := Parameter(g, "x", shapes.Make(dtypes.Float32, c.rows, 16))
			w := Parameter(g, "w", shapes.Make(dtypes.Float32, 16, 64))
			v := Parameter(g, "v", shapes.Make(dtypes.Float32, 64, 64))
			y := Dot(Tanh(Dot(x, w).Product()), v).Product()
			if c.grad {
				g.Compile(Gradient(ReduceAllSum(Mul(y, y)), w, v)...)
			} else {
				g.Compile(y)
			}
			text, err := stablehlo.Text(tap.Modules[0], stablehlo.Options{Spread: true})
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(text, "optimization_barrier"); n != c.want {
				t.Errorf("%d values are stored, want %d", n, c.want)
			}
		})
	}
}
