package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
)

// grower grows a random graph: the same seed makes the same calls on any backend's function.
type grower struct {
	r      *rand.Rand
	f      compute.Function
	values []compute.Value
	exact  map[compute.Value]bool // the same bits on every backend, so that comparisons agree
	shape  map[compute.Value]shapes.Shape
	inputs []shapes.Shape
	err    error
	dims   [][]int
}

// emptyShapes has zero-sized axes too, which upstream's backend does not survive.
var emptyShapes = append([][]int{{0, 7}, {5, 0}, {0}}, growShapes...)

var growShapes = [][]int{{}, {1}, {7}, {5, 1}, {5, 7}, {1, 7}, {16, 16}, {3, 5, 7}, {64, 20}, {40, 33}}

func newGrower(seed uint64, f compute.Function, dims [][]int) *grower {
	g := &grower{r: rand.New(rand.NewPCG(seed, 7)), f: f, dims: dims, exact: map[compute.Value]bool{},
		shape: map[compute.Value]shapes.Shape{}}
	for i := range 3 + g.r.IntN(3) {
		d := dtypes.Float32
		if i == 1 {
			d = dtypes.Int32
		}
		s := shapes.Make(d, g.dims[g.r.IntN(len(g.dims))]...)
		v := g.keep(f.Parameter(fmt.Sprint("x", i), s, nil))
		g.exact[v] = true
		g.inputs = append(g.inputs, s)
	}
	return g
}

func (g *grower) keep(v compute.Value, err error) compute.Value {
	if err != nil {
		if g.err == nil {
			g.err = err
		}
		return nil
	}
	g.shape[v], _ = g.f.Shape(v)
	g.values = append(g.values, v)
	return v
}

// pick returns a random value that ok likes, or nil.
func (g *grower) pick(ok func(v compute.Value, s shapes.Shape) bool) compute.Value {
	for range 20 {
		v := g.values[g.r.IntN(len(g.values))]
		if ok(v, g.shape[v]) {
			return v
		}
	}
	return nil
}

func (g *grower) float() compute.Value {
	return g.pick(func(_ compute.Value, s shapes.Shape) bool { return s.DType == dtypes.Float32 })
}

// partner returns a value that can be combined with v element by element, broadcast if need be.
func (g *grower) partner(v compute.Value) compute.Value {
	want := g.shape[v]
	return g.pick(func(_ compute.Value, s shapes.Shape) bool {
		if s.DType != want.DType || s.Rank() != want.Rank() && s.Rank() != 0 {
			return false
		}
		for i, d := range s.Dimensions {
			if d != want.Dimensions[i] && d != 1 {
				return false
			}
		}
		return true
	})
}

func (g *grower) grow(n int) {
	moves := []func(){g.unary, g.binary, g.binary, g.compare, g.reduce, g.reshape, g.transpose, g.broadcast, g.dot,
		g.slice, g.concatenate, g.pad, g.integers, g.constant, g.reverse, g.loop}
	for len(g.values) < n && g.err == nil {
		moves[g.r.IntN(len(moves))]()
	}
}

func (g *grower) unary() {
	x := g.float()
	if x == nil {
		return
	}
	fns := []func(compute.Value) (compute.Value, error){g.f.Tanh, g.f.Logistic, g.f.Neg, g.f.Abs, g.f.Sin, g.f.Cos,
		g.f.Sign, g.f.Identity, g.f.Erf}
	g.keep(fns[g.r.IntN(len(fns))](x))
}

func (g *grower) binary() {
	x := g.float()
	if x == nil {
		return
	}
	if y := g.partner(x); y != nil {
		fns := []func(a, b compute.Value) (compute.Value, error){g.f.Add, g.f.Sub, g.f.Mul, g.f.Max, g.f.Min}
		v := g.keep(fns[g.r.IntN(len(fns))](x, y))
		if v != nil && g.shape[v].Size() > 0 {
			g.keep(g.f.Tanh(v)) // keeps values from growing without bound
		}
	}
}

// compare selects by a comparison of values that every backend agrees on.
func (g *grower) compare() {
	x := g.pick(func(v compute.Value, s shapes.Shape) bool { return g.exact[v] && s.DType == dtypes.Float32 })
	if x == nil {
		return
	}
	y := g.pick(func(_ compute.Value, s shapes.Shape) bool { return s.DType == dtypes.Float32 && s.Equal(g.shape[x]) })
	zero, err := g.f.Constant([]float32{0})
	if y == nil || err != nil {
		return
	}
	cond, err := g.f.GreaterThan(x, zero)
	if err == nil {
		g.keep(g.f.Where(cond, y, x))
	}
}

func (g *grower) axes(s shapes.Shape) (axes []int) {
	for i := range s.Rank() {
		if g.r.IntN(2) == 0 {
			axes = append(axes, i)
		}
	}
	return axes
}

