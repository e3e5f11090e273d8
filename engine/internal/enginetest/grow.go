// Package enginetest is what tests of executors share: random graphs, and graphs with nested
// control flow.
package enginetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
	kind   Kind
	depth  int // number of closures around
}

var specials = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0,
	float32(math.Copysign(0, -1)), 1e-40, -1e-45, math.MaxFloat32}

// Kind says what random graphs are made of.
type Kind struct {
	// Shapes lists the shapes of inputs and constants.
	Shapes [][]int
	// Rich graphs have what upstream's own backend lacks: graphs in the bodies of loops, dynamic
	// slices, random bits.
	Rich bool
	// Wild graphs have what only an executor's own results can be compared with: NaN and infinities
	// among the inputs, operations that amplify the last bit, 16-bit types.
	Wild bool
}

// The kinds of graphs that tests are made of.
var (
	Tame  = Kind{Shapes: growShapes}
	Rich  = Kind{Shapes: emptyShapes, Rich: true}
	Empty = Kind{Shapes: emptyShapes, Rich: true, Wild: true}
	Big   = Kind{Shapes: bigShapes, Rich: true, Wild: true}   // several blocks, tiles and goroutines
	Batch = Kind{Shapes: batchShapes, Rich: true, Wild: true} // a network over one batch
)

// emptyShapes has zero-sized axes too, which upstream's backend does not survive.
var emptyShapes = append([][]int{{0, 7}, {5, 0}, {0}}, growShapes...)

var batchShapes = [][]int{{600, 64}, {600, 64}, {600, 64}, {600}, {600, 2}, {600, 1}, {64, 64}, {2, 64}, {64}, {1, 64}, {}}

var bigShapes = [][]int{{300, 64}, {64, 64}, {300}, {64}, {300, 1}, {1, 64}, {5000, 3}, {2500, 2}, {3, 1500}, {1500}, {}}

var growShapes = [][]int{{}, {1}, {7}, {5, 1}, {5, 7}, {1, 7}, {16, 16}, {3, 5, 7}, {64, 20}, {40, 33}}

func newGrower(seed uint64, f compute.Function, kind Kind) *grower {
	g := &grower{r: rand.New(rand.NewPCG(seed, 7)), f: f, kind: kind, exact: map[compute.Value]bool{},
		shape: map[compute.Value]shapes.Shape{}}
	for i := range 3 + g.r.IntN(3) {
		d := dtypes.Float32
		if i == 1 {
			d = dtypes.Int32
		}
		s := shapes.Make(d, g.kind.Shapes[g.r.IntN(len(g.kind.Shapes))]...)
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
		g.slice, g.concatenate, g.pad, g.integers, g.constant, g.reverse, g.loop, g.branch,
		g.sort, g.gather, g.update, g.halves, g.random}
	for len(g.values) < n && g.err == nil {
		moves[g.r.IntN(len(moves))]()
	}
}

