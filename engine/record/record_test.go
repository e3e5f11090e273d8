package record

import (
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
)

var scalar = shapes.Make(dtypes.Float32)

// recorder keeps what it is given and checks it.
func recorder(t *testing.T) *Builder {
	return New("test", func(m *ir.Module) (compute.Executable, error) {
		if err := m.Check(); err != nil {
			t.Errorf("the recorded module is wrong: %v", err)
		}
		return nil, nil
	})
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestNested records a loop in a loop, both closures hung off main, the inner one using a value of
// main.
func TestNested(t *testing.T) {
	b := recorder(t)
	val, fn, vals := must[compute.Value](t), must[compute.Function](t), must[[]compute.Value](t)
	x := val(b.Main().Parameter("x", scalar, nil))
	y := val(b.Main().Exp(x))
	never := func() compute.Function {
		c := fn(b.Main().Closure())
		p := val(c.Parameter("s", scalar, nil))
		if err := c.Return([]compute.Value{val(c.LessThan(p, val(c.Constant([]float32{9}))))}, nil); err != nil {
			t.Fatal(err)
		}
		return c
	}
	outer := fn(b.Main().Closure())
	p := val(outer.Parameter("p", scalar, nil))
	cond := never()
	inner := fn(b.Main().Closure())
	q := val(inner.Parameter("q", scalar, nil))
	if err := inner.Return([]compute.Value{val(inner.Add(q, val(inner.Add(p, y))))}, nil); err != nil {
		t.Fatal(err)
	}
	r := vals(outer.While(cond, inner, p))
	if err := outer.Return(r, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Main().Return(vals(b.Main().While(never(), outer, x)), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Compile(); err != nil {
		t.Fatal(err)
	}
	want := `module test
main(%0 f32) {
  %1 f32 = Exp(%0)
  %2 f32 = While(%0, %1)
    func(%3 f32) {
      %4 f32 = Constant() {9}
      %5 bool = LessThan(%3, %4)
      return %5
    }
    func(%6 f32) captures (%7 f32) {
      %8 f32 = While(%6, %6, %7)
        func(%9 f32) {
          %10 f32 = Constant() {9}
          %11 bool = LessThan(%9, %10)
          return %11
        }
        func(%12 f32) captures (%13 f32, %14 f32) {
          %15 f32 = Add(%13, %14)
          %16 f32 = Add(%12, %15)
          return %16
        }
      return %8
    }
  return %2
}
`
	if got := b.Module().String(); got != want {
		t.Errorf("recorded\n%s\nwant\n%s", got, want)
	}
}

// TestAgain: what a finished closure computed without its parameters can be used elsewhere.
func TestAgain(t *testing.T) {
	b := recorder(t)
	val, fn := must[compute.Value](t), must[compute.Function](t)
	x := val(b.Main().Parameter("x", scalar, nil))
	c := fn(b.Main().Closure())
	p := val(c.Parameter("p", scalar, nil))
	two := val(c.Constant([]float32{2}))
	shared := val(c.Mul(two, x)) // of the closure, but made of main's values
	if err := c.Return([]compute.Value{val(c.Add(p, shared))}, nil); err != nil {
		t.Fatal(err)
	}
	out := val(b.Main().Add(val(b.Main().Mul(x, two)), shared))
	if err := b.Main().Return([]compute.Value{out}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Main().Neg(x); err == nil {
		t.Error("main could grow after its Return")
	}
	if _, err := b.Compile(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.Module().String(), "Mul("); n != 2 {
		t.Errorf("%d products in main:\n%s", n, b.Module())
	}
}

func TestErrors(t *testing.T) {
	val, fn := must[compute.Value](t), must[compute.Function](t)
	tests := []struct {
		name, want string
		do         func(b *Builder, x compute.Value) error
	}{
		{"another builder's value", "belongs to computation", func(b *Builder, _ compute.Value) error {
			other := New("other", nil)
			_, err := b.Main().Neg(val(other.Main().Parameter("y", scalar, nil)))
			return err
		}},
		{"not a value", "is not a value of this builder", func(b *Builder, _ compute.Value) error {
			_, err := b.Main().Neg(3)
			return err
		}},
		{"parameter of a finished closure", "depends on a parameter", func(b *Builder, _ compute.Value) error {
			c := fn(b.Main().Closure())
			y := val(c.Neg(val(c.Parameter("p", scalar, nil))))
			if err := c.Return([]compute.Value{y}, nil); err != nil {
				return err
			}
			_, err := b.Main().Neg(y)
			return err
		}},
		{"named function captures", "cannot capture", func(b *Builder, x compute.Value) error {
			f := fn(b.NewFunction("f"))
			_, err := f.Neg(x)
			return err
		}},
		{"unfinished closure", "no Return yet", func(b *Builder, x compute.Value) error {
			_, err := b.Main().While(fn(b.Main().Closure()), fn(b.Main().Closure()), x)
			return err
		}},
		{"predicate", "want a bool scalar", func(b *Builder, x compute.Value) error {
			_, err := b.Main().If(x, nil, nil)
			return err
		}},
		{"name taken", "empty or taken", func(b *Builder, x compute.Value) error {
			_, err := b.NewFunction(compute.MainName)
			return err
		}},
		{"no return", "has no Return", func(b *Builder, x compute.Value) error {
			_, err := b.Compile()
			return err
		}},
		{"dynamic axes", "dynamic axes", func(b *Builder, x compute.Value) error {
			_, err := b.Main().Parameter("d", shapes.MakeDynamic(dtypes.Float32, []int{-1}, []string{"n"}), nil)
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := recorder(t)
			err := tt.do(b, val(b.Main().Parameter("x", scalar, nil)))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestSplit records what is shared out among devices, of main alone and in equal parts.
func TestSplit(t *testing.T) {
	b := recorder(t)
	val := must[compute.Value](t)
	rows := shapes.Make(dtypes.Float32, 4, 6)
	cut := func(axes ...[]string) *compute.ShardingSpec { return &compute.ShardingSpec{Mesh: "m", Axes: axes} }
	first, second := cut([]string{"d"}), cut(nil, []string{"d"})
	if _, err := b.Main().Parameter("early", rows, first); !compute.IsNotImplemented(err) {
		t.Errorf("sharding on one device: %v", err)
	}
	mesh := compute.Mesh{Name: "m", AxesSizes: []int{2}, AxesNames: []string{"d"}}
	for _, meshes := range [][]compute.Mesh{nil, {mesh, mesh}, {{Name: "m", AxesSizes: []int{2, 2}}}} {
		if err := b.DistributedAutoSharding(meshes...); !compute.IsNotImplemented(err) {
			t.Errorf("meshes %v: %v", meshes, err)
		}
	}
	if err := b.DistributedAutoSharding(mesh); err != nil {
		t.Fatal(err)
	}
	if err := b.DeviceAssignment(0, 1); err != nil {
		t.Error(err)
	}
	if err := b.DeviceAssignment(0); err == nil {
		t.Error("one device for two parts")
	}
	x, y := val(b.Main().Parameter("x", rows, second)), val(b.Main().Parameter("y", scalar, nil))
	for _, bad := range []struct {
		shape shapes.Shape
		spec  *compute.ShardingSpec
	}{{shapes.Make(dtypes.Float32, 3), first}, {scalar, first}, {rows, cut([]string{"d"}, []string{"d"})}} {
		if _, err := b.Main().Parameter("bad", bad.shape, bad.spec); !compute.IsNotImplemented(err) {
			t.Errorf("%s, %v: %v", bad.shape, bad.spec, err)
		}
	}
	inner := must[compute.Function](t)(b.Main().Closure())
	if _, err := inner.Parameter("z", rows, first); !compute.IsNotImplemented(err) {
		t.Errorf("sharding in a closure: %v", err)
	}
	if err := b.Main().Return([]compute.Value{y, x}, []*compute.ShardingSpec{nil, first}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Compile(); err != nil {
		t.Fatal(err)
	}
	m := b.Module()
	if s := m.Split; m.Over() != 2 || !slices.Equal(s.Params, []int{1, ir.Whole}) || !slices.Equal(s.Results, []int{ir.Whole, 0}) {
		t.Errorf("split %+v", m.Split)
	}
	if !strings.Contains(m.String(), "on 2 devices") {
		t.Error(m)
	}
}