func (g *grower) reduce() {
	x := g.float()
	if x == nil || g.shape[x].Size() == 0 || g.shape[x].Rank() == 0 {
		return
	}
	axes := g.axes(g.shape[x])
	if len(axes) == 0 {
		axes = []int{0}
	}
	fns := []func(x compute.Value, axes ...int) (compute.Value, error){g.f.ReduceSum, g.f.ReduceMax, g.f.ReduceMin}
	v := g.keep(fns[g.r.IntN(len(fns))](x, axes...))
	if v != nil {
		g.keep(g.f.Tanh(v))
	}
}

func (g *grower) reshape() {
	if x := g.float(); x != nil {
		s := g.shape[x]
		switch g.r.IntN(3) {
		case 0:
			g.keep(g.f.Reshape(x, s.Size()))
		case 1:
			g.keep(g.f.Reshape(x, append([]int{1}, s.Dimensions...)...))
		default:
			g.keep(g.f.Reshape(x, append(append([]int{}, s.Dimensions...), 1)...))
		}
	}
}

func (g *grower) transpose() {
	if x := g.float(); x != nil {
		g.keep(g.f.Transpose(x, g.r.Perm(g.shape[x].Rank())...))
	}
}

func (g *grower) broadcast() {
	x := g.pick(func(_ compute.Value, s shapes.Shape) bool { return s.DType == dtypes.Float32 && s.Rank() <= 1 })
	if x == nil {
		return
	}
	s := g.shape[x]
	if s.Rank() == 0 {
		g.keep(g.f.BroadcastInDim(x, shapes.Make(s.DType, 5, 7), nil))
		return
	}
	if g.r.IntN(2) == 0 {
		g.keep(g.f.BroadcastInDim(x, shapes.Make(s.DType, 5, s.Dimensions[0]), []int{1}))
	} else {
		g.keep(g.f.BroadcastInDim(x, shapes.Make(s.DType, s.Dimensions[0], 3), []int{0}))
	}
}

func (g *grower) dot() {
	matrix := func(_ compute.Value, s shapes.Shape) bool {
		return s.DType == dtypes.Float32 && s.Rank() == 2 && s.Size() > 0
	}
	x := g.pick(matrix)
	if x == nil {
		return
	}
	i, j := g.r.IntN(2), g.r.IntN(2)
	y := g.pick(func(v compute.Value, s shapes.Shape) bool {
		return matrix(v, s) && s.Dimensions[j] == g.shape[x].Dimensions[i]
	})
	if y == nil {
		return
	}
	if v := g.keep(g.f.DotGeneral(x, []int{i}, nil, y, []int{j}, nil, compute.DotGeneralConfig{})); v != nil {
		g.keep(g.f.Tanh(v))
	}
}

func (g *grower) slice() {
	x := g.float()
	if x == nil || g.shape[x].Size() == 0 {
		return
	}
	var starts, limits, strides []int
	for _, d := range g.shape[x].Dimensions {
		lo := g.r.IntN(d)
		starts, limits, strides = append(starts, lo), append(limits, lo+1+g.r.IntN(d-lo)), append(strides, 1+g.r.IntN(2))
	}
	v := g.keep(g.f.Slice(x, starts, limits, strides))
	g.exact[v] = g.exact[x]
}

func (g *grower) concatenate() {
	x := g.pick(func(_ compute.Value, s shapes.Shape) bool { return s.DType == dtypes.Float32 && s.Rank() > 0 })
	if x == nil {
		return
	}
	axis := g.r.IntN(g.shape[x].Rank())
	g.keep(g.f.Concatenate(axis, x, x))
}

func (g *grower) pad() {
	x := g.float()
	zero, err := g.f.Constant([]float32{0.5})
	if x == nil || err != nil || g.shape[x].Size() == 0 || g.shape[x].Size() > 5000 {
		return
	}
	var axes []compute.PadAxis
	for range g.shape[x].Rank() {
		axes = append(axes, compute.PadAxis{Start: g.r.IntN(2), End: g.r.IntN(2), Interior: g.r.IntN(2)})
	}
	g.keep(g.f.Pad(x, zero, axes...))
}

func (g *grower) reverse() {
	if x := g.float(); x != nil {
		g.keep(g.f.Reverse(x, g.axes(g.shape[x])...))
	}
}

func (g *grower) integers() {
	x := g.pick(func(_ compute.Value, s shapes.Shape) bool { return s.DType == dtypes.Int32 })
	if x == nil {
		return
	}
	y := g.partner(x)
	if y == nil {
		return
	}
	fns := []func(a, b compute.Value) (compute.Value, error){g.f.Add, g.f.Mul, g.f.BitwiseXor, g.f.Max}
	v := g.keep(fns[g.r.IntN(len(fns))](x, y))
	g.keep(g.f.ConvertDType(v, dtypes.Float32))
}

