package op_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/internal/assembly"
	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/ptx"
	"github.com/weft-rl/weft/engine/ptx/ptxtest"
	"github.com/weft-rl/weft/engine/rows"
	"github.com/weft-rl/weft/engine/rowwise"
	"github.com/weft-rl/weft/engine/stablehlo"
)

const trips = 3

// module records an operation on parameters of the given dimensions, alone, and as what a loop
// makes of its state in each round. It returns nil if the operation does not take the type.
// Reductions are over the second axis.
func module(t *testing.T, row op.Row, d dtypes.DType, dims []int) *ir.Module {
	t.Helper()
	tap := ptxtest.NewTap(t)
	builder := tap.Builder(row.Op.String())
	f := builder.Main()
	must := func(v compute.Value, err error) compute.Value {
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	of := operands(row, d)
	if row.Class == op.Reduce || row.Class == op.Convert {
		of = []dtypes.DType{d}
	}
	var ps []any
	for i, d := range of {
		ps = append(ps, must(f.Parameter(fmt.Sprint(i), shapes.Make(d, dims...), nil)))
	}
	switch row.Class {
	case op.Reduce:
		ps = append(ps, 1)
	case op.Convert:
		ps = append(ps, dtypes.Float32)
	}
	y, err := record(f, row, ps...)
	if err != nil {
		return nil
	}
	shape, err := f.Shape(y)
	if err != nil {
		t.Fatal(err)
	}
	closure := func(fn func(c compute.Function, i compute.Value) []compute.Value) compute.Function {
		c, err := f.Closure()
		if err != nil {
			t.Fatal(err)
		}
		i := must(c.Parameter("i", shapes.Make(dtypes.Int32), nil))
		must(c.Parameter("state", shape, nil))
		if err := c.Return(fn(c, i), nil); err != nil {
			t.Fatal(err)
		}
		return c
	}
	cond := closure(func(c compute.Function, i compute.Value) []compute.Value {
		return []compute.Value{must(c.LessThan(i, must(c.Constant([]int32{trips}))))}
	})
	body := closure(func(c compute.Function, i compute.Value) []compute.Value {
		return []compute.Value{must(c.Add(i, must(c.Constant([]int32{1})))), must(record(c, row, ps...))}
	})
	start := must(f.Parameter("start", shape, nil))
	outs, err := f.While(cond, body, must(f.Constant([]int32{0})), start)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Return([]compute.Value{y, outs[1]}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := builder.Compile(); err != nil {
		t.Fatal(err)
	}
	return tap.Modules[0]
}

// line is an operation with its operands and types: %2 = stablehlo.add %0, %1 : tensor<2xf32>.
var line = regexp.MustCompile(`^ *%\d+ = (stablehlo|chlo)\.[a-z_0-9]+(\(| )[^$]* : [^$]*tensor<[0-9a-zx]*>$`)

// TestStableHLO: operations are written under their names, with nothing left to be filled in.
func TestStableHLO(t *testing.T) {
	each(t, func(t *testing.T, row op.Row, d dtypes.DType) {
		m := module(t, row, d, []int{2, 3})
		if m == nil {
			return
		}
		text, err := stablehlo.Text(m, stablehlo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		body, _, _ := strings.Cut(text, "stablehlo.while")
		name := "stablehlo." + row.HLO.Name + " "
		if row.Class == op.Reduce {
			name = "applies stablehlo." + op.Of(row.By).HLO.Name + " "
		} else if row.HLO.Text != "" {
			name, _, _ = strings.Cut(row.HLO.Text, "$")
		}
		if same := row.HLO.Unsigned != "" && d.IsUnsigned(); strings.Contains(body, name) == same {
			t.Errorf("%s: %q in the text: %t\n%s", d, name, !same, body)
		}
		for _, l := range strings.Split(body, "\n") {
			if strings.Contains(l, " = ") && !strings.Contains(l, "stablehlo.constant") && !line.MatchString(l) && !strings.HasSuffix(l, " = ") && !strings.Contains(l, "iterArg") {
				t.Errorf("%s: odd line %q", d, l)
			}
		}
	}, op.Unary, op.Binary, op.Ternary, op.Convert, op.Reduce)
}

// modest fills inputs with small numbers, none of which is zero.
func modest(v *ir.Value, r *rand.Rand) any {
	flat := reflect.ValueOf(dtypes.MakeAnySlice(v.DType(), v.Size()))
	for i := range flat.Len() {
		x := float64(1 + r.IntN(9))
		if v.DType().IsFloat() {
			x = (r.Float64() - 0.5) * 8
		}
		if v.DType() == dtypes.Bool {
			flat.Index(i).SetBool(r.IntN(2) == 0)
		} else {
			flat.Index(i).Set(reflect.ValueOf(shapes.CastAsDType(x, v.DType())))
		}
	}
	return flat.Interface()
}

// TestPTX: the kernels of operations compute what the engine does: whole numbers and bools to the
// bit, floats to a few units of the last place. Rows are short, longer than a thread holds, and
// longer than a warp has threads.
func TestPTX(t *testing.T) {
	done := map[compute.OpType]bool{}
	each(t, func(t *testing.T, row op.Row, d dtypes.DType) {
		form := row.PTX
		if row.Class == op.Reduce {
			form = op.Of(row.By).PTX
		}
		k, ok := assembly.KindOf(d)
		for _, width := range []int{3, 20, 40} {
			m := module(t, row, d, []int{6, width})
			if m == nil {
				return
			}
			loop := ptxtest.Whiles(m)[0]
			e := assembly.Element{Of: d, To: d, Kind: k, Args: []string{"%a", "%b", "%c"}[:max(2, len(operands(row, d)))]}
			if row.Class == op.Convert {
				e.To = dtypes.Float32
			}
			if !ok || form == nil || form(new(assembly.Writer), e) == "" {
				if l, err := rows.Of(loop); err == nil {
					if _, err = ptx.Of(l, "x", ir.Exact); err == nil {
						t.Errorf("%s: there is a kernel, though the row has no form", d)
					}
				}
				continue
			}
			done[row.Op] = true
			ptxtest.Check(t, loop, modest, ir.Exact, 2e-5)
		}
	}, op.Unary, op.Binary, op.Ternary, op.Convert, op.Reduce)
	for _, row := range op.Rows() {
		if (row.PTX != nil || row.Class == op.Reduce) && !done[row.Op] {
			t.Errorf("%s has a form in PTX that no type uses", row.Op)
		}
	}
}

// TestRowwise: the rows of elementwise operations and of reductions along another axis do not look
// at each other.
func TestRowwise(t *testing.T) {
	each(t, func(t *testing.T, row op.Row, d dtypes.DType) {
		m := module(t, row, d, []int{5, 3})
		if m == nil {
			return
		}
		of := make([]int, len(m.Main.Params))
		for i := range of {
			of[i] = 1
		}
		if err := rowwise.Check(m.Main, 5, of, []int{1, 1}); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}, op.Unary, op.Binary, op.Ternary, op.Convert, op.Reduce)
}
