package rowwise_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/rowwise"
)

const rows = 13

// input are the parameters of every function here: x and y [row, 4], i [row], z [row, 6, 5, 2], and
// of all rows w [4, 3] and k [3, 3, 2, 4].
type input struct{ x, y, i, z, w, k *Node }

// check records a function and checks its result, which has its rows along the first axis, or none.
func check(t *testing.T, f func(in input) *Node) error {
	t.Helper()
	b, err := engine.New("threads=1")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Finalize()
	g := NewGraph(b, t.Name())
	p := func(name string, d dtypes.DType, dims ...int) *Node {
		return Parameter(g, name, shapes.Make(d, dims...))
	}
	f32 := dtypes.Float32
	in := input{
		p("x", f32, rows, 4), p("y", f32, rows, 4), p("i", dtypes.Int32, rows), p("z", f32, rows, 6, 5, 2), p("w", f32, 4, 3), p("k", f32, 3, 3, 2, 4),
	}
	out := f(in)
	inner := 0
	if out.Rank() > 0 {
		inner = out.Shape().Dimensions[0] / rows
	}
	if err := g.Compile(out, Const(g, float32(0))); err != nil {
		t.Fatal(err)
	}
	m := g.Executable().(interface{ Module() *ir.Module }).Module()
	return rowwise.Check(m.Main, rows, []int{1, 1, 1, 1, 0, 0}, []int{inner})
}

// apart are functions whose rows do not look at each other.
var apart = map[string]func(in input) *Node{
	"elementwise":      func(in input) *Node { return Tanh(Add(in.x, in.y)) },
	"with a constant":  func(in input) *Node { return Mul(in.x, Const(in.x.Graph(), [][]float32{{1, 2, 3, 4}})) },
	"dense":            func(in input) *Node { return Dot(in.x, in.w).Product() },
	"row product":      func(in input) *Node { return ReduceSum(Mul(in.x, in.y), -1) },
	"batched product":  func(in input) *Node { return Einsum("ba,ba->b", in.x, in.y) },
	"softmax":          func(in input) *Node { return Softmax(in.x, -1) },
	"argmax":           func(in input) *Node { return ArgMax(in.x, -1) },
	"reshape":          func(in input) *Node { return Reshape(in.z, rows*6, 10) },
	"reshape and back": func(in input) *Node { return Reshape(ReduceSum(Reshape(in.z, rows*6, 10), 1), rows, 6) },
	"transpose":        func(in input) *Node { return Transpose(Transpose(in.x, 0, 1), 0, 1) },
	"slice":            func(in input) *Node { return Slice(in.x, AxisRange(), AxisRange(1, 3)) },
	"joined":           func(in input) *Node { return Concatenate([]*Node{in.x, in.y}, 1) },
	"two batches": func(in input) *Node {
		both := Tanh(Concatenate([]*Node{in.x, in.y}, 0))
		return Add(Slice(both, AxisRange(0, rows)), Slice(both, AxisRange(rows, 2*rows)))
	},
	"one-hot":    func(in input) *Node { return OneHot(in.i, 4, dtypes.Float32) },
	"embedding":  func(in input) *Node { return Gather(in.w, ExpandAxes(in.i, -1)) },
	"own column": func(in input) *Node { return ownColumn(in.x, in.i, 0) },
	"convolution": func(in input) *Node {
		return Convolve(in.z, in.k).Strides(1).NoPadding().Done()
	},
	"pooling": func(in input) *Node { return MaxPool(in.z).Window(2).Done() },
	"sorted":  func(in input) *Node { return Sort(in.x, -1, true) },
	"padded": func(in input) *Node {
		return Pad(in.x, Const(in.x.Graph(), float32(0)), compute.PadAxis{}, compute.PadAxis{Start: 1})
	},
	"branch": func(in input) *Node {
		return If(GreaterThan(ReduceAllSum(in.w), ScalarZero(in.w.Graph(), dtypes.Float32)), arm(in.x), arm(in.y))[0]
	},
	"loop":      func(in input) *Node { return loop(in.x, func(x *Node) *Node { return Add(x, in.y) }) },
	"no rows":   func(in input) *Node { return ReduceAllSum(in.w) },
	"attention": func(in input) *Node { return attention(Reshape(in.z, rows, 6, 10)) },
}