func (g *grower) unary() {
	x := g.float()
	if x == nil {
		return
	}
	fns := []func(compute.Value) (compute.Value, error){g.f.Tanh, g.f.Logistic, g.f.Neg, g.f.Abs, g.f.Identity, g.f.Erf}
	if g.exact[x] || g.kind.Wild { // of large numbers these amplify the last bit
		fns = append(fns, g.f.Sin, g.f.Cos, g.f.Sign)
	}
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
	const most = 1 << 17 // elements, so that graphs do not outgrow a test
	y := g.pick(func(v compute.Value, s shapes.Shape) bool {
		return matrix(v, s) && s.Dimensions[j] == g.shape[x].Dimensions[i] &&
			s.Dimensions[1-j]*g.shape[x].Dimensions[1-i] <= most
	})
	if y == nil {
		return
	}
	v := g.keep(g.f.DotGeneral(x, []int{i}, nil, y, []int{j}, nil, compute.DotGeneralConfig{}))
	if v == nil {
		return
	}
	if z := g.partner(v); z != nil && g.r.IntN(2) == 0 { // often an operand of the product itself
		v = g.keep(g.f.Add(v, z))
	}
	g.keep(g.f.Tanh(v))
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
	x := g.pick(func(_ compute.Value, s shapes.Shape) bool {
		return s.DType == dtypes.Float32 && s.Rank() > 0 && s.Size() < 1<<17
	})
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
	s := g.kind.Shapes[g.r.IntN(len(g.kind.Shapes))]
	data := make([]float32, shapes.Make(dtypes.Float32, s...).Size())
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
	cond := g.closure()
	i, _ := cond.Parameter("i", shapes.Make(dtypes.Int32), nil)
	_, _ = cond.Parameter("v", s, nil)
	three, _ := cond.Constant([]int32{3})
	less, _ := cond.LessThan(i, three)
	_ = cond.Return([]compute.Value{less}, nil)
	body := g.closure()
	i, _ = body.Parameter("i", shapes.Make(dtypes.Int32), nil)
	v, _ := body.Parameter("v", s, nil)
	one, _ := body.Constant([]int32{1})
	next, _ := body.Add(i, one)
	sum, err := body.Add(g.inside(body, v), x)
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

// inside grows a graph in the body of a loop, from its state and all that is around it, and returns
// a value like the state. Closures in it are hung off main, as GoMLX does.
func (g *grower) inside(body compute.Function, state compute.Value) compute.Value {
	if !g.kind.Rich || g.depth == 2 {
		return state
	}
	g.shape[state], _ = body.Shape(state)
	sub := &grower{r: g.r, f: body, values: append(slices.Clone(g.values), state), shape: g.shape,
		exact: map[compute.Value]bool{}, kind: g.kind, depth: g.depth + 1}
	outer := len(g.values)
	sub.grow(outer + 2 + g.r.IntN(8))
	g.fail(sub.err)
	for _, v := range slices.Backward(sub.values[outer:]) {
		if g.shape[v].Equal(g.shape[state]) {
			return v
		}
	}
	return state
}

// closure starts a closure the way GoMLX does: off main, wherever it is.
func (g *grower) closure() compute.Function {
	c, err := g.f.Builder().Main().Closure()
	g.fail(err)
	return c
}

// branch takes one of two values, both captured.
func (g *grower) branch() {
	x := g.float()
	if x == nil {
		return
	}
	y := g.pick(func(_ compute.Value, s shapes.Shape) bool { return s.Equal(g.shape[x]) })
	flag := []bool{g.r.IntN(2) == 0}
	if y == nil {
		return
	}
	side := func(v compute.Value, op func(f compute.Function) func(compute.Value) (compute.Value, error)) compute.Function {
		c := g.closure()
		out, err := op(c)(v)
		g.fail(err)
		g.fail(c.Return([]compute.Value{out}, nil))
		return c
	}
	pred, _ := g.f.Constant(flag)
	neg := func(f compute.Function) func(compute.Value) (compute.Value, error) { return f.Neg }
	abs := func(f compute.Function) func(compute.Value) (compute.Value, error) { return f.Abs }
	outs, err := g.f.If(pred, side(x, neg), side(y, abs))
	if err != nil {
		g.fail(err)
		return
	}
	g.keep(outs[0], nil)
}

func (g *grower) fail(err error) {
	if g.err == nil {
		g.err = err
	}
}

// sort sorts what every backend agrees on, carrying along what it may not.
func (g *grower) sort() {
	x := g.pick(func(v compute.Value, s shapes.Shape) bool {
		return g.exact[v] && s.DType == dtypes.Float32 && s.Rank() > 0 && s.Size() > 0
	})
	if x == nil {
		return
	}
	y := g.pick(func(_ compute.Value, s shapes.Shape) bool { return s.Equal(g.shape[x]) })
	if y == nil {
		return
	}
	c := g.closure()
	var ps [4]compute.Value
	for i := range ps {
		ps[i], _ = c.Parameter(fmt.Sprint("p", i), shapes.Make(dtypes.Float32), nil)
	}
	less, _ := c.LessThan(ps[0], ps[1])
	g.fail(c.Return([]compute.Value{less}, nil))
	outs, err := g.f.Sort(c, g.r.IntN(g.shape[x].Rank()), true, x, y)
	if err != nil {
		g.fail(err)
		return
	}
	g.keep(outs[0], nil)
	g.keep(outs[1], nil)
}

func (g *grower) gather() {
	x := g.pick(func(_ compute.Value, s shapes.Shape) bool {
		return s.DType == dtypes.Float32 && s.Rank() == 2 && s.Size() > 0
	})
	if x == nil {
		return
	}
	d := g.shape[x].Dimensions
	rows := make([]int32, 1+g.r.IntN(6))
	for i := range rows {
		rows[i] = int32(g.r.IntN(d[0]))
	}
	at, _ := g.f.Constant(rows, len(rows), 1)
	g.keep(g.f.Gather(x, at, 1, []int{1}, []int{0}, []int{0}, []int{1, d[1]}, false))
	if v := g.values[len(g.values)-1]; g.r.IntN(2) == 0 {
		g.keep(g.f.ScatterSum(x, at, v, 1, []int{1}, []int{0}, []int{0}, false, false))
	}
}

// update writes part of a value over another, on backends that can.
func (g *grower) update() {
	x := g.float()
	if x == nil || !g.kind.Rich || g.shape[x].Rank() == 0 || g.shape[x].Size() == 0 {
		return
	}
	var starts []compute.Value
	sizes := slices.Clone(g.shape[x].Dimensions)
	for i, d := range sizes {
		s, _ := g.f.Constant([]int32{int32(g.r.IntN(2*d) - d/2)})
		starts = append(starts, s)
		sizes[i] = 1 + g.r.IntN(d)
	}
	part := g.keep(g.f.DynamicSlice(x, starts, sizes))
	flipped := g.keep(g.f.Neg(part))
	g.keep(g.f.DynamicUpdateSlice(x, flipped, starts))
}

// halves goes through a 16-bit type and float64, where backends may round differently: only for
// their own bits.
func (g *grower) halves() {
	x := g.float()
	if x == nil || !g.kind.Wild || g.shape[x].Size() == 0 {
		return
	}
	d := []dtypes.DType{dtypes.BFloat16, dtypes.Float16, dtypes.Float64, dtypes.Int8, dtypes.Uint64}[g.r.IntN(5)]
	h, err := g.f.ConvertDType(x, d)
	g.fail(err)
	h2, err := g.f.Add(h, h)
	g.fail(err)
	if h2, err = g.f.ReduceSum(h2); err == nil {
		g.keep(g.f.ConvertDType(h2, dtypes.Float32))
	}
	g.fail(err)
	g.keep(g.f.ConvertDType(h, dtypes.Float32))
}

func (g *grower) random() {
	if !g.kind.Rich {
		return
	}
	state, _ := g.f.Constant([]uint64{g.r.Uint64(), 0, 1}, 3)
	_, bits, err := g.f.RNGBitGenerator(state, shapes.Make(dtypes.Uint32, 5, 7))
	g.fail(err)
	low, _ := g.f.Constant([]uint32{0xffff})
	masked, err := g.f.BitwiseAnd(bits, low)
	g.fail(err)
	g.keep(g.f.ConvertDType(masked, dtypes.Float32))
}

// Grown returns what a random graph gave on a backend. Results that are not float32 are nil: they
// are compared through the floats made of them.
func Grown(t testing.TB, b compute.Backend, seed uint64, size int, kind Kind) [][]byte {
	t.Helper()
	builder := b.Builder("random")
	g := newGrower(seed, builder.Main(), kind)
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
			data[len(data)-1] = nil
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
				if g.kind.Wild && r.IntN(20) == 0 {
					data[i] = specials[r.IntN(len(specials))]
				}
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

// Floats returns the bytes of a result as numbers.
func Floats(data []byte) []float32 {
	if len(data) == 0 {
		return nil
	}
	return ir.FlatSlice(dtypes.Float32, data).([]float32)
}
