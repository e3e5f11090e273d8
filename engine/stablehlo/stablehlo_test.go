package stablehlo_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/engine/internal/enginetest"
	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/record"
	"github.com/weft-rl/weft/engine/stablehlo"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var matrix = func(rows, cols int) shapes.Shape { return shapes.Make(dtypes.Float32, rows, cols) }

// goldens are graphs whose text is kept in testdata.
var goldens = []struct {
	name   string
	inputs []shapes.Shape
	fn     func(xs []*Node) []*Node
}{
	{"gradient", []shapes.Shape{matrix(8, 4), matrix(4, 3)}, func(xs []*Node) []*Node {
		loss := ReduceAllMean(Square(Tanh(Dot(xs[0], xs[1]).Product())))
		return []*Node{loss, Sub(xs[1], MulScalar(Gradient(loss, xs[1])[0], 0.1))}
	}},
	{"nested", []shapes.Shape{shapes.Make(dtypes.Float32, 3), shapes.Make(dtypes.Float32)}, func(xs []*Node) []*Node {
		g := xs[0].Graph()
		return enginetest.Loop(g, 3, xs[:1], func(i *Node, s []*Node) []*Node {
			return enginetest.Loop(g, 2, []*Node{Sort(s[0], 0, true)}, func(_ *Node, s []*Node) []*Node {
				first := NewClosure(g, func(g *Graph) []*Node { return []*Node{Add(s[0], xs[1])} })
				rest := NewClosure(g, func(g *Graph) []*Node { return []*Node{MulScalar(s[0], 2)} })
				return If(Equal(i, Const(g, int32(0))), first, rest)
			})
		})
	}},
	{"pick", []shapes.Shape{matrix(5, 4), shapes.Make(dtypes.Int32, 2, 1)}, func(xs []*Node) []*Node {
		return []*Node{ArgMax(xs[0], -1), Gather(xs[0], xs[1]), MaxPool(ExpandAxes(xs[0], 0, -1)).Window(2).Done()}
	}},
	{"random", []shapes.Shape{compute.RNGStateShape}, func(xs []*Node) []*Node {
		state, bits := RNGStateSplit(xs[0])
		return []*Node{state, bits}
	}},
}

// module records a graph.
func module(t testing.TB, name string, inputs []shapes.Shape, fn func(xs []*Node) []*Node) *ir.Module {
	t.Helper()
	b, err := engine.New("threads=1")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Finalize()
	g := NewGraph(b, name)
	var xs []*Node
	for i, s := range inputs {
		xs = append(xs, Parameter(g, string(rune('a'+i)), s))
	}
	if err := g.Compile(fn(xs)...); err != nil {
		t.Fatalf("%+v", err)
	}
	return g.Executable().(*engine.Executable).Module()
}

// TestGolden: the text of a few graphs, and that it is the same each time.
func TestGolden(t *testing.T) {
	for _, tt := range goldens {
		t.Run(tt.name, func(t *testing.T) {
			text := func() string {
				s, err := stablehlo.Text(module(t, tt.name, tt.inputs, tt.fn), stablehlo.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			got := text()
			if again := text(); again != got {
				t.Error("the text of the same graph differs")
			}
			file := filepath.Join("testdata", tt.name+".mlir")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the text is not that of %s (go test -update rewrites it):\n%s", file, got)
			}
		})
	}
}

// TestOptions: donation and precision are part of the text.
func TestOptions(t *testing.T) {
	g := goldens[0]
	for p, want := range map[ir.Precision]string{
		ir.Exact: "[HIGHEST, HIGHEST] : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>",
		ir.TF32:  "[DEFAULT, DEFAULT] : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>",
		ir.BF16:  "[DEFAULT, DEFAULT] : (tensor<8x4xbf16>, tensor<4x3xbf16>) -> tensor<8x3xf32>",
	} {
		text, err := stablehlo.Text(module(t, g.name, g.inputs, g.fn), stablehlo.Options{Donate: map[int]int{1: 1}, Precision: p})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"%arg1: tensor<4x3xf32> {tf.aliasing_output = 1 : i32}", "precision = " + want} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
}

// TestRounded: with bfloat16 it is what products of float32 multiply that is rounded; other types
// are not, nor are thin products that are written out.
func TestRounded(t *testing.T) {
	for _, c := range []struct {
		of    dtypes.DType
		thin  bool
		halve bool
	}{{dtypes.Float32, false, true}, {dtypes.Float32, true, false}, {dtypes.Float64, false, false}} {
		in := []shapes.Shape{shapes.Make(c.of, 8, 4), shapes.Make(c.of, 4, 3)}
		m := module(t, "product", in, func(xs []*Node) []*Node { return []*Node{Dot(xs[0], xs[1]).Product()} })
		text, err := stablehlo.Text(m, stablehlo.Options{Precision: ir.BF16, Spread: c.thin})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "bf16") != c.halve {
			t.Errorf("%s, thin %t:\n%s", c.of, c.thin, text)
		}
	}
}

