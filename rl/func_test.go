package rl_test

import (
	"sync"
	"testing"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

type pair struct{ X, Y rl.Tensor }

// counter returns a graph function that counts how often it is traced.
func counter(s *rl.Scope) (*rl.Func[pair, pair], *int) {
	built := new(int)
	return rl.NewFunc(s, "counter", func(_ *rl.Ctx, in pair) pair {
		*built++
		out := pair{X: rl.Wrap(graph.MulScalar(in.X.Node(), 2))}
		if in.Y.Ok() {
			out.Y = rl.Wrap(graph.Add(in.X.Node(), in.Y.Node()))
		}
		return out
	}), built
}

func TestFuncCompilesOncePerShape(t *testing.T) {
	s := scope(t)
	f, built := counter(s)
	x2, x3 := floats(s, []float64{1, 2}, 2), floats(s, []float64{1, 2, 3}, 3)
	for range 3 {
		equal(t, "f(x2)", rl.Floats(f.Call(rl.Key{}, pair{X: x2}).X), []float64{2, 4})
		equal(t, "f(x3)", rl.Floats(f.Call(rl.Key{}, pair{X: x3}).X), []float64{2, 4, 6})
		both := f.Call(rl.Key{}, pair{x2, x2})
		equal(t, "f(x2, x2)", rl.Floats(both.Y), []float64{2, 4})
		if f.Call(rl.Key{}, pair{X: x2}).Y.Ok() {
			t.Error("an output that was not made is there")
		}
	}
	f.Call(rl.Key{}, pair{X: floats(s, []float64{1, 2}, 2, 1)})
	f.Call(rl.Key{}, pair{X: rl.FromFlat(s, []float64{1, 2}, 2)}) // another dtype
	if *built != 5 {
		t.Errorf("traced %d times, want 5", *built)
	}
}

func TestFuncInputs(t *testing.T) {
	s := scope(t)
	f, _ := counter(s)
	x := floats(s, []float64{1, 2}, 2)
	out := f.Call(rl.Key{}, pair{x, rl.Scalar(5)}) // a constant of no device
	equal(t, "with a constant", rl.Floats(out.Y), []float64{6, 7})
	equal(t, "constants alone", rl.Floats(f.Call(rl.Key{}, pair{X: rl.Scalar(4)}).X), []float64{8})
	none := rl.NewFunc(s, "none", func(c *rl.Ctx, _ struct{}) rl.Tensor { return rl.Wrap(c.Const(3)) })
	equal(t, "no input", rl.Floats(none.Call(rl.Key{}, struct{}{})), []float64{3})
}

// TestFuncNoRows: a replica may have no row of a minibatch, and what is made of none
// has none, whatever the arithmetic does with shapes.
func TestFuncNoRows(t *testing.T) {
	s := scope(t)
	f := rl.NewFunc(s, "flat", func(_ *rl.Ctx, in pair) pair {
		return pair{rl.Wrap(graph.Reshape(in.X.Node(), -1, 6)), rl.Wrap(graph.ReduceAllSum(in.Y.Node()))}
	})
	none := f.Call(rl.Key{}, pair{rl.FromFlat(s, []float32{}, 0, 2, 3), rl.FromFlat(s, []float32{}, 0)})
	if got := none.X.Shape().Dimensions; len(got) != 2 || got[0] != 0 || got[1] != 6 {
		t.Errorf("no rows became %v, want [0 6]", got)
	}
	some := f.Call(rl.Key{}, pair{floats(s, []float64{1, 2, 3, 4, 5, 6}, 1, 2, 3), floats(s, []float64{1}, 1)})
	equal(t, "one row", rl.Floats(some.X), []float64{1, 2, 3, 4, 5, 6})
}

// What a function returns may be an input, a draw, a parameter, a value of the
// loop or twice the same: each is a tensor of its own.
func TestFuncOutputs(t *testing.T) {
	s := scope(t)
	p := params(s, "net", 1, 1)
	outside := floats(s, []float64{7, 8}, 2)
	f := rl.NewFunc(s, "f", func(c *rl.Ctx, in pair) []rl.Tensor {
		sum := rl.Wrap(graph.AddScalar(in.X.Node(), 1))
		return []rl.Tensor{in.X, rl.Wrap(c.Uniform("u", 2)), rl.Wrap(variable(c, p, "b", 1)), outside, sum, sum, {}}
	})
	x := floats(s, []float64{1, 2}, 2)
	k := s.Key("k")
	for range 2 {
		out := f.Call(k, pair{X: x})
		sameBits(t, "input", out[0], x)
		equal(t, "draw", rl.Floats(out[1]), []float64{k.Use("u").Uniform(0, 0), k.Use("u").Uniform(1, 0)})
		sameBits(t, "parameter", out[2], p.Tensors()[0])
		sameBits(t, "value", out[3], outside)
		equal(t, "twice", rl.Floats(out[5]), []float64{2, 3})
		sameBits(t, "twice", out[4], out[5])
		if out[6].Ok() {
			t.Error("an absent output is there")
		}
	}
}

// What a function asks for and does not use comes into the graph after what it
// returns.
func TestFuncUnusedInputs(t *testing.T) {
	s := scope(t)
	p, st := params(s, "net", 1, 1), rl.NewStats(s, "stats", 0, 2)
	got := compute(s, s.Key("k"), func(c *rl.Ctx, x []*node) *node {
		y := graph.AddScalar(x[0], 1)
		c.Uniform("late", 3)
		variable(c, p, "w", 1, 1)
		st.Norm(c, x[0])
		return y
	}, floats(s, []float64{1, 2}, 1, 2))
	equal(t, "x + 1", rl.Floats(got), []float64{2, 3})
}

func TestFuncInsideAnotherIsInlined(t *testing.T) {
	s := scope(t)
	f, built := counter(s)
	g := rl.NewFunc(s, "g", func(c *rl.Ctx, in rl.Tensor) rl.Tensor {
		// The second argument is a value of the loop: it becomes a constant.
		out := f.Call(rl.Key{}, pair{in, rl.Scalar(1)})
		return rl.Wrap(graph.Mul(out.X.Node(), out.Y.Node()))
	})
	x := floats(s, []float64{1, 2}, 2)
	for range 2 {
		equal(t, "2x(x+1)", rl.Floats(g.Call(rl.Key{}, x)), []float64{4, 12})
	}
	if *built != 1 {
		t.Errorf("traced %d times, want 1: as part of g", *built)
	}
}

// A function inside another draws with the outer call's key.
func TestFuncInsideAnotherDraws(t *testing.T) {
	s := scope(t)
	f := rl.NewFunc(s, "f", func(c *rl.Ctx, in rl.Tensor) rl.Tensor {
		return rl.Wrap(graph.Add(in.Node(), c.Uniform("u", in.Rows())))
	})
	g := rl.NewFunc(s, "g", func(c *rl.Ctx, in rl.Tensor) (out rl.Tensor) {
		c.Within("f", func() { out = f.Call(rl.Key{}, in) })
		return out
	})
	k := s.Key("k")
	got := g.Call(k, floats(s, []float64{0, 0}, 2))
	equal(t, "draws", rl.Floats(got), []float64{k.Use("f/u").Uniform(0, 0), k.Use("f/u").Uniform(1, 0)})
}

// On values a function inside another would run once, while it is traced, and
// leave a constant behind.
func TestFuncInsideAnotherOnValues(t *testing.T) {
	s := scope(t)
	f := rl.NewFunc(s, "f", func(c *rl.Ctx, _ struct{}) rl.Tensor { return rl.Wrap(c.Const(3)) })
	g := rl.NewFunc(s, "g", func(_ *rl.Ctx, in rl.Tensor) rl.Tensor {
		return rl.Wrap(graph.Add(in.Node(), f.Call(rl.Key{}, struct{}{}).Node()))
	})
	fails(t, func() { g.Call(rl.Key{}, floats(s, []float64{1}, 1)) },
		`graph function "g": graph function "f": it is called on values inside another`, "func_test.go:")
}

func TestRows(t *testing.T) {
	s := scope(t)
	f, built := counter(s)
	in := pair{floats(s, []float64{1, 2, 3, 4, 5, 6}, 3, 2), floats(s, []float64{1, 1, 1, 1, 1, 1}, 3, 2)}
	mask := func(x ...bool) rl.Tensor { return rl.FromFlat(s, x, 3) }
	for range 2 { // before and after it is compiled
		out := f.Rows(mask(false, false, false), rl.Key{}, in)
		sameBits(t, "none", out.X, rl.Zero(in.X))
		sameBits(t, "none", out.Y, rl.Zero(in.X))
	}
	out := f.Rows(mask(true, false, true), rl.Key{}, in)
	equal(t, "some X", rl.Floats(out.X), []float64{2, 4, 0, 0, 10, 12})
	equal(t, "some Y", rl.Floats(out.Y), []float64{2, 3, 0, 0, 6, 7})
	all := f.Rows(mask(true, true, true), rl.Key{}, in)
	sameBits(t, "all", all.X, f.Call(rl.Key{}, in).X)
	if f.Rows(mask(true, false, false), rl.Key{}, pair{X: in.X}).Y.Ok() {
		t.Error("an absent output is there")
	}
	if *built != 2 {
		t.Errorf("traced %d times, want 2", *built)
	}
	fails(t, func() { f.Rows(rl.FromFlat(s, []bool{true, true}, 2), rl.Key{}, in) }, "does not lead")
}

// Where no row is wanted nothing is computed, so the result is the same memory.
func TestRowsComputesNothing(t *testing.T) {
	s := scope(t)
	f := rl.NewFunc(s, "f", func(_ *rl.Ctx, in rl.Tensor) rl.Tensor { return rl.Wrap(graph.Log(in.Node())) })
	x := floats(s, []float64{-1, -1}, 2)
	none := rl.FromFlat(s, []bool{false, false}, 2)
	f.Call(rl.Key{}, x)
	a, b := f.Rows(none, rl.Key{}, x), f.Rows(none, rl.Key{}, x)
	equal(t, "zeros", rl.Floats(a), []float64{0, 0})
	if !rl.SameMemory(a, b) {
		t.Error("the zeros were made twice")
	}
}

func TestRowsInsideGraph(t *testing.T) {
	s := scope(t)
	f, _ := counter(s)
	x := floats(s, []float64{1, 2}, 2)
	f.Call(rl.Key{}, pair{X: x}) // compiled for values of these very shapes
	for _, mask := range []rl.Tensor{rl.FromFlat(s, []bool{false, false}, 2), rl.FromFlat(s, []bool{false, true}, 2)} {
		want := f.Rows(mask, rl.Key{}, pair{X: x}).X
		outer := func(_ *rl.Ctx, in []rl.Tensor) rl.Tensor { return f.Rows(in[1], rl.Key{}, pair{X: in[0]}).X }
		sameBits(t, "mask as node", rl.NewFunc(s, "a", outer).Call(rl.Key{}, []rl.Tensor{x, mask}), want)
		constant := func(_ *rl.Ctx, in rl.Tensor) rl.Tensor {
			return rl.Wrap(f.Rows(mask, rl.Key{}, pair{X: in}).X.Node())
		}
		sameBits(t, "mask as value", rl.NewFunc(s, "b", constant).Call(rl.Key{}, x), want)
	}
}

func TestBuildErrorsNameFunctionAndPosition(t *testing.T) {
	s := scope(t)
	x := floats(s, []float64{1, 2}, 2)
	for _, c := range []struct {
		name  string
		build func(*rl.Ctx, rl.Tensor) rl.Tensor
		want  string
	}{
		{"shapes", func(c *rl.Ctx, in rl.Tensor) rl.Tensor {
			return rl.Wrap(graph.Add(in.Node(), graph.Zeros(c.Graph(), shapes.Make(in.Shape().DType, 3))))
		}, "[2]"},
		{"nothing", func(*rl.Ctx, rl.Tensor) rl.Tensor { return rl.Tensor{} }, "it returns no tensor"},
		{"value", func(*rl.Ctx, rl.Tensor) rl.Tensor { return rl.Wrap(x.Node()) }, "only inside a graph function"},
		{"read", func(_ *rl.Ctx, in rl.Tensor) rl.Tensor { rl.Read[float32](in); return in }, "has no data to read"},
	} {
		f := rl.NewFunc(s, c.name, c.build)
		for range 2 { // a function that failed to compile fails again
			fails(t, func() { f.Call(rl.Key{}, x) }, `func_test.go:`, `graph function "`+c.name+`": `, c.want)
		}
	}
}

// Graph functions only read parameters, and only those that exist.
func TestBuildErrorsOfParameters(t *testing.T) {
	s := scope(t)
	p := params(s, "net", 1, 1)
	x := floats(s, []float64{1}, 1, 1)
	call := func(build func(*rl.Ctx, *model.Scope)) func() {
		return func() {
			rl.NewFunc(s, "f", func(c *rl.Ctx, in rl.Tensor) rl.Tensor { build(c, c.Scope(p)); return in }).Call(rl.Key{}, x)
		}
	}
	one := shapes.Make(x.Shape().DType, 1)
	fails(t, call(func(c *rl.Ctx, sc *model.Scope) {
		sc.VariableWithShape("b", one).SetNodeValue(graph.Zeros(c.Graph(), one))
	}),
		`graph function "f"`, "writes parameter /net/b", "rl.Stats")
	fails(t, call(func(c *rl.Ctx, sc *model.Scope) { sc.VariableWithShape("new", one).NodeValue(c.Graph()) }),
		`graph function "f"`, `parameter "/net/new" is created outside NewParams`)
	other := params(seeded(t, 2), "net", 1, 1)
	fails(t, func() {
		compute(s, rl.Key{}, func(c *rl.Ctx, _ []*node) *node { return variable(c, other, "b", 1) })
	}, `parameters "net" belong to another scope`, `graph function "compute"`)
}

func TestConcurrentCalls(t *testing.T) {
	s := scope(t)
	p := params(s, "net", 2, 3)
	traced := make(chan struct{}, 100)
	f := rl.NewFunc(s, "f", func(c *rl.Ctx, in rl.Tensor) rl.Tensor {
		traced <- struct{}{}
		y := linear(c, p, in.Node(), 3)
		return rl.Wrap(graph.Add(y, c.Uniform("u", in.Rows(), 3)))
	})
	g := rl.NewFunc(s, "g", func(c *rl.Ctx, in rl.Tensor) rl.Tensor { return rl.Wrap(linear(c, p, in.Node(), 3)) })
	k := s.Key("k")
	in := []rl.Tensor{floats(s, randoms("a", 8), 4, 2), floats(s, randoms("b", 14), 7, 2)}
	got := make([][2]rl.Tensor, 16)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i] = [2]rl.Tensor{f.Call(k, in[i%2]), g.Call(rl.Key{}, in[i%2])} })
	}
	wg.Wait()
	if len(traced) != 2 {
		t.Errorf("traced %d times for two shapes", len(traced))
	}
	for i := range got {
		sameBits(t, "f", got[i][0], f.Call(k, in[i%2]))
		sameBits(t, "g", got[i][1], g.Call(rl.Key{}, in[i%2]))
	}
}

// Row i of a batch is the same alone, in part of the batch and in the whole.
func TestRowIndependence(t *testing.T) {
	s := scope(t)
	p := params(s, "net", 3, 2)
	f := rl.NewFunc(s, "f", func(c *rl.Ctx, in rl.Tensor) rl.Tensor {
		return rl.Wrap(graph.Add(graph.Tanh(linear(c, p, in.Node(), 2)), c.Normal("z", in.Rows(), 2)))
	})
	const rows = 40
	data := randoms("x", rows*3)
	k := s.Key("k")
	whole := rl.Floats(f.Call(k, floats(s, data, rows, 3)))
	for _, part := range [][2]int{{0, 1}, {5, 6}, {3, 10}, {39, 40}} {
		lo, hi := part[0], part[1]
		got := f.Call(k.At(lo), floats(s, data[lo*3:hi*3], hi-lo, 3))
		equal(t, "rows", rl.Floats(got), whole[lo*2:hi*2])
	}
}
