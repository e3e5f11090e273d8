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

	"github.com/weft-rl/weft/engine/internal/op"
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

// method records an operation by the method that has its name.
func method(t compute.OpType, more ...any) Build {
	return func(f compute.Function, ps []compute.Value) (compute.Value, error) {
		var in []reflect.Value
		for _, p := range ps {
			in = append(in, reflect.ValueOf(p))
		}
		for _, m := range more {
			in = append(in, reflect.ValueOf(m))
		}
		out := reflect.ValueOf(f).MethodByName(t.String()).Call(in)
		err, _ := out[1].Interface().(error)
		v, _ := out[0].Interface().(compute.Value)
		return v, err
	}
}

// Ops returns the operations, with the types they take. Elementwise ones and reductions are all
// those of the table that a backend has.
func Ops(b compute.Backend) (cases []Op) {
	has := b.Capabilities().Operations
	for _, row := range op.Rows() {
		if !has[row.Op] {
			continue
		}
		var takes []dtypes.DType
		for _, d := range allTypes {
			if row.Takes.Has(d) {
				takes = append(takes, d)
			}
		}
		if row.Takes == op.Bools { // upstream's backend takes numbers alone where both could be
			takes = []dtypes.DType{dtypes.Bool}
		}
		switch row.Class {
		case op.Unary:
			cases = append(cases, Op{row.Op.String(), takes, [][]int{{3, 37}}, method(row.Op)})
		case op.Binary:
			cases = append(cases, Op{row.Op.String(), takes, [][]int{{5, 19}, {1, 19}}, method(row.Op)})
		case op.Reduce:
			for _, axes := range [][]int{{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}} {
				var list []any
				for _, a := range axes {
					list = append(list, a)
				}
				cases = append(cases, Op{fmt.Sprint(row.Op, axes), takes, [][]int{{3, 70, 4}}, method(row.Op, list...)})
			}
		}
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
			if d == dtypes.Bool {
				flat.Index(i).SetBool(r.IntN(2) == 0)
				continue
			}
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

// Evaluate runs the operation on a backend with all of its types, as one computation, and returns
// the result of each as float64.
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