// TestLiterals: constants are read back as they are.
func TestLiterals(t *testing.T) {
	inf := []float32{float32(1) / 3, 1e-45, 2.5e10, 0}
	inf[3] = 1 / inf[3]
	tests := []struct {
		flat any
		dims []int
		want string
	}{
		{[]float32{1}, nil, "dense<1.0> : tensor<f32>"},
		{inf, []int{2, 2}, "dense<[[3.3333334e-01, 1.0e-45], [2.5e+10, 0x7F800000]]> : tensor<2x2xf32>"},
		{[]int8{-3, -3}, []int{2}, "dense<-3> : tensor<2xi8>"},
		{[]uint64{1 << 63}, nil, "dense<9223372036854775808> : tensor<ui64>"},
		{[]bool{true, false}, []int{2}, "dense<[true, false]> : tensor<2xi1>"},
		{[]float32{}, []int{0, 2}, "dense<> : tensor<0x2xf32>"},
		{[]uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255}, []int{17},
			`dense<"0x000102030405060708090A0B0C0D0E0FFF"> : tensor<17xui8>`},
	}
	for _, tt := range tests {
		b := record.New("c", nil)
		c, err := b.Main().Constant(tt.flat, tt.dims...)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Main().Return([]compute.Value{c}, nil); err != nil {
			t.Fatal(err)
		}
		text, err := stablehlo.Text(b.Module(), stablehlo.Options{})
		if err != nil || !strings.Contains(text, tt.want) {
			t.Errorf("no %s in (%v)\n%s", tt.want, err, text)
		}
	}
}

// TestFunctions: functions keep apart, whatever they are called.
func TestFunctions(t *testing.T) {
	text, err := stablehlo.Text(module(t, "a module/of two", []shapes.Shape{matrix(2, 2)}, func(xs []*Node) []*Node {
		y := xs[0]
		for _, name := range []string{"one more", "one/more"} {
			f := NewFunction(xs[0].Graph(), name, func(g *Graph) []*Node { return []*Node{Neg(Parameter(g, "x", matrix(2, 2)))} })
			y = f.Call(y)[0]
		}
		return []*Node{y}
	}), stablehlo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"module @f_a_module_of_two {", "private @f_one_more_0(", "private @f_one_more_1(",
		"func.call @f_one_more_0(%arg0)", "func.call @f_one_more_1("} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestUnsupported: what cannot be written is named, all of it.
func TestUnsupported(t *testing.T) {
	f := &ir.Func{Name: "main"}
	x := f.Add(ir.NewNode(compute.OpTypeParameter, ir.Param{Name: "x"}, nil, matrix(2, 2)))
	f.Params = []*ir.Value{x}
	y := f.Add(ir.NewNode(compute.OpTypeFFT, nil, []*ir.Value{x}, matrix(2, 2)))
	z := f.Add(ir.NewNode(compute.OpTypeComplex, nil, []*ir.Value{y}, matrix(2, 2)))
	f.Results = []*ir.Value{z}
	_, err := stablehlo.Text(&ir.Module{Name: "m", Main: f}, stablehlo.Options{})
	if !compute.IsNotImplemented(err) || !strings.Contains(err.Error(), "FFT") || !strings.Contains(err.Error(), "Complex") {
		t.Errorf("error %v", err)
	}
	if stablehlo.Supports(compute.OpTypeFFT) || !stablehlo.Supports(compute.OpTypeWhile) {
		t.Error("Supports is wrong")
	}
}

// TestSplit: a computation on several devices says what is shared out among them, in loops too.
func TestSplit(t *testing.T) {
	vector := shapes.Make(dtypes.Float32, 6)
	m := module(t, "split", []shapes.Shape{matrix(4, 6), vector}, func(xs []*Node) []*Node {
		rows, w := xs[0], xs[1]
		cond := NewClosure(w.Graph(), func(g *Graph) []*Node {
			return []*Node{LessThan(ReduceAllSum(Parameter(g, "w", vector)), Const(g, float32(100)))}
		})
		body := NewClosure(w.Graph(), func(g *Graph) []*Node {
			return []*Node{Add(Parameter(g, "w", vector), ReduceSum(rows, 0))}
		})
		w = While(cond, body, w)[0]
		first := Slice(rows, AxisRange(), AxisRange(0, 1))
		return []*Node{ScatterSum(xs[1], ConvertDType(first, dtypes.Int32), Reshape(first, 4), false, false), w, Neg(rows)}
	})
	m.Split = &ir.Split{Devices: 2, Params: []int{0, ir.Whole}, Results: []int{ir.Whole, ir.Whole, 0}}
	text, err := stablehlo.Text(m, stablehlo.Options{Donate: map[int]int{0: 2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"module @f_split attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {", `sdy.mesh @devices = <["d"=2]>`,
		`%arg0: tensor<4x6xf32> {tf.aliasing_output = 2 : i32, sdy.sharding = #sdy.sharding<@devices, [{"d"}, {}]>}`,
		`%arg1: tensor<6xf32> {sdy.sharding = #sdy.sharding<@devices, [{}]>}`,
		`<@devices, [{}, {}]> : tensor<4x1xi32>`, `<@devices, [{}]> : tensor<4xf32>`, // what is scattered into w
		`-> (tensor<6xf32> {sdy.sharding = #sdy.sharding<@devices, [{}]>}, tensor<6xf32> {sdy.sharding = #sdy.sharding<@devices, [{}]>}, tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@devices, [{"d"}, {}]>})`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	body := text[strings.Index(text, "} do {"):]
	for _, want := range []string{"<@devices, [{}]> : tensor<6xf32>", `<@devices, [{"d"}, {}]> : tensor<4x6xf32>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the loop does not hold what it carries as %s:\n%s", want, text)
		}
	}
}