// across are functions whose rows do, with the operation that is named.
var across = map[string]struct {
	op compute.OpType
	f  func(in input) *Node
}{
	"mean":            {compute.OpTypeReduceSum, func(in input) *Node { return Sub(in.x, ReduceAllMean(in.x)) }},
	"mean by column":  {compute.OpTypeReduceSum, func(in input) *Node { return Sub(in.x, ReduceAndKeep(in.x, ReduceMean, 0)) }},
	"merged mean":     {compute.OpTypeReduceSum, func(in input) *Node { return Add(in.x, ReduceAllSum(ReduceSum(Reshape(in.z, rows*6, 10), 0))) }},
	"scalar":          {compute.OpTypeReduceMax, func(in input) *Node { return ReduceAllMax(in.x) }},
	"rows product":    {compute.OpTypeDotGeneral, func(in input) *Node { return Einsum("ba,ca->bc", in.x, in.y) }},
	"summed product":  {compute.OpTypeDotGeneral, func(in input) *Node { return Add(in.x, ExpandAxes(ReduceSum(Einsum("ba,bc->ac", in.x, in.y), 0), 0)) }},
	"all pairs":       {compute.OpTypeSub, func(in input) *Node { return ReduceSum(Sub(ExpandAxes(in.x, 0), ExpandAxes(in.x, 1)), 1) }},
	"softmax of rows": {compute.OpTypeReduceMax, func(in input) *Node { return Softmax(in.x, 0) }},
	"sorted rows":     {compute.OpTypeSort, func(in input) *Node { return Sort(in.x, 0, true) }},
	"reversed":        {compute.OpTypeReverse, func(in input) *Node { return Reverse(in.x, 0) }},
	"some rows": {compute.OpTypeSlice, func(in input) *Node {
		return Concatenate([]*Node{Slice(in.x, AxisRange(1, rows)), Slice(in.x, AxisRange(0, 1))}, 0)
	}},
	"other rows": {compute.OpTypeGather, func(in input) *Node { return Gather(in.x, ExpandAxes(in.i, -1)) }},
	"neighbour":  {compute.OpTypeGather, func(in input) *Node { return ownColumn(in.x, in.i, 1) }},
	"branch on a row": {compute.OpTypeReduceSum, func(in input) *Node {
		return If(GreaterThan(ReduceAllSum(in.x), ScalarZero(in.w.Graph(), dtypes.Float32)), arm(in.x), arm(in.y))[0]
	}},
	"in a loop": {compute.OpTypeReduceSum, func(in input) *Node { return loop(in.x, func(x *Node) *Node { return Sub(x, ReduceAllMean(x)) }) }},
	"captured": {compute.OpTypeReduceSum, func(in input) *Node {
		m := ReduceAllMean(in.y)
		return loop(in.x, func(x *Node) *Node { return Sub(x, m) })
	}},
	"turned":           {compute.OpTypeTranspose, func(in input) *Node { return Transpose(in.x, 0, 1) }},
	"scattered":        {compute.OpTypeScatterSum, func(in input) *Node { return ScatterSum(ZerosLike(in.x), ExpandAxes(in.i, -1), in.x, false, false) }},
	"reshaped in part": {compute.OpTypeReshape, func(in input) *Node { return Reshape(Slice(Transpose(in.x, 0, 1), AxisRange(0, 2)), rows, 2) }},
}

// TestApart: what is row by row is shown to be.
func TestApart(t *testing.T) {
	for name, f := range apart {
		t.Run(name, func(t *testing.T) {
			if err := check(t, f); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAcross: what is not is refused, with the operation that it is refused for.
func TestAcross(t *testing.T) {
	for name, c := range across {
		t.Run(name, func(t *testing.T) {
			err := check(t, c.f)
			var x *rowwise.Crossing
			if !errors.As(err, &x) || x.Op != c.op {
				t.Errorf("%v, want %s", err, c.op)
			}
			if err != nil && !strings.Contains(err.Error(), "32)[") {
				t.Errorf("%v names no shape", err)
			}
		})
	}
}
