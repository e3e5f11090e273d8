package enginetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

var (
	floatTypes = []dtypes.DType{dtypes.Float32, dtypes.Float64, dtypes.BFloat16, dtypes.Float16}
	intTypes   = []dtypes.DType{dtypes.Int8, dtypes.Int16, dtypes.Int32, dtypes.Int64, dtypes.Uint8, dtypes.Uint16,
		dtypes.Uint32, dtypes.Uint64}
	allTypes = slices.Concat(floatTypes, intTypes)
)

// Build records an operation on its operands.
type Build func(f compute.Function, ps []compute.Value) (compute.Value, error)

// Op is an operation on operands of the given dimensions, all of one type.
type Op struct {
	Name  string
	Types []dtypes.DType
	dims  [][]int
	build Build
}

func unaryCase(name string, types []dtypes.DType, fn func(f compute.Function) func(compute.Value) (compute.Value, error)) Op {
	return Op{name, types, [][]int{{3, 37}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
		return fn(f)(ps[0])
	}}
}

func binaryCase(name string, types []dtypes.DType, fn func(f compute.Function) func(a, b compute.Value) (compute.Value, error)) Op {
	return Op{name, types, [][]int{{5, 19}, {1, 19}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
		return fn(f)(ps[0], ps[1])
	}}
}

func reduceCase(name string, types []dtypes.DType, axes []int, fn func(f compute.Function) func(x compute.Value, axes ...int) (compute.Value, error)) Op {
	return Op{fmt.Sprint(name, axes), types, [][]int{{3, 70, 4}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
		return fn(f)(ps[0], axes...)
	}}
}

// Ops are the operations, with the types they take.
func Ops() []Op {
	type F = compute.Function
	cases := []Op{
		unaryCase("exp", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Exp }),
		unaryCase("expm1", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Expm1 }),
		unaryCase("log", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Log }),
		unaryCase("log1p", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Log1p }),
		unaryCase("tanh", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Tanh }),
		unaryCase("logistic", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Logistic }),
		unaryCase("erf", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Erf }),
		unaryCase("sqrt", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Sqrt }),
		unaryCase("rsqrt", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Rsqrt }),
		unaryCase("sin", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Sin }),
		unaryCase("cos", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Cos }),
		unaryCase("floor", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Floor }),
		unaryCase("ceil", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Ceil }),
		unaryCase("round", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Round }),
		unaryCase("abs", allTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Abs }),
		unaryCase("sign", allTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Sign }),
		unaryCase("not", intTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.BitwiseNot }),
		unaryCase("popcount", intTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.BitCount }),
		unaryCase("clz", intTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.Clz }),
		unaryCase("isfinite", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.IsFinite }),
		unaryCase("isnan", floatTypes, func(f F) func(compute.Value) (compute.Value, error) { return f.IsNaN }),
		binaryCase("add", allTypes, func(f F) func(a, b compute.Value) (compute.Value, error) { return f.Add }),
		binaryCase("sub", allTypes, func(f F) func(a, b compute.Value) (compute.Value, error) { return f.Sub }),
		binaryCase("mul", allTypes, func(f F) func(a, b compute.Value) (compute.Value, error) { return f.Mul }),
		binaryCase("div", allTypes, func(f F) func(a, b compute.Value) (compute.Value, error) { return f.Div }),
		binaryCase("rem", allTypes, func(f F) func(a, b compute.Value) (compute.Value, error) { return f.Rem }),
		binaryCase("max", allTypes, func(f F) func(a, b compute.Value) (compute.Value, error) { return f.Max }),
		binaryCase("min", allTypes, func(f F) func(a, b compute.Value) (compute.Value, error) { return f.Min }),
		binaryCase("less", allTypes, func(f F) func(a, b compute.Value) (compute.Value, error) { return f.LessThan }),
		binaryCase("greater or equal", allTypes, func(f F) func(a, b compute.Value) (compute.Value, error) { return f.GreaterOrEqual }),
		binaryCase("equal", allTypes, func(f F) func(a, b compute.Value) (compute.Value, error) { return f.Equal }),
		binaryCase("and", intTypes, func(f F) func(a, b compute.Value) (compute.Value, error) { return f.BitwiseAnd }),
		binaryCase("shift left", intTypes, func(f F) func(a, b compute.Value) (compute.Value, error) { return f.ShiftLeft }),
		binaryCase("shift right", intTypes, func(f F) func(a, b compute.Value) (compute.Value, error) { return f.ShiftRightLogical }),
		binaryCase("shift right, signed", intTypes, func(f F) func(a, b compute.Value) (compute.Value, error) { return f.ShiftRightArithmetic }),
	}
	for _, axes := range [][]int{{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}} {
		cases = append(cases,
			reduceCase("sum", allTypes, axes, func(f F) func(x compute.Value, axes ...int) (compute.Value, error) { return f.ReduceSum }),
			reduceCase("max", allTypes, axes, func(f F) func(x compute.Value, axes ...int) (compute.Value, error) { return f.ReduceMax }),
			reduceCase("min", allTypes, axes, func(f F) func(x compute.Value, axes ...int) (compute.Value, error) { return f.ReduceMin }),
			reduceCase("and", intTypes, axes, func(f F) func(x compute.Value, axes ...int) (compute.Value, error) { return f.ReduceBitwiseAnd }),
			reduceCase("xor", intTypes, axes, func(f F) func(x compute.Value, axes ...int) (compute.Value, error) { return f.ReduceBitwiseXor }),
		)
	}
	return slices.Concat(cases, shapeCases(), windowCases())
}

