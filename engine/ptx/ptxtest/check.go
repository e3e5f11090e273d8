package ptxtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/ptx"
	"github.com/weft-rl/weft/engine/record"
	"github.com/weft-rl/weft/engine/rows"
)

// Tap is the CPU engine that keeps the modules it compiles. To those who make them it looks like a
// GPU: far away, with kernels of its own.
type Tap struct {
	*engine.Backend
	Modules []*ir.Module
}

// HasSharedBuffers implements compute.Backend.
func (b *Tap) HasSharedBuffers() bool { return false }

// Kernels reports that loops are best left as they are.
func (b *Tap) Kernels() bool { return true }

// NewTap makes one.
func NewTap(t testing.TB) *Tap {
	b, err := engine.New("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Finalize)
	return &Tap{Backend: b.(*engine.Backend)}
}

// Builder implements compute.Backend.
func (b *Tap) Builder(name string) compute.Builder {
	return record.New(name, func(m *ir.Module) (compute.Executable, error) {
		b.Modules = append(b.Modules, m)
		return b.Compile(m)
	})
}

// Whiles returns the loops of a module, the innermost first.
func Whiles(m *ir.Module) (out []*ir.Node) {
	var in func(f *ir.Func)
	in = func(f *ir.Func) {
		for _, n := range f.Nodes {
			for _, c := range n.Funcs {
				in(c)
			}
			if n.Op == compute.OpTypeWhile {
				out = append(out, n)
			}
		}
	}
	in(m.Flatten())
	return out
}

// Fill makes the contents of an input: a flat slice of its type.
type Fill func(v *ir.Value, rng *rand.Rand) any

// Random fills floats from -1 to 1, or, in tables of three axes, from 0 to 1 as draws are, and
// integers from 0 to 9.
func Random(v *ir.Value, rng *rand.Rand) any {
	flat := dtypes.MakeAnySlice(v.DType(), v.Size())
	for i := range v.Size() {
		e := reflect.ValueOf(flat).Index(i)
		switch e.Kind() {
		case reflect.Float32, reflect.Float64:
			x := rng.Float64()
			if v.Shape.Rank() < 3 {
				x = (2*x - 1) / math.Sqrt(math.Sqrt(float64(v.Size()))/4+1)
			}
			e.SetFloat(x)
		case reflect.Bool:
			e.SetBool(rng.IntN(2) == 0)
		case reflect.Int32, reflect.Int64:
			e.SetInt(int64(rng.IntN(10)))
		default:
			e.SetUint(uint64(rng.IntN(10)))
		}
	}
	return flat
}

// Check runs a loop on the CPU engine and as a kernel, with the same inputs, and fails if a result
// differs by more than tolerance. It returns the kernel. With BF16 the engine rounds what products
// multiply too.
func Check(t testing.TB, n *ir.Node, fill Fill, p ir.Precision, tolerance float64) ptx.Kernel {
	t.Helper()
	l, err := rows.Of(n)
	if err != nil {
		t.Fatalf("not by row: %v", err)
	}
	k, err := ptx.Of(l, "loop", p)
	if err != nil {
		t.Fatalf("no kernel: %v\n%s", err, l)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	flats := map[*ir.Value]any{}
	for _, v := range n.Inputs {
		if c, ok := v.Node.Attr.(ir.Literal); ok {
			flats[v] = ir.FlatSlice(v.DType(), c.Data)
		} else if flats[v] == nil {
			flats[v] = fill(v, rng)
		}
	}
	want := onEngine(t, n, flats, p)
	before(t, l, flats)
	got, err := onMachine(l, k, flats)
	if err != nil {
		t.Fatalf("%v\n%s", err, k.Text)
	}
	for i, r := range l.Results {
		if err := differ(want[i], got[i], tolerance); err != nil {
			t.Errorf("result %d (%s, %s): %v", i, r.Kind, r.Value.Shape, err)
		}
	}
	return k
}

// onEngine runs the loop alone, as a module of its own.
func onEngine(t testing.TB, n *ir.Node, flats map[*ir.Value]any, p ir.Precision) (out []any) {
	f := &ir.Func{}
	env := map[*ir.Value]*ir.Value{}
	var args []*ir.Value
	for _, v := range n.Inputs {
		if env[v] != nil {
			continue
		}
		if c, ok := v.Node.Attr.(ir.Literal); ok {
			env[v] = f.Add(ir.NewConst(v.Shape, c.Data))
			continue
		}
		env[v] = f.Add(ir.NewNode(compute.OpTypeParameter, ir.Param{Name: fmt.Sprint(len(args))}, nil, v.Shape))
		f.Params = append(f.Params, env[v])
		args = append(args, v)
	}
	loop := &ir.Node{Op: n.Op, Attr: n.Attr, Funcs: n.Funcs}
	for _, v := range n.Inputs {
		loop.Inputs = append(loop.Inputs, env[v])
	}
	for i, v := range n.Outputs {
		loop.Outputs = append(loop.Outputs, &ir.Value{Node: loop, Index: i, Shape: v.Shape})
	}
	f.Add(loop)
	f.Results = loop.Outputs
	if p == ir.BF16 {
		roundProducts(f)
	}
	return execute(t, &ir.Module{Name: "loop", Main: f}, args, flats)
}

// execute runs a module on the CPU engine.
func execute(t testing.TB, m *ir.Module, args []*ir.Value, flats map[*ir.Value]any) (out []any) {
	b := NewTap(t)
	exe, err := b.Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	bufs := make([]compute.Buffer, len(args))
	for i, v := range args {
		if bufs[i], err = b.BufferFromFlatData(0, flats[v], v.Shape); err != nil {
			t.Fatal(err)
		}
	}
	made, err := exe.Execute(bufs, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, made := range made {
		flat := dtypes.MakeAnySlice(m.Main.Results[i].DType(), m.Main.Results[i].Size())
		if err := made.ToFlatData(flat); err != nil {
			t.Fatal(err)
		}
		out = append(out, flat)
	}
	return out
}

// before computes what the loop wants to be computed before it.
func before(t testing.TB, l *rows.Loop, flats map[*ir.Value]any) {
	for _, n := range l.Before {
		x := n.Inputs[0]
		f := &ir.Func{}
		p := f.Add(ir.NewNode(compute.OpTypeParameter, ir.Param{Name: "x"}, nil, x.Shape))
		f.Params = []*ir.Value{p}
		f.Results = []*ir.Value{f.Add(ir.NewNode(n.Op, n.Attr, []*ir.Value{p}, n.Outputs[0].Shape))}
		flats[n.Outputs[0]] = execute(t, &ir.Module{Name: "before", Main: f}, []*ir.Value{x}, flats)[0]
	}
}

// onMachine runs the kernel, and after it what is left of sums.
func onMachine(l *rows.Loop, k ptx.Kernel, flats map[*ir.Value]any) ([]any, error) {
	var memory [][]byte
	for _, v := range l.Inputs {
		memory = append(memory, ir.BytesOf(flats[v]))
	}
	out := make([]any, len(l.Results))
	for i, r := range l.Results {
		switch r.Kind {
		case rows.Counter:
			out[i] = []int32{int32(l.Trips)}
			continue
		case rows.Sum:
			out[i] = dtypes.MakeAnySlice(r.Value.DType(), l.Rows)
		default:
			out[i] = dtypes.MakeAnySlice(r.Value.DType(), r.Value.Size())
			if r.Kind == rows.Kept {
				reflect.Copy(reflect.ValueOf(out[i]), reflect.ValueOf(flats[r.Start]))
			}
		}
		memory = append(memory, ir.BytesOf(out[i]))
	}
	if err := Launch(k, 1<<18, memory); err != nil {
		return nil, err
	}
	for i, r := range l.Results {
		if r.Kind == rows.Sum {
			out[i] = added(flats[r.Start], out[i])
		}
	}
	return out, nil
}

// added returns the first element of a flat slice and all of another, added up.
func added(start, more any) any {
	s, m := reflect.ValueOf(start), reflect.ValueOf(more)
	out := reflect.MakeSlice(s.Type(), 1, 1)
	out.Index(0).Set(s.Index(0))
	for i := range m.Len() {
		x := out.Index(0)
		if x.CanFloat() {
			x.SetFloat(x.Float() + m.Index(i).Float())
		} else {
			x.SetInt(x.Int() + m.Index(i).Int())
		}
	}
	return out.Interface()
}

// differ says where two flat slices are not the same to a tolerance.
func differ(want, got any, tolerance float64) error {
	a, b := reflect.ValueOf(want), reflect.ValueOf(got)
	if a.Len() != b.Len() {
		return fmt.Errorf("%d elements, want %d", b.Len(), a.Len())
	}
	for i := range a.Len() {
		x, y := a.Index(i), b.Index(i)
		if x.CanFloat() {
			d := math.Abs(x.Float() - y.Float())
			if d <= tolerance*max(1, math.Abs(x.Float())) || x.Float() != x.Float() && y.Float() != y.Float() || x.Float() == y.Float() {
				continue
			}
		} else if x.Equal(y) {
			continue
		}
		return fmt.Errorf("element %d is %v, want %v", i, y, x)
	}
	return nil
}
