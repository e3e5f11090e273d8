package op_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/engine/internal/kernel"
	"github.com/weft-rl/weft/engine/internal/loops"
	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/onnx"
	"github.com/weft-rl/weft/engine/stablehlo"
)

var types = []dtypes.DType{dtypes.Bool, dtypes.Int8, dtypes.Int16, dtypes.Int32, dtypes.Int64, dtypes.Uint8, dtypes.Uint16,
	dtypes.Uint32, dtypes.Uint64, dtypes.Float16, dtypes.BFloat16, dtypes.Float32, dtypes.Float64}

// each calls do with every row of some classes, and every element type.
func each(t *testing.T, do func(t *testing.T, row op.Row, d dtypes.DType), classes ...op.Class) {
	for _, row := range op.Rows() {
		for _, class := range classes {
			if row.Class == class {
				t.Run(row.Op.String(), func(t *testing.T) {
					for _, d := range types {
						do(t, row, d)
					}
				})
			}
		}
	}
}

// TestRows: every operation has one row, whose columns agree with each other and with what runs and
// writes operations.
func TestRows(t *testing.T) {
	b, err := engine.New("")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Finalize()
	seen := map[compute.OpType]bool{}
	for _, row := range op.Rows() {
		if seen[row.Op] || row.Class == op.Missing {
			t.Errorf("%s has two rows, or no class", row.Op)
		}
		seen[row.Op] = true
		elementwise := row.Elementwise()
		for column, wrong := range map[string]bool{
			"Takes":      (row.Takes != 0) != (elementwise || row.Class == op.Reduce),
			"PTX":        row.PTX != nil && !elementwise,
			"HLO":        elementwise && row.HLO == op.HLO{},
			"ONNX":       row.ONNX != "" && !onnx.Supports(row.Op),
			"Involution": row.Involution && row.Class != op.Unary,
			"Commutes":   row.Commutes && row.Class != op.Binary,
			"Neutral":    row.Neutral != nil && (row.Class != op.Binary || row.Neutral.Left && !row.Commutes),
			"Fold":       row.Fold != loops.None && (!row.Commutes || row.HLO.Name == ""),
			"By":         (row.By != 0) != (row.Class == op.Reduce || row.Class == op.Scatter),
			"By's Fold":  row.By != 0 && op.Of(row.By).Fold == loops.None,
			"AfterAdd":   row.AfterAdd != kernel.Identity && row.Class != op.Unary,
		} {
			if wrong {
				t.Errorf("%s: column %s does not go with the others", row.Op, column)
			}
		}
		oneDevice := row.Op != compute.OpTypeAllReduce && row.Op != compute.OpTypeCapturedValue
		if got := b.Capabilities().Operations[row.Op]; got != oneDevice {
			t.Errorf("%s: the engine runs it: %t", row.Op, got)
		}
		if stablehlo.Supports(row.Op) != (row.Class != op.Composite) {
			t.Errorf("%s: StableHLO has it: %t", row.Op, stablehlo.Supports(row.Op))
		}
	}
	for _, missing := range []compute.OpType{compute.OpTypeFFT, compute.OpTypeInvalid} {
		if op.Of(missing).Class != op.Missing || stablehlo.Supports(missing) {
			t.Errorf("%s is not missing", missing)
		}
	}
}

// fill makes operands of any bits, but bools that are bools.
func fill(d dtypes.DType, n int, seed uint64) []byte {
	r, b := rand.New(rand.NewPCG(seed, uint64(d))), ir.AlignedBytes(n*d.Size())
	for i := range b {
		b[i] = byte(r.Uint32())
		if d == dtypes.Bool {
			b[i] &= 1
		}
	}
	return b
}

// record calls the method of an operation.
func record(f compute.Function, row op.Row, args ...any) (compute.Value, error) {
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		in[i] = reflect.ValueOf(a)
	}
	out := reflect.ValueOf(f).MethodByName(row.Op.String()).Call(in)
	if err, _ := out[1].Interface().(error); err != nil {
		return nil, err
	}
	return out[0].Interface().(compute.Value), nil
}

// operands returns how many an elementwise operation has, and their types.
func operands(row op.Row, d dtypes.DType) []dtypes.DType {
	all := []dtypes.DType{d, d, d}[:map[op.Class]int{op.Unary: 1, op.Binary: 2, op.Ternary: 3}[row.Class]]
	if row.Op == compute.OpTypeWhere {
		all[0] = dtypes.Bool
	}
	return all
}

