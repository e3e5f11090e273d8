package ptx_test

import (
	"fmt"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/ptx"
	"github.com/weft-rl/weft/engine/ptx/ptxtest"
	"github.com/weft-rl/weft/engine/rows"
)

// recorded returns what a function of parameters of these shapes is recorded as.
func recorded(t *testing.T, of []shapes.Shape, fn func(xs []*Node) []*Node) *ir.Func {
	t.Helper()
	tap := ptxtest.NewTap(t)
	g := NewGraph(tap, t.Name())
	var xs []*Node
	for i, s := range of {
		xs = append(xs, Parameter(g, string(rune('a'+i)), s))
	}
	g.Compile(fn(xs)...)
	return tap.Modules[len(tap.Modules)-1].Flatten()
}

func f32(dims ...int) shapes.Shape { return shapes.Make(dtypes.Float32, dims...) }

// Sums over rows of what rows compute, as gradients are.
func TestRegions(t *testing.T) {
	for _, c := range []struct {
		name string
		of   []shapes.Shape
		fn   func(xs []*Node) []*Node
	}{
		{"one layer", []shapes.Shape{f32(128, 4), f32(4, 64)}, func(xs []*Node) []*Node {
			y := Tanh(product(xs[0], xs[1], 1, 0))
			return []*Node{product(xs[0], y, 0, 0), ReduceSum(y, 0)}
		}},
		{"two layers", []shapes.Shape{f32(128, 4), f32(4, 64), f32(64, 64)}, func(xs []*Node) []*Node {
			y := Tanh(product(xs[0], xs[1], 1, 0))
			z := Tanh(product(y, xs[2], 1, 0))
			return []*Node{product(y, z, 0, 0), ReduceSum(z, 0), ReduceAllSum(z)}
		}},
		{"there and back", []shapes.Shape{f32(128, 4), f32(4, 64), f32(64, 2)}, func(xs []*Node) []*Node {
			y := Tanh(product(xs[0], xs[1], 1, 0))
			z := product(y, xs[2], 1, 0)
			back := Mul(product(z, xs[2], 1, 1), Sub(OnesLike(y), Mul(y, y)))
			return []*Node{product(y, z, 0, 0), product(xs[0], back, 0, 0), ReduceSum(back, 0), ReduceSum(z, 0), ReduceAllSum(z)}
		}},
		{"one column", []shapes.Shape{f32(128, 4), f32(4, 64), f32(64, 1)}, func(xs []*Node) []*Node {
			y := Tanh(product(xs[0], xs[1], 1, 0))
			z := product(y, xs[2], 1, 0)
			back := product(Mul(z, z), xs[2], 1, 1)
			return []*Node{product(z, y, 0, 0), product(back, xs[0], 0, 0), ReduceAllSum(z)}
		}},
		{"gathered", []shapes.Shape{f32(300, 4), f32(4, 64), shapes.Make(dtypes.Int32, 192, 1)}, func(xs []*Node) []*Node {
			x := Gather(xs[0], xs[2])
			y := Tanh(product(x, xs[1], 1, 0))
			return []*Node{product(x, y, 0, 0)}
		}},
		{"odd rows", []shapes.Shape{f32(150, 4), f32(4, 64), f32(64, 3)}, func(xs []*Node) []*Node {
			y := Tanh(product(xs[0], xs[1], 1, 0))
			z := Exp(product(y, xs[2], 1, 0))
			return []*Node{product(xs[0], y, 0, 0), product(y, z, 0, 0), ReduceSum(z, 0), ReduceSum(y, 0), ReduceAllSum(z)}
		}},
		{"odd sizes", []shapes.Shape{f32(64, 19), f32(19, 43), f32(43, 21)}, func(xs []*Node) []*Node {
			y := Tanh(product(xs[0], xs[1], 1, 0))
			z := Tanh(product(y, xs[2], 1, 0))
			return []*Node{product(xs[0], y, 0, 0), product(y, z, 0, 0), ReduceSum(z, 0), ReduceSum(y, 0)}
		}},
		{"there and back, odd sizes", []shapes.Shape{f32(70, 36), f32(36, 20), f32(20, 40)}, func(xs []*Node) []*Node {
			y := Tanh(product(xs[0], xs[1], 1, 0))
			z := Tanh(product(y, xs[2], 1, 0))
			back := Mul(product(z, xs[2], 1, 1), y)
			return []*Node{product(y, z, 0, 0), product(xs[0], back, 0, 0), ReduceSum(back, 0), ReduceSum(z, 0)}
		}},
		{"in place", []shapes.Shape{f32(128, 4), f32(4, 64), f32(64, 64)}, func(xs []*Node) []*Node {
			y := Tanh(product(xs[0], xs[1], 1, 0))
			z := Tanh(Add(product(y, xs[2], 1, 0), y)) // takes the place of y
			w := Mul(Tanh(Add(product(z, xs[2], 1, 1), z)), z)
			return []*Node{product(xs[0], w, 0, 0), ReduceSum(w, 0), ReduceAllSum(w)}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := recorded(t, c.of, c.fn)
			rs := rows.Regions(f)
			if len(rs) != 1 {
				t.Fatalf("%d regions of\n%s", len(rs), f)
			}
			ptxtest.CheckRegion(t, f, rs[0], ptxtest.Random, ir.Exact, 1e-5)
			ptxtest.CheckRegion(t, f, rs[0], ptxtest.Random, ir.TF32, 2e-2)
			ptxtest.CheckRegion(t, f, rs[0], ptxtest.Random, ir.BF16, 1e-3)
		})
	}
}

// Regions of wide networks are done by teams, which leave the largest sums to others.
func TestWideRegions(t *testing.T) {
	for _, blocks := range []int{5, 10, 20} { // of 64, 32 and 16 rows
		t.Run(fmt.Sprint(blocks, " blocks"), func(t *testing.T) {
			ptx.Want(t, blocks)
			checkWide(t, 144, 128, 1)
			checkWide(t, 120, 84, 0)
		})
	}
}

// checkWide checks gradients of a network whose layers have these widths, of which so many sums are
// left to others.
func checkWide(t *testing.T, first, second, left int) {
	f := recorded(t, []shapes.Shape{f32(320, 4), f32(4, first), f32(first), f32(first, second), f32(second, 2)}, func(xs []*Node) []*Node {
		y := Tanh(Add(product(xs[0], xs[1], 1, 0), ExpandAxes(xs[2], 0)))
		z := Tanh(product(y, xs[3], 1, 0))
		few := MulScalar(product(z, xs[4], 1, 0), 0.1)
		loss := MulScalar(ReduceAllSum(Add(Mul(few, few), Exp(few))), 1.0/320)
		return append(Gradient(loss, xs[1], xs[2], xs[3], xs[4]), loss)
	})
	rs := rows.Regions(f)
	if len(rs) != 1 {
		t.Fatalf("%d regions of\n%s", len(rs), f)
	}
	for p, tolerance := range map[ir.Precision]float64{ir.Exact: 1e-5, ir.TF32: 2e-2, ir.BF16: 2e-3} {
		k := ptxtest.CheckRegion(t, f, rs[0], ptxtest.Random, p, tolerance)
		if len(k.Left) != left || len(k.Written) != 2*left {
			t.Errorf("%s: %d sums are left and %d matrices written, want %d and %d", p, len(k.Left), len(k.Written), left, 2*left)
		}
	}
}
