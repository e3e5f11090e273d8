package engine

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine/internal/enginetest"
	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestStages prints what each stage makes of some graphs: recorded, simplified, compiled.
func TestStages(t *testing.T) {
	tests := []struct {
		name string
		fn   func(xs []*Node) []*Node
		args []any
	}{
		{"mlp", cartpole.gradients, cartpole.args(64)},
		{"sweep", cartpole.gradients, cartpole.args(512)},
		{"forward1", cartpole.fn(false), cartpole.args(1)},
		{"softmax", func(xs []*Node) []*Node { return []*Node{LogSoftmax(cartpole.forward(xs))} }, cartpole.args(8)},
		{"loop", func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return enginetest.Loop(g, 8, xs[:1], func(i *Node, s []*Node) []*Node {
				row := Reshape(Tanh(ReduceSum(s[0], 0)), 1, 4)
				return []*Node{DynamicUpdateSlice(s[0], row, []*Node{i, ScalarZero(g, dtypes.Int32)})}
			})
		}, cartpole.args(8)[:1]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBackend(t, "threads=1")
			e := bind(t, b, tt.fn, tt.args).exec
			f, err := optimise(e.Module(), b.settings)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, tt.name, e.Module().String()+"\nsimplified:\n"+f.String()+"\n"+e.Program())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has changed (go test -update rewrites it); got\n%s", path, got)
	}
}

var f32Vector = shapes.Make(dtypes.Float32, 2)

func v(x compute.Value, err error) compute.Value {
	if err != nil {
		panic(err)
	}
	return x
}

// c returns a constant vector, or a scalar of one value.
func c(f compute.Function, xs ...float32) compute.Value {
	if len(xs) == 1 {
		return v(f.Constant(xs))
	}
	return v(f.Constant(xs, len(xs)))
}

func c2(f compute.Function) compute.Value { return v(f.Constant([]float32{1, 2, 3}, 3, 1)) }

// TestSimplify: each rule, by what is left of a small function.
func TestSimplify(t *testing.T) {
	type F = compute.Function
	type V = compute.Value
	tests := []struct {
		name string
		fn   func(f F, x V) V
		want string
	}{
		{"fold", func(f F, x V) V { return v(f.Mul(x, v(f.Neg(c(f, 2, 3))))) }, "%1 f32[2] = Constant() {-2 -3}\n  %2 f32[2] = Mul(%0, %1)"},
		{"times one", func(f F, x V) V { return v(f.Mul(v(f.Mul(c(f, 1), x)), c(f, 1, 1))) }, ""},
		{"plus zero stays", func(f F, x V) V { return v(f.Add(x, c(f, 0, 0))) }, "%1 f32[2] = Constant() {0 0}\n  %2 f32[2] = Add(%0, %1)"},
		{"minus zero goes", func(f F, x V) V { return v(f.Sub(x, c(f, 0, 0))) }, ""},
		{"twice negated", func(f F, x V) V { return v(f.Neg(v(f.Neg(x)))) }, ""},
		{"equal nodes", func(f F, x V) V { return v(f.Add(v(f.Exp(x)), v(f.Exp(x)))) }, "%1 f32[2] = Exp(%0)\n  %2 f32[2] = Add(%1, %1)"},
		{"commuted nodes", func(f F, x V) V {
			y := v(f.Exp(x))
			return v(f.Sub(v(f.Mul(x, y)), v(f.Mul(y, x))))
		}, "%1 f32[2] = Exp(%0)\n  %2 f32[2] = Mul(%0, %1)\n  %3 f32[2] = Sub(%2, %2)"},
		{"reshapes", func(f F, x V) V { return v(f.Reshape(v(f.Reshape(x, 2, 1)), 2)) }, ""},
		{"transposes", func(f F, x V) V { return v(f.Reshape(v(f.Transpose(v(f.Reshape(x, 2, 1)), 1, 0)), 2)) }, ""},
		{"broadcast of one", func(f F, x V) V { return v(f.Add(v(f.Exp(c(f, 0))), x)) },
			"%1 f32 = Constant() {1}\n  %2 f32[2] = BroadcastInDim(%1) []\n  %3 f32[2] = Add(%2, %0)"},
		{"barrier", func(f F, x V) V {
			outs, err := f.OptimizationBarrier(c(f, 1, 1))
			if err != nil {
				panic(err)
			}
			return v(f.Mul(x, outs[0]))
		}, "%1 f32[2] = Constant() {1 1}\n  %2 f32[2] = OptimizationBarrier(%1)\n  %3 f32[2] = Mul(%0, %2)"},
		{"transposed product", func(f F, x V) V {
			m := v(f.Reshape(x, 2, 1))
			d := v(f.DotGeneral(m, []int{1}, nil, c2(f), []int{1}, nil, compute.DotGeneralConfig{}))
			return v(f.ReduceSum(v(f.Transpose(d, 1, 0)), 0))
		}, "%1 f32[2 1] = Reshape(%0)\n  %2 f32[3 1] = Constant() {1 2 3}\n" +
			"  %3 f32[3 2] = DotGeneral(%2, %1) {LhsContract:[1] LhsBatch:[] RhsContract:[1] RhsBatch:[]}\n  %4 f32[2] = ReduceSum(%3) [0]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := record.New("x", func(m *ir.Module) (compute.Executable, error) {
				s, _ := parseSettings("check")
				f, err := optimise(m, s)
				if err != nil {
					return nil, err
				}
				body := tt.want
				if body != "" {
					body = "  " + body + "\n"
				}
				last := string(rune('0' + len(f.Nodes) - 1))
				if got, want := f.String(), "main(%0 f32[2]) {\n"+body+"  return %"+last+"\n}\n"; got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
				return nil, nil
			})
			f := b.Main()
			x := v(f.Parameter("x", f32Vector, nil))
			if err := f.Return([]compute.Value{tt.fn(f, x)}, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Compile(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