// run runs an elementwise operation on the engine; which operand is one element, -1 for none.
func run(t *testing.T, row op.Row, d dtypes.DType, config string, single int, args [][]byte, n int) ([]byte, error) {
	b, err := engine.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Finalize()
	builder := b.Builder("x")
	f := builder.Main()
	var bufs []compute.Buffer
	var ps []any
	for i, d := range operands(row, d) {
		s := shapes.Make(d, n)
		if i == single {
			s = shapes.Make(d)
		}
		p, err := f.Parameter(fmt.Sprint(i), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		buf, err := b.BufferFromFlatData(0, ir.FlatSlice(d, args[i][:s.Size()*d.Size()]), s)
		if err != nil {
			t.Fatal(err)
		}
		ps, bufs = append(ps, p), append(bufs, buf)
	}
	y, err := record(f, row, ps...)
	if err != nil {
		return nil, err
	}
	if err := f.Return([]compute.Value{y}, nil); err != nil {
		t.Fatal(err)
	}
	exec, err := builder.Compile()
	if err != nil {
		t.Fatalf("%s: recorded, but not compiled: %v", d, err)
	}
	out, err := exec.Execute(bufs, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := out[0].Shape()
	if err != nil {
		t.Fatal(err)
	}
	if (s.DType == dtypes.Bool) != (row.Bool || d == dtypes.Bool) {
		t.Errorf("of %s it gives %s", d, s.DType)
	}
	flat := dtypes.MakeAnySlice(s.DType, s.Size())
	if err := out[0].ToFlatData(flat); err != nil {
		t.Fatal(err)
	}
	return ir.BytesOf(flat), nil
}

// TestLoops: elementwise operations take the types that their rows say and no others, and the
// engine gives the bits of their loops, also where an operand is one element.
func TestLoops(t *testing.T) {
	const n = 301
	each(t, func(t *testing.T, row op.Row, d dtypes.DType) {
		var args [][]byte
		var ptrs [3]unsafe.Pointer
		for i, d := range operands(row, d) {
			args = append(args, fill(d, n, uint64(i)))
			ptrs[i] = unsafe.Pointer(unsafe.SliceData(args[i]))
		}
		got, err := run(t, row, d, "", -1, args, n)
		if (err == nil) != row.Takes.Has(d) {
			t.Fatalf("%s: taken: %t (%v), Takes says %t", d, err == nil, err, row.Takes.Has(d))
		}
		if err != nil {
			return
		}
		loop, ok := row.Loops.Of(d)
		if !ok {
			t.Fatalf("%s has no loop", d)
		}
		want := ir.AlignedBytes(len(got))
		loop(unsafe.Pointer(unsafe.SliceData(want)), ptrs[0], ptrs[1], ptrs[2], n)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the engine does not give the loop's bits", d)
		}
		for i := range args {
			fast, err := run(t, row, d, "", i, args, n)
			if row.Op == compute.OpTypeClamp && i == 1 {
				continue // bounds of a scalar are scalars
			}
			if err != nil {
				t.Fatal(err)
			}
			plain, err := run(t, row, d, "off=all", i, args, n)
			if err != nil || !bytes.Equal(fast, plain) {
				t.Errorf("%s: with one element as operand %d it has other bits than the plain loop (%v)", d, i, err)
			}
		}
	}, op.Unary, op.Binary, op.Ternary)
}

// TestConversions: every type can be converted to every other.
func TestConversions(t *testing.T) {
	for _, from := range types {
		for _, to := range types {
			if _, ok := loops.Convert(from, to); !ok {
				t.Errorf("%s to %s has no loop", from, to)
			}
		}
	}
}

// TestSimplifications: what simplifying relies on holds for every bit of the loops, NaN aside.
func TestSimplifications(t *testing.T) {
	const n = 1000
	each(t, func(t *testing.T, row op.Row, d dtypes.DType) {
		loop, ok := row.Loops.Of(d)
		if !ok || !row.Takes.Has(d) {
			return
		}
		do := func(a, b []byte) []byte {
			size := d.Size()
			if row.Bool {
				size = 1
			}
			out := ir.AlignedBytes(n * size)
			loop(unsafe.Pointer(unsafe.SliceData(out)), unsafe.Pointer(unsafe.SliceData(a)), unsafe.Pointer(unsafe.SliceData(b)), nil, n)
			return out
		}
		x, y := numbers(fill(d, n, 1), d), numbers(fill(d, n, 2), d)
		if row.Commutes && !bytes.Equal(do(x, y), do(y, x)) {
			t.Errorf("%s: operands cannot be exchanged", d)
		}
		if row.Involution && !bytes.Equal(do(do(x, nil), nil), x) {
			t.Errorf("%s: does not undo itself", d)
		}
		if row.Neutral == nil {
			return
		}
		all := reflect.ValueOf(dtypes.MakeAnySlice(d, n))
		for i := range n {
			all.Index(i).Set(reflect.ValueOf(shapes.CastAsDType(row.Neutral.Value, d)))
		}
		neutral := ir.BytesOf(all.Interface())
		if !bytes.Equal(do(x, neutral), x) || row.Neutral.Left && !bytes.Equal(do(neutral, x), x) {
			t.Errorf("%s: %v is not neutral", d, row.Neutral.Value)
		}
	}, op.Unary, op.Binary)
}

// numbers sets what is not a number to zero, and the last float to -0.
func numbers(b []byte, d dtypes.DType) []byte {
	if d.IsFloat() {
		isNaN, _ := op.Of(compute.OpTypeIsNaN).Loops.Of(d)
		odd := make([]bool, len(b)/d.Size())
		isNaN(unsafe.Pointer(&odd[0]), unsafe.Pointer(&b[0]), nil, nil, len(odd))
		for i, odd := range odd {
			if odd {
				clear(b[i*d.Size() : (i+1)*d.Size()])
			}
		}
		clear(b[len(b)-d.Size():])
		b[len(b)-1] = 0x80
	}
	return b
}