func shapeCases() []Op {
	axes := compute.ConvolveAxesConfig{InputBatch: 0, InputSpatial: []int{1, 2}, InputChannels: 3, KernelSpatial: []int{0, 1},
		KernelInputChannels: 2, KernelOutputChannels: 3, OutputBatch: 0, OutputSpatial: []int{1, 2}, OutputChannels: 3}
	first := compute.ConvolveAxesConfig{InputBatch: 1, InputSpatial: []int{2, 3}, InputChannels: 0, KernelSpatial: []int{2, 3},
		KernelInputChannels: 1, KernelOutputChannels: 0, OutputBatch: 0, OutputSpatial: []int{2, 3}, OutputChannels: 1}
	conv := func(name string, a compute.ConvolveAxesConfig, in, k []int, strides []int, pads [][2]int, id, kd []int, cg, bg int) Op {
		return Op{name, floatTypes[:2], [][]int{in, k}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.ConvGeneral(ps[0], ps[1], a, strides, pads, id, kd, cg, bg)
		}}
	}
	return []Op{
		{"dot", allTypes, [][]int{{4, 6}, {6, 5}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.DotGeneral(ps[0], []int{1}, nil, ps[1], []int{0}, nil, compute.DotGeneralConfig{})
		}},
		{"dot, batch and two contracted axes", allTypes, [][]int{{2, 3, 4, 5}, {5, 2, 6, 4}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.DotGeneral(ps[0], []int{2, 3}, []int{0}, ps[1], []int{3, 0}, []int{1}, compute.DotGeneralConfig{})
		}},
		{"transpose", allTypes, [][]int{{3, 4, 5}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.Transpose(ps[0], 2, 0, 1)
		}},
		{"argmax", allTypes, [][]int{{3, 4, 5}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.ArgMinMax(ps[0], 1, dtypes.Int32, false)
		}},
		{"argmin", allTypes, [][]int{{3, 40}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.ArgMinMax(ps[0], 1, dtypes.Int64, true)
		}},
		{"gather", allTypes, [][]int{{6, 3, 2}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			at, err := f.Constant([]int32{5, 0, 3, 2}, 4, 1)
			if err != nil {
				return nil, err
			}
			return f.Gather(ps[0], at, 1, []int{1, 2}, []int{0}, []int{0}, []int{1, 3, 2}, false)
		}},
		{"gather of single elements", allTypes, [][]int{{6}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			at, err := f.Constant([]int64{5, -3, 9, 2}, 2, 2, 1)
			if err != nil {
				return nil, err
			}
			return f.Gather(ps[0], at, 2, nil, []int{0}, []int{0}, []int{1}, false)
		}},
		{"gather of windows", allTypes, [][]int{{6, 4}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			at, err := f.Constant([]uint8{1, 2, 3, 0}, 2, 2)
			if err != nil {
				return nil, err
			}
			return f.Gather(ps[0], at, 0, []int{0, 2}, nil, []int{1, 0}, []int{2, 2}, false)
		}},
		{"scatter", floatTypes[:2], [][]int{{6, 3}, {3, 3}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			at, err := f.Constant([]int32{5, 0, 5}, 3, 1)
			if err != nil {
				return nil, err
			}
			return f.ScatterSum(ps[0], at, ps[1], 1, []int{1}, []int{0}, []int{0}, false, false)
		}},
		conv("conv", axes, []int{2, 7, 6, 3}, []int{3, 2, 3, 4}, []int{2, 1}, [][2]int{{1, 1}, {0, 2}}, nil, nil, 1, 1),
		conv("conv, dilated", axes, []int{2, 7, 6, 3}, []int{2, 2, 3, 4}, nil, [][2]int{{2, 1}, {1, 2}}, []int{2, 1}, []int{1, 2}, 1, 1),
		conv("conv, grouped channels", axes, []int{2, 5, 5, 4}, []int{2, 2, 2, 6}, nil, nil, nil, nil, 2, 1),
		conv("conv, grouped batch", axes, []int{4, 5, 5, 3}, []int{2, 2, 3, 6}, nil, nil, nil, nil, 1, 2),
		conv("conv, channels first", first, []int{3, 2, 6, 5}, []int{4, 3, 2, 3}, nil, nil, nil, nil, 1, 1),
	}
}

