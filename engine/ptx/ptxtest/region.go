package ptxtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/ptx"
	"github.com/weft-rl/weft/engine/rows"
)

// Bodies returns the functions of a module, closures included.
func Bodies(m *ir.Module) []*ir.Func {
	main := m.Flatten()
	out := []*ir.Func{main}
	main.Closures(func(f *ir.Func) { out = append(out, f) })
	return out
}

// CheckRegion runs a region's sums on the CPU engine and as a kernel, with the same inputs. With
// BF16 the engine rounds the operands of products too, so that a tolerance needs to allow for no
// more than what lies between two roundings of nearly the same numbers.
func CheckRegion(t testing.TB, f *ir.Func, r *rows.Region, fill Fill, p ir.Precision, tolerance float64) ptx.Tiles {
	t.Helper()
	k, err := ptx.OfRegion(r, "region", p, 227<<10)
	if err != nil {
		t.Fatalf("no kernel: %v", err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	flats := map[*ir.Value]any{}
	var memory [][]byte
	for _, v := range r.Inputs {
		if v == nil {
			continue
		}
		if c, ok := v.Node.Attr.(ir.Literal); ok {
			flats[v] = ir.FlatSlice(v.DType(), c.Data)
		} else if flats[v] == nil {
			flats[v] = fill(v, rng)
		}
		memory = append(memory, ir.BytesOf(flats[v]))
	}
	want := sumsOnEngine(t, f, r, flats, p)
	single, double := make([]float32, k.Blocks*k.Single), make([]float64, k.Blocks*max(k.Double, 1))
	memory = append(memory, ir.BytesOf(single), ir.BytesOf(double))
	written := make([][]float32, len(k.Written))
	for i, n := range k.Written {
		written[i] = make([]float32, r.Rows*n)
		memory = append(memory, ir.BytesOf(written[i]))
	}
	if err := Launch(k.Kernel, k.Shared, memory); err != nil {
		t.Fatalf("%v\n%s", err, k.Text)
	}
	for i, s := range r.Sums {
		n := s.Value.Size()
		var got any
		if j := slices.IndexFunc(k.Left, func(l ptx.Left) bool { return l.Sum == i }); j >= 0 {
			got = multiplied(written[k.Left[j].X], written[k.Left[j].Y], r.Rows, p)
		} else if s.Value.DType() == dtypes.Float64 {
			sum := make([]float64, n)
			for b := range k.Blocks {
				for j := range sum {
					sum[j] += double[b*k.Double+k.At[i]+j]
				}
			}
			got = sum
		} else {
			sum := make([]float32, n)
			for b := range k.Blocks {
				for j := range sum {
					sum[j] += single[b*k.Single+k.At[i]+j]
				}
			}
			got = sum
		}
		if err := differ(want[i], got, tolerance); err != nil {
			t.Errorf("sum %d, %s %s: %v", i, s.Value.Node.Op, s.Value.Shape, err)
		}
	}
	return k
}

// multiplied returns the sum over rows of the products of two matrices.
func multiplied(x, y []float32, rows int, p ir.Precision) []float32 {
	take := func(x float32) float64 {
		if p == ir.BF16 {
			x = math.Float32frombits(uint32(bfloat16(uint64(math.Float32bits(x))) << 16))
		}
		return float64(x)
	}
	m, n := len(x)/rows, len(y)/rows
	sums := make([]float64, m*n)
	for r := range rows {
		for i := range m {
			for j := range n {
				sums[i*n+j] += take(x[r*m+i]) * take(y[r*n+j])
			}
		}
	}
	out := make([]float32, len(sums))
	for i, s := range sums {
		out[i] = float32(s)
	}
	return out
}

// sumsOnEngine computes the sums as the function does, its inputs being those of the region.
func sumsOnEngine(t testing.TB, f *ir.Func, r *rows.Region, flats map[*ir.Value]any, p ir.Precision) (out []any) {
	main := &ir.Func{}
	env := map[*ir.Value]*ir.Value{}
	var args []*ir.Value
	for _, v := range r.Inputs {
		if v != nil && env[v] == nil {
			env[v] = main.Add(ir.NewNode(compute.OpTypeParameter, ir.Param{Name: "x"}, nil, v.Shape))
			main.Params, args = append(main.Params, env[v]), append(args, v)
		}
	}
	need := map[*ir.Node]bool{}
	var down func(n *ir.Node)
	down = func(n *ir.Node) {
		if need[n] || env[n.Outputs[0]] != nil {
			return
		}
		need[n] = true
		for _, v := range n.Inputs {
			down(v.Node)
		}
	}
	for _, s := range r.Sums {
		down(s.Value.Node)
	}
	for _, n := range f.Nodes {
		if !need[n] {
			continue
		}
		c := &ir.Node{Op: n.Op, Attr: n.Attr, Funcs: n.Funcs}
		for _, v := range n.Inputs {
			c.Inputs = append(c.Inputs, env[v])
		}
		for i, v := range n.Outputs {
			c.Outputs = append(c.Outputs, &ir.Value{Node: c, Index: i, Shape: v.Shape})
			env[v] = c.Outputs[i]
		}
		main.Add(c)
	}
	for _, s := range r.Sums {
		main.Results = append(main.Results, env[s.Value])
	}
	if p == ir.BF16 {
		roundProducts(main)
	}
	return execute(t, &ir.Module{Name: "region", Main: main}, args, flats)
}

// roundProducts has all products of a function, and of copies of those in it, round what they
// multiply.
func roundProducts(f *ir.Func) {
	nodes := f.Nodes
	f.Nodes = nil
	for _, n := range nodes {
		if n.Op == compute.OpTypeDotGeneral {
			for i, v := range n.Inputs {
				n.Inputs[i] = rounded(f, v)
			}
		}
		inner := n.Funcs
		n.Funcs = nil
		for _, g := range inner {
			g = g.Clone()
			roundProducts(g)
			n.Funcs = append(n.Funcs, g)
		}
		f.Add(n)
	}
}

// rounded returns a value that has been a bfloat16.
func rounded(f *ir.Func, v *ir.Value) *ir.Value {
	half := f.Add(ir.NewNode(compute.OpTypeConvertDType, nil, []*ir.Value{v}, shapes.Make(dtypes.BFloat16, v.Shape.Dimensions...)))
	return f.Add(ir.NewNode(compute.OpTypeConvertDType, nil, []*ir.Value{half}, v.Shape))
}
