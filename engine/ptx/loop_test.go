package ptx_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine/internal/enginetest"
	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/ptx/ptxtest"
	"github.com/weft-rl/weft/engine/rows"
)

// loop is a loop over states, of which the first parameters are.
type loop struct {
	name   string
	of     []shapes.Shape
	states int
	body   func(i *Node, s, rest []*Node) []*Node
}

const trips = 5

// while records a loop and returns its node.
func (l loop) while(t *testing.T) *ir.Node {
	t.Helper()
	f := recorded(t, l.of, func(xs []*Node) []*Node {
		return enginetest.Loop(xs[0].Graph(), trips, xs[:l.states], func(i *Node, s []*Node) []*Node { return l.body(i, s, xs[l.states:]) })
	})
	for _, n := range f.Nodes {
		if len(n.Funcs) == 2 {
			return n
		}
	}
	t.Fatal("no loop")
	return nil
}

func product(x, y *Node, i, j int) *Node { return DotGeneral(x, []int{i}, nil, y, []int{j}, nil) }

func ints(dims ...int) shapes.Shape { return shapes.Make(dtypes.Int32, dims...) }

// put writes x into round i of a block.
func put(block, x, i *Node) *Node {
	start := []*Node{i}
	for range x.Shape().Rank() {
		start = append(start, Const(i.Graph(), int32(0)))
	}
	return DynamicUpdateSlice(block, ExpandAxes(x, 0), start)
}

// keep writes rows into a table, as its block n.
func keep(table, x, n *Node) *Node {
	row := MulScalar(n, x.Shape().Dimensions[0])
	start := []*Node{ConvertDType(Mod(row, ConstAs(n, table.Shape().Dimensions[0])), dtypes.Int32)}
	for range x.Shape().Rank() - 1 {
		start = append(start, Const(n.Graph(), int32(0)))
	}
	return DynamicUpdateSlice(table, x, start)
}

// take returns round i of a table.
func take(table, i *Node) *Node {
	start, size := []*Node{i}, append([]int{1}, table.Shape().Dimensions[1:]...)
	for range size[1:] {
		start = append(start, Const(i.Graph(), int32(0)))
	}
	return Squeeze(DynamicSlice(table, start, size), 0)
}

// anyOf returns a branch that is taken if any row wants it, and changes only those.
func anyOf(flag, x, other *Node) *Node {
	g := x.Graph()
	return If(LogicalAny(flag),
		NewClosure(g, func(*Graph) []*Node { return []*Node{Where(flag, other, x)} }),
		NewClosure(g, func(*Graph) []*Node { return []*Node{Identity(x)} }))[0]
}