func (g *grower) constant() {
	s := g.dims[g.r.IntN(len(g.dims))]
	data := make([]float32, product(s))
	for i := range data {
		data[i] = float32(g.r.IntN(5)) - 2
	}
	g.exact[g.keep(g.f.Constant(data, s...))] = true
}

// loop runs a few iterations on one value, captured by the body as well.
func (g *grower) loop() {
	x := g.float()
	if x == nil {
		return
	}
	s := g.shape[x]
	zero, _ := g.f.Constant([]int32{0})
	cond, _ := g.f.Closure()
	i, _ := cond.Parameter("i", shapes.Make(dtypes.Int32), nil)
	_, _ = cond.Parameter("v", s, nil)
	three, _ := cond.Constant([]int32{3})
	less, _ := cond.LessThan(i, three)
	_ = cond.Return([]compute.Value{less}, nil)
	body, _ := g.f.Closure()
	i, _ = body.Parameter("i", shapes.Make(dtypes.Int32), nil)
	v, _ := body.Parameter("v", s, nil)
	one, _ := body.Constant([]int32{1})
	next, _ := body.Add(i, one)
	sum, err := body.Add(v, x)
	if err != nil {
		g.keep(nil, err)
		return
	}
	v, _ = body.Tanh(sum)
	_ = body.Return([]compute.Value{next, v}, nil)
	outs, err := g.f.While(cond, body, zero, x)
	if err != nil {
		g.keep(nil, err)
		return
	}
	g.keep(outs[1], nil)
}

// grown is what a random graph gave on a backend.
func grown(t testing.TB, b compute.Backend, seed uint64, size int, dims [][]int) [][]byte {
	t.Helper()
	builder := b.Builder("random")
	g := newGrower(seed, builder.Main(), dims)
	g.grow(size)
	if g.err != nil {
		t.Fatalf("seed %d: %+v", seed, g.err)
	}
	results := g.values[len(g.inputs):]
	if err := builder.Main().Return(results, nil); err != nil {
		t.Fatal(err)
	}
	exec, err := builder.Compile()
	if err != nil {
		t.Fatalf("seed %d: %+v", seed, err)
	}
	defer exec.Finalize()
	outs, err := exec.Execute(g.arguments(t, b), nil, 0)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	var data [][]byte
	for _, o := range outs {
		s, _ := o.Shape()
		flat := dtypes.MakeAnySlice(s.DType, s.Size())
		if err := o.ToFlatData(flat); err != nil {
			t.Fatal(err)
		}
		data = append(data, ir.BytesOf(flat))
		if s.DType != dtypes.Float32 {
			data[len(data)-1] = nil // compared through the floats made of them
		}
	}
	return data
}

func (g *grower) arguments(t testing.TB, b compute.Backend) []compute.Buffer {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	var bufs []compute.Buffer
	for _, s := range g.inputs {
		var flat any
		if s.DType == dtypes.Int32 {
			data := make([]int32, s.Size())
			for i := range data {
				data[i] = int32(r.IntN(2000) - 1000)
			}
			flat = data
		} else {
			data := make([]float32, s.Size())
			for i := range data {
				data[i] = float32(r.NormFloat64())
			}
			flat = data
		}
		buf, err := b.BufferFromFlatData(0, flat, s)
		if err != nil {
			t.Fatal(err)
		}
		bufs = append(bufs, buf)
	}
	return bufs
}

func floats(data []byte) []float32 {
	if len(data) == 0 {
		return nil
	}
	return ir.FlatSlice(dtypes.Float32, data).([]float32)
}

// sameBits compares results; all NaNs are equal.
func sameBits(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) && (a[i] == a[i] || b[i] == b[i]) {
			return i
		}
	}
	return -1
}

// TestPasses: every graph has the same bits with each pass on or off and on any number of threads.
func TestPasses(t *testing.T) {
	configs := []string{"off=all,threads=1", "threads=1", "threads=3"}
	for _, p := range Passes {
		configs = append(configs, "off="+p)
	}
	want := newBackend(t, "")
	for _, c := range configs {
		b := newBackend(t, c)
		for seed := range uint64(25) {
			w, got := grown(t, want, seed, 40, emptyShapes), grown(t, b, seed, 40, emptyShapes)
			for i := range w {
				if at := sameBits(floats(w[i]), floats(got[i])); at >= 0 {
					t.Fatalf("%s: seed %d: result %d differs at %d: %v, want %v", c, seed, i, at, floats(got[i])[at],
						floats(w[i])[at])
				}
			}
		}
	}
}