func windowCases() (cases []Op) {
	for _, kind := range []compute.ReduceOpType{compute.ReduceOpSum, compute.ReduceOpMax, compute.ReduceOpMin} {
		cases = append(cases, Op{"window " + kind.String(), floatTypes, [][]int{{2, 7, 6, 3}},
			func(f compute.Function, ps []compute.Value) (compute.Value, error) {
				return f.ReduceWindow(ps[0], kind, []int{1, 3, 2, 1}, []int{1, 2, 2, 1}, nil, nil,
					[][2]int{{0, 0}, {1, 1}, {0, 1}, {0, 0}})
			}})
	}
	return cases
}

// operandsOf makes positive numbers that every type can hold and whose sums it can.
func operandsOf(d dtypes.DType, dims [][]int) []any {
	r := rand.New(rand.NewPCG(11, 12))
	var args []any
	for _, dd := range dims {
		flat := reflect.ValueOf(dtypes.MakeAnySlice(d, shapes.Make(d, dd...).Size()))
		for i := range flat.Len() {
			v := float64(1 + r.IntN(5))
			if d.IsFloat() {
				v = float64(1+r.IntN(60)) / 16
			}
			flat.Index(i).Set(reflect.ValueOf(shapes.CastAsDType(v, d)))
		}
		args = append(args, flat.Interface())
	}
	return args
}

// Evaluate runs the operation on a backend with all of its types, as one computation, and returns the result of each
// as float64.
func (c Op) Evaluate(t testing.TB, b compute.Backend) [][]float64 {
	t.Helper()
	builder := b.Builder(c.Name)
	f := builder.Main()
	var bufs []compute.Buffer
	var results []compute.Value
	for _, d := range c.Types {
		var ps []compute.Value
		for i, flat := range operandsOf(d, c.dims) {
			s := shapes.Make(d, c.dims[i]...)
			p, err := f.Parameter(fmt.Sprint("x", len(bufs)), s, nil)
			if err != nil {
				t.Fatal(err)
			}
			buf, err := b.BufferFromFlatData(0, flat, s)
			if err != nil {
				t.Fatal(err)
			}
			ps, bufs = append(ps, p), append(bufs, buf)
		}
		y, err := c.build(f, ps)
		if err != nil {
			t.Fatalf("%s: %+v", d, err)
		}
		results = append(results, y)
	}
	return execute(t, builder, results, bufs)
}

// execute compiles and runs a computation.
func execute(t testing.TB, builder compute.Builder, results []compute.Value, bufs []compute.Buffer) (all [][]float64) {
	t.Helper()
	if err := builder.Main().Return(results, nil); err != nil {
		t.Fatal(err)
	}
	exec, err := builder.Compile()
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Finalize()
	outs, err := exec.Execute(bufs, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outs {
		s, err := o.Shape()
		if err != nil {
			t.Fatal(err)
		}
		flat := dtypes.MakeAnySlice(s.DType, s.Size())
		if err := o.ToFlatData(flat); err != nil {
			t.Fatal(err)
		}
		all = append(all, asFloats(flat))
	}
	return all
}

func asFloats(flat any) []float64 {
	v := reflect.ValueOf(flat)
	out := make([]float64, v.Len())
	for i := range out {
		switch x := v.Index(i).Interface().(type) {
		case bool:
			if x {
				out[i] = 1
			}
		default:
			out[i] = shapes.ConvertTo[float64](x)
		}
	}
	return out
}

// Compare fails the test unless two backends give results as near as results of their types are.
func (c Op) Compare(t testing.TB, b, other compute.Backend) {
	t.Helper()
	got, want := c.Evaluate(t, b), c.Evaluate(t, other)
	for i, d := range c.Types {
		near(t, got[i], want[i], d)
	}
}

func near(t testing.TB, got, want []float64, d dtypes.DType) {
	t.Helper()
	tolerance := map[int]float64{2: 2e-2, 4: 1e-5, 8: 1e-9, 1: 0}[d.Size()]
	if d.IsInt() {
		tolerance = 0
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d elements, want %d", d, len(got), len(want))
		return
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tolerance*(1+math.Abs(want[i]))) && got[i] != want[i] {
			t.Errorf("%s: element %d: %v, want %v", d, i, got[i], want[i])
			return
		}
	}
}
