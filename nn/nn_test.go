package nn_test

import (
	"math"
	"testing"

	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

type node = graph.Node

func scope(t testing.TB) *rl.Scope { return seeded(t, 1) }

func seeded(t testing.TB, seed uint64) *rl.Scope {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(b), seed)
}

// eval runs graph code on inputs.
func eval(s *rl.Scope, f func(c *rl.Ctx, x []*node) []*node, in ...rl.Tensor) [][]float64 {
	fn := rl.NewFunc(s, "test", func(c *rl.Ctx, in []rl.Tensor) []rl.Tensor {
		x := make([]*node, len(in))
		for i, t := range in {
			x[i] = t.Node()
		}
		var out []rl.Tensor
		for _, y := range f(c, x) {
			out = append(out, rl.Wrap(y))
		}
		return out
	})
	var out [][]float64
	for _, t := range fn.Call(s.Key("test"), in) {
		out = append(out, rl.Floats(t))
	}
	return out
}

// failure returns what stopped f, or nothing.
func failure(f func()) string {
	if err := rl.Catch(func() error { f(); return nil }); err != nil {
		return err.Error()
	}
	return ""
}

func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tol) {
			t.Errorf("%s[%d] = %.9g, want %.9g", what, i, got[i], want[i])
		}
	}
}

// wave returns n numbers that look arbitrary.
func wave(n int, phase float64) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(math.Sin(1.7*float64(i) + phase))
	}
	return out
}

// weights of parameters by path.
func weights(p *rl.Params) map[string][]float64 {
	out := map[string][]float64{}
	for i, t := range p.Tensors() {
		out[p.Paths()[i]] = rl.Floats(t)
	}
	return out
}

// checkGrad compares the derivative of the sum of f, with respect to every input,
// with central differences.
func checkGrad(t *testing.T, what string, f func(c *rl.Ctx, x []*node) *node, in ...[]float32) {
	t.Helper()
	s := scope(t)
	tensor := func(x []float32) rl.Tensor { return rl.FromFlat(s, x, 1, len(x)) }
	var args []rl.Tensor
	for _, x := range in {
		args = append(args, tensor(x))
	}
	got := eval(s, func(c *rl.Ctx, x []*node) []*node {
		return graph.Gradient(graph.ReduceAllSum(f(c, x)), x...)
	}, args...)
	value := rl.NewFunc(s, "value", func(c *rl.Ctx, in []rl.Tensor) rl.Tensor {
		x := make([]*node, len(in))
		for i, t := range in {
			x[i] = t.Node()
		}
		return rl.Wrap(graph.ReduceAllSum(f(c, x)))
	})
	const h = 1.0 / 128
	for i := range in {
		for j := range in[i] {
			at := func(d float32) float64 {
				x := append([]float32(nil), in[i]...)
				x[j] += d
				moved := append([]rl.Tensor(nil), args...)
				moved[i] = tensor(x)
				return rl.Floats(value.Call(s.Key("test"), moved))[0]
			}
			want := (at(h) - at(-h)) / (2 * h)
			if math.Abs(got[i][j]-want) > 2e-3*(1+math.Abs(want)) {
				t.Errorf("%s: gradient of input %d at %d is %.6g, want %.6g", what, i, j, got[i][j], want)
			}
		}
	}
}