var loops = []loop{
	{"a layer", []shapes.Shape{f32(6, 4), f32(4, 4)}, 1, func(_ *Node, s, rest []*Node) []*Node {
		return []*Node{Tanh(product(s[0], rest[0], 1, 0))}
	}},
	{"long vectors", []shapes.Shape{f32(3, 70), f32(70, 33), f32(70, 33), f32(70)}, 1, func(_ *Node, s, rest []*Node) []*Node {
		h := Tanh(product(s[0], rest[0], 1, 0))
		return []*Node{Add(product(h, rest[1], 1, 1), ExpandAxes(rest[2], 0))}
	}},
	{"what rows have in common", []shapes.Shape{f32(5, 40), f32(40, 3)}, 1, func(_ *Node, s, rest []*Node) []*Node {
		few := product(s[0], rest[0], 1, 0)
		most := ReduceAndKeep(few, ReduceMax, 1)
		sum := ReduceAndKeep(s[0], ReduceSum, 1)
		return []*Node{Add(MulScalar(s[0], 0.5), BroadcastToShape(Div(sum, AddScalar(Abs(most), 1)), s[0].Shape()))}
	}},
	{"parts", []shapes.Shape{f32(4, 5)}, 1, func(_ *Node, s, _ []*Node) []*Node {
		a, b := Slice(s[0], AxisRange(), AxisRange(0, 2)), Slice(s[0], AxisRange(), AxisRange(2, 5))
		c := Concatenate([]*Node{b, a}, 1)
		t := TransposeAllDims(Reshape(c, 4, 1, 5), 0, 2, 1)
		return []*Node{MulScalar(Reshape(t, 4, 5), 0.9)}
	}},
	{"the best", []shapes.Shape{f32(7, 6), ints(7)}, 2, func(i *Node, s, _ []*Node) []*Node {
		best := ArgMax(s[0], 1, dtypes.Int32)
		here := OneHot(best, 6, dtypes.Float32)
		return []*Node{Sub(s[0], MulScalar(here, 0.7)), Add(s[1], Mul(best, i))}
	}},
	{"tables, what is put aside, sums", []shapes.Shape{f32(4, 3), f32(), f32(trips, 4, 3), shapes.Make(dtypes.Bool, trips, 4), f32(trips, 4, 3)}, 4,
		func(i *Node, s, rest []*Node) []*Node {
			x := Add(s[0], Log(take(rest[0], i)))
			big := GreaterThan(ReduceSum(x, 1), ScalarZero(x.Graph(), dtypes.Float32))
			return []*Node{x, Add(s[1], ReduceAllSum(Mul(x, x))), put(s[2], x, i), put(s[3], big, i)}
		}},
	{"branches", []shapes.Shape{f32(8, 2), ints(8)}, 2, func(i *Node, s, _ []*Node) []*Node {
		g := i.Graph()
		n := Add(s[1], OnesLike(s[1]))
		over := GreaterThan(n, Const(g, int32(9)))
		x := anyOf(BroadcastToShape(ExpandAxes(over, 1), shapes.Make(dtypes.Bool, 8, 2)), AddScalar(s[0], 0.5), Sin(s[0]))
		odd := Equal(Mod(i, Const(g, int32(2))), Const(g, int32(1)))
		x = If(odd, NewClosure(g, func(*Graph) []*Node { return []*Node{Neg(x)} }), NewClosure(g, func(*Graph) []*Node { return []*Node{MulScalar(x, 2)} }))[0]
		return []*Node{x, anyOf(over, n, ZerosLike(n))}
	}},
	{"what is kept", []shapes.Shape{f32(4, 3), f32(4, 20), f32(12, 3), f32(12, 20), shapes.Make(dtypes.Bool, 16), shapes.Make(dtypes.Int64)}, 6,
		func(_ *Node, s, _ []*Node) []*Node {
			x, y, n := Sin(s[0]), MulScalar(s[1], 0.9), s[5]
			big := GreaterThan(ReduceSum(x, 1), ScalarZero(x.Graph(), dtypes.Float32))
			return []*Node{x, y, keep(s[2], x, n), keep(s[3], y, n), keep(s[4], big, n), AddScalar(n, 1)}
		}},
	{"functions", []shapes.Shape{f32(16, 6), f32(trips, 16, 6)}, 1, func(i *Node, s, rest []*Node) []*Node {
		x := AddScalar(MulScalar(take(rest[0], i), 12), -6)
		y := Add(Add(Sin(x), Cos(x)), Add(Tanh(x), Sigmoid(x)))
		y = Add(y, Add(Log(AddScalar(Abs(x), 1e-3)), Exp(Neg(Abs(x)))))
		y = Add(y, Add(Log1P(Abs(x)), Add(Floor(x), Sign(x))))
		y = Add(y, Add(Sqrt(Abs(x)), Expm1(Neg(Abs(x)))))
		return []*Node{Add(y, MulScalar(s[0], 0.25))}
	}},
	{"numbers", []shapes.Shape{ints(9, 3), shapes.Make(dtypes.Int64), shapes.Make(dtypes.Float64, 9)}, 3, func(i *Node, s, _ []*Node) []*Node {
		g := i.Graph()
		x := Add(Mul(s[0], Const(g, int32(3))), i)
		x = Sub(Max(x, Const(g, int32(4))), Min(x, Const(g, int32(2))))
		return []*Node{x, Add(s[1], Const(g, int64(2))), Add(s[2], ConvertDType(ReduceSum(x, 1), dtypes.Float64))}
	}},
}

