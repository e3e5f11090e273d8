package rl_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"go.uber.org/goleak"

	"github.com/weft-rl/weft/rl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type node = graph.Node

func scope(t testing.TB) *rl.Scope { return seeded(t, 1) }

func seeded(t testing.TB, seed uint64) *rl.Scope {
	t.Helper()
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(b), seed)
}

// fails runs f, which must stop with a failure whose message holds every part.
func fails(t *testing.T, f func(), parts ...string) {
	t.Helper()
	err := rl.Catch(func() error { f(); return nil })
	if err == nil {
		t.Fatalf("nothing failed, want %q", parts)
	}
	says(t, err, parts...)
}

// says checks the text of an error: it holds every part, and no stack, which
// only a bug would bring.
func says(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
	if err != nil && strings.Contains(err.Error(), "goroutine ") {
		t.Errorf("error carries a stack: %v", err)
	}
}

func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tol) {
			t.Errorf("%s[%d] = %.9g, want %.9g", what, i, got[i], want[i])
			return
		}
	}
}

func equal[T any](t *testing.T, what string, got, want []T) {
	t.Helper()
	if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// sameBits compares two values of the loop, shape and all.
func sameBits(t *testing.T, what string, got, want rl.Tensor) {
	t.Helper()
	if !got.Shape().Equal(want.Shape()) {
		t.Errorf("%s: shape %s, want %s", what, got.Shape(), want.Shape())
		return
	}
	g, w := rl.Floats(got), rl.Floats(want)
	for i := range g {
		if math.Float64bits(g[i]) != math.Float64bits(w[i]) {
			t.Errorf("%s[%d] = %v, want %v", what, i, g[i], w[i])
			return
		}
	}
}

// floats returns a float32 tensor of the given numbers.
func floats(s *rl.Scope, x []float64, dims ...int) rl.Tensor {
	f := make([]float32, len(x))
	for i := range x {
		f[i] = float32(x[i])
	}
	return rl.FromFlat(s, f, dims...)
}

// randoms returns n numbers in (-1,1) that name names.
func randoms(name string, n int) []float64 {
	k := rl.NewKey(42).Use(name)
	x := make([]float64, n)
	for i := range x {
		x[i] = 2*k.Uniform(0, i) - 1
	}
	return x
}

// compute runs graph code on inputs.
func compute(s *rl.Scope, k rl.Key, f func(c *rl.Ctx, x []*node) *node, in ...rl.Tensor) rl.Tensor {
	return rl.NewFunc(s, "compute", func(c *rl.Ctx, in []rl.Tensor) rl.Tensor {
		x := make([]*node, len(in))
		for i, t := range in {
			x[i] = t.Node()
		}
		return rl.Wrap(f(c, x))
	}).Call(k, in)
}

// sgd is the plainest rule.
type sgd struct{}

func (sgd) Slots() []string { return nil }

func (sgd) Update(p, g *node, s []*node, lr, _ *node) (*node, []*node) {
	return graph.Sub(p, graph.Mul(lr, g)), s
}

// heavyBall is a rule with a slot and a use for its count.
type heavyBall struct{}

func (heavyBall) Slots() []string { return []string{"velocity"} }

func (heavyBall) Update(p, g *node, s []*node, lr, count *node) (*node, []*node) {
	v := graph.Add(graph.MulScalar(s[0], .9), g)
	decay := graph.ConvertDType(graph.Sqrt(count), dtypes.Float32)
	return graph.Sub(p, graph.Div(graph.Mul(lr, v), decay)), []*node{v}
}

// variable returns the float32 parameter that graph code reads under a name.
func variable(c *rl.Ctx, p *rl.Params, name string, dims ...int) *node {
	return c.Scope(p).VariableWithShape(name, shapes.Make(dtypes.Float32, dims...)).NodeValue(c.Graph())
}

// params makes parameters w [in, out] and b [out] with small fixed values.
func params(s *rl.Scope, name string, in, out int) *rl.Params {
	fill := func(name string, dims ...int) []float32 {
		x := make([]float32, shapes.Make(dtypes.Float32, dims...).Size())
		for i, v := range randoms(name, len(x)) {
			x[i] = float32(v) / 2
		}
		return x
	}
	return rl.NewParams(s, name, func(_ *rl.Ctx, sc *model.Scope) {
		constant(sc, "w", fill(name+"w", in, out), in, out)
		constant(sc, "b", fill(name+"b", out), out)
	})
}

// constant makes a variable whose initial values are given.
func constant(sc *model.Scope, name string, x []float32, dims ...int) {
	sc.WithInitializer(func(g *graph.Graph, shape shapes.Shape) *node {
		return graph.Reshape(graph.Const(g, x), dims...)
	}).VariableWithShape(name, shapes.Make(dtypes.Float32, dims...))
}

// linear returns x w + b.
func linear(c *rl.Ctx, p *rl.Params, x *node, out int) *node {
	w, b := variable(c, p, "w", x.Shape().Dimensions[1], out), variable(c, p, "b", out)
	return graph.Add(graph.MatMul(x, w), graph.ExpandAxes(b, 0))
}

// values returns all numbers of parameters, path by path.
func values(p *rl.Params) (out []float64) {
	for _, t := range p.Tensors() {
		out = append(out, rl.Floats(t)...)
	}
	return out
}

// copied returns a state with the arrays of another, as if it had been on disk.
func copied(s *rl.Scope, st *rl.State, but ...string) *rl.State {
	out := rl.NewState(s)
	for _, a := range st.Arrays() {
		if !slices.Contains(but, a.Name) {
			out.Add(a)
		}
	}
	return out
}