// wide are loops whose matrices do not fit into registers.
var wide = []loop{
	{"a wide network", []shapes.Shape{f32(21, 5), ints(21), f32(5, 128), f32(128), f32(128, 160), f32(160), f32(3, 160), f32(3, 5)}, 2,
		func(i *Node, s, rest []*Node) []*Node {
			h := Tanh(Add(product(s[0], rest[0], 1, 0), ExpandAxes(rest[1], 0)))
			h = Max(Add(product(h, rest[2], 1, 0), ExpandAxes(rest[3], 0)), ScalarZero(h.Graph(), dtypes.Float32))
			few := product(h, rest[4], 1, 1)
			best := ArgMax(few, 1, dtypes.Int32)
			n := Add(s[1], best)
			over := GreaterThan(n, Const(i.Graph(), int32(6)))
			x := Add(MulScalar(s[0], 0.5), product(few, rest[5], 1, 0))
			x = anyOf(BroadcastToShape(ExpandAxes(over, 1), s[0].Shape()), x, Sin(s[0]))
			return []*Node{x, anyOf(over, n, ZerosLike(n))}
		}},
	{"odd widths", []shapes.Shape{f32(21, 5), f32(21, 41), f32(trips, 21, 41), f32(5, 120), f32(120), f32(120, 84), f32(84, 41), f32(84, 5)}, 3,
		func(i *Node, s, rest []*Node) []*Node {
			h := Tanh(Add(product(s[0], rest[0], 1, 0), ExpandAxes(rest[1], 0)))
			h = product(h, rest[2], 1, 0)
			h = Max(Sub(h, ReduceAndKeep(h, ReduceMean, 1)), ScalarZero(h.Graph(), dtypes.Float32))
			y := Add(product(h, rest[3], 1, 0), Inverse(AddScalar(Mul(s[1], s[1]), 0.5)))
			return []*Node{product(h, rest[4], 1, 0), Sin(y), put(s[2], y, i)}
		}},
	{"two bands", []shapes.Shape{f32(4240, 3), f32(3, 48), f32(48, 128), f32(128, 3)}, 1, func(_ *Node, s, rest []*Node) []*Node {
		h := Tanh(product(s[0], rest[0], 1, 0))
		return []*Node{product(Tanh(product(h, rest[1], 1, 0)), rest[2], 1, 0)}
	}},
	{"norms of layers", []shapes.Shape{f32(9, 4), f32(4, 96), f32(96), f32(96, 96), f32(96, 4)}, 1, func(_ *Node, s, rest []*Node) []*Node {
		h := product(s[0], rest[0], 1, 0)
		h = Sub(h, ReduceAndKeep(h, ReduceMean, 1))
		h = Mul(Div(h, Sqrt(AddScalar(ReduceAndKeep(Mul(h, h), ReduceMean, 1), 1e-5))), ExpandAxes(rest[1], 0))
		h = product(Mul(h, Sigmoid(h)), rest[2], 1, 0)
		return []*Node{Tanh(product(h, rest[3], 1, 0))}
	}},
	{"long rows that are kept", []shapes.Shape{f32(18, 96), f32(54, 96), f32(54, 2), shapes.Make(dtypes.Int64), f32(96, 96), f32(96, 2)}, 4,
		func(_ *Node, s, rest []*Node) []*Node {
			h := Tanh(product(s[0], rest[0], 1, 0))
			return []*Node{h, keep(s[1], h, s[3]), keep(s[2], product(h, rest[1], 1, 0), s[3]), AddScalar(s[3], 1)}
		}},
	{"memory", []shapes.Shape{f32(18, 2), f32(18, 80), f32(trips, 18, 80), f32(2, 160), f32(80, 160), f32(80, 2), f32(trips, 18, 80)}, 3,
		func(i *Node, s, rest []*Node) []*Node {
			gates := Add(product(s[0], rest[0], 1, 0), product(s[1], rest[1], 1, 0))
			keep, next := Sigmoid(Slice(gates, AxisRange(), AxisRange(0, 80))), Tanh(Slice(gates, AxisRange(), AxisRange(80)))
			h := Add(Mul(keep, s[1]), Mul(OneMinus(keep), Add(next, take(rest[3], i))))
			return []*Node{product(h, rest[2], 1, 0), h, put(s[2], h, i)}
		}},
}

// A kernel of teams does what the CPU engine does, in every precision.
func TestTeams(t *testing.T) {
	for _, l := range wide {
		t.Run(l.name, func(t *testing.T) {
			for p, tolerance := range map[ir.Precision]float64{ir.Exact: 5e-5, ir.TF32: 2e-2, ir.BF16: 2e-2} {
				if p != ir.TF32 && l.of[0].Size() > 4000 { // which takes long
					continue
				}
				if k := ptxtest.Check(t, l.while(t), ptxtest.Random, p, tolerance); k.Shared == 0 {
					t.Errorf("%s: not a kernel of teams", p)
				}
			}
		})
	}
}

// A kernel does what the CPU engine does.
func TestLoops(t *testing.T) {
	for _, l := range loops {
		t.Run(l.name, func(t *testing.T) {
			ptxtest.Check(t, l.while(t), ptxtest.Random, ir.Exact, 2e-5)
			ptxtest.Check(t, l.while(t), ptxtest.Random, ir.BF16, 1e-3)
		})
	}
}

// What is not a number, or larger than any, comes out as it does elsewhere.
func TestLoopsFarOut(t *testing.T) {
	odd := func(v *ir.Value, rng *rand.Rand) any {
		flat := ptxtest.Random(v, rng)
		if x, ok := flat.([]float32); ok {
			for i := range x {
				x[i] *= []float32{1, 1e3, 1e38, 1e-38, 0}[rng.IntN(5)]
			}
		}
		return flat
	}
	for _, l := range loops {
		if l.name == "functions" || l.name == "the best" {
			t.Run(l.name, func(t *testing.T) { ptxtest.Check(t, l.while(t), odd, ir.Exact, 1e-3) })
		}
	}
}

// What looks across rows, or cannot be shown not to, is refused.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		loop
		why string
	}{
		{loop{"a mean over rows", []shapes.Shape{f32(4, 3)}, 1, func(_ *Node, s, _ []*Node) []*Node {
			return []*Node{Sub(s[0], ReduceAndKeep(s[0], ReduceMean, 0))}
		}}, "across rows"},
		{loop{"rows turned round", []shapes.Shape{f32(4, 4)}, 1, func(_ *Node, s, _ []*Node) []*Node {
			return []*Node{Transpose(s[0], 0, 1)}
		}}, "across rows"},
		{loop{"rows shifted", []shapes.Shape{f32(4, 3)}, 1, func(_ *Node, s, _ []*Node) []*Node {
			return []*Node{Concatenate([]*Node{Slice(s[0], AxisRange(1)), Slice(s[0], AxisRange(0, 1))}, 0)}
		}}, "concatenated"},
		{loop{"rows mixed by a reshape", []shapes.Shape{f32(4, 6)}, 1, func(_ *Node, s, _ []*Node) []*Node {
			return []*Node{Reshape(MulScalar(Reshape(s[0], 6, 4), 2), 4, 6)}
		}}, "mixes rows"},
		{loop{"a matrix of the rows", []shapes.Shape{f32(4, 4), f32(4, 4)}, 2, func(_ *Node, s, _ []*Node) []*Node {
			return []*Node{Tanh(product(s[0], s[1], 1, 0)), s[1]}
		}}, "matrix"},
		{loop{"a branch of all for all", []shapes.Shape{f32(4, 3)}, 1, func(_ *Node, s, _ []*Node) []*Node {
			g := s[0].Graph()
			return []*Node{If(LogicalAny(GreaterThan(s[0], ScalarOne(g, dtypes.Float32))),
				NewClosure(g, func(*Graph) []*Node { return []*Node{MulScalar(s[0], 0.5)} }),
				NewClosure(g, func(*Graph) []*Node { return []*Node{Identity(s[0])} }))[0]}
		}}, "do not want it"},
		{loop{"a table that is read", []shapes.Shape{f32(4, 3), f32(12, 3), shapes.Make(dtypes.Int64)}, 3, func(_ *Node, s, _ []*Node) []*Node {
			return []*Node{Add(s[0], ReduceAndKeep(s[1], ReduceMax, 0)), keep(s[1], s[0], s[2]), AddScalar(s[2], 1)}
		}}, "read across rows or rounds"},
		{loop{"slots that rows choose", []shapes.Shape{shapes.Make(dtypes.Int64, 4), shapes.Make(dtypes.Int64, 12)}, 2, func(_ *Node, s, _ []*Node) []*Node {
			return []*Node{s[0], keep(s[1], s[0], ReduceAllSum(s[0]))}
		}}, "across rows"},
		{loop{"slots of two rows", []shapes.Shape{f32(4, 3), f32(12, 3), ints()}, 3, func(_ *Node, s, _ []*Node) []*Node {
			return []*Node{s[0], DynamicUpdateSlice(s[1], s[0], []*Node{s[2], ZerosLike(s[2])}), AddScalar(s[2], 3)}
		}}, "another row's"},
		{loop{"a ring that rows do not fill", []shapes.Shape{f32(4, 3), f32(14, 3), shapes.Make(dtypes.Int64)}, 3, func(_ *Node, s, _ []*Node) []*Node {
			return []*Node{s[0], keep(s[1], s[0], s[2]), AddScalar(s[2], 1)}
		}}, "another row's"},
		{loop{"a sum that is read", []shapes.Shape{f32(4), f32()}, 2, func(_ *Node, s, _ []*Node) []*Node {
			sum := Add(s[1], ReduceAllSum(s[0]))
			return []*Node{Add(s[0], s[1]), sum}
		}}, "across rows or rounds"},
		{loop{"what was put aside is read", []shapes.Shape{f32(4), f32(trips, 4)}, 2, func(i *Node, s, _ []*Node) []*Node {
			return []*Node{Add(s[0], take(s[1], i)), put(s[1], s[0], i)}
		}}, "not done by row"},
		{loop{"a sort", []shapes.Shape{f32(4, 3)}, 1, func(_ *Node, s, _ []*Node) []*Node {
			return []*Node{Sort(s[0], 1, true)}
		}}, "not done by row"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := rows.Of(c.while(t))
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("error %v, want one about %q", err, c.why)
			}
		})
	}
}
