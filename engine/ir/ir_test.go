package ir

import (
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

var vector = shapes.Make(dtypes.Float32, 3)

func param(f *Func, s shapes.Shape) *Value {
	v := f.Add(NewNode(compute.OpTypeParameter, Param{"x"}, nil, s))
	f.Params = append(f.Params, v)
	return v
}

// TestCheck: the checker finds what is wrong.
func TestCheck(t *testing.T) {
	tests := []struct {
		name, want string
		build      func(f *Func, x *Value)
	}{
		{"fine", "", func(f *Func, x *Value) {
			f.Results = []*Value{f.Add(NewNode(compute.OpTypeNeg, nil, []*Value{x}, vector))}
		}},
		{"use before definition", "operand 0 is not defined before it", func(f *Func, x *Value) {
			a := NewNode(compute.OpTypeNeg, nil, []*Value{x}, vector)
			f.Add(NewNode(compute.OpTypeNeg, nil, []*Value{a.Outputs[0]}, vector))
			f.Results = []*Value{f.Add(a)}
		}},
		{"result of elsewhere", "result 0 is not defined", func(f *Func, x *Value) {
			f.Results = []*Value{NewNode(compute.OpTypeNeg, nil, []*Value{x}, vector).Outputs[0]}
		}},
		{"implicit broadcast", "operand 1 is f32, the output f32[3]", func(f *Func, x *Value) {
			one := f.Add(NewConst(shapes.Make(dtypes.Float32), BytesOf([]float32{1})))
			f.Results = []*Value{f.Add(NewNode(compute.OpTypeAdd, nil, []*Value{x, one}, vector))}
		}},
		{"body of another shape", "body result 0 is f32[2], not f32[3]", func(f *Func, x *Value) {
			cond, body := &Func{}, &Func{}
			param(cond, vector)
			cond.Results = []*Value{cond.Add(NewConst(shapes.Make(dtypes.Bool), []byte{0}))}
			param(body, vector)
			body.Results = []*Value{body.Add(NewConst(shapes.Make(dtypes.Float32, 2), make([]byte, 8)))}
			n := NewNode(compute.OpTypeWhile, nil, []*Value{x}, vector)
			n.Funcs = []*Func{cond, body}
			f.Results = []*Value{f.Add(n)}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &Func{Name: "main"}
			tt.build(f, param(f, vector))
			err := (&Module{Main: f}).Check()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestFlatten: calls become the function's nodes, and nothing is shared with the original.
func TestFlatten(t *testing.T) {
	square := &Func{Name: "square"}
	x := param(square, vector)
	square.Results = []*Value{square.Add(NewNode(compute.OpTypeMul, nil, []*Value{x, x}, vector))}
	main := &Func{Name: "main"}
	y := param(main, vector)
	for range 2 {
		n := NewNode(compute.OpTypeCall, nil, []*Value{y}, vector)
		n.Funcs = []*Func{square}
		y = main.Add(n)
	}
	main.Results = []*Value{y}
	m := &Module{Name: "m", Main: main, Funcs: []*Func{square}}
	before := m.String()
	flat := m.Flatten()
	want := `main(%0 f32[3]) {
  %1 f32[3] = Mul(%0, %0)
  %2 f32[3] = Mul(%1, %1)
  return %2
}
`
	if got := flat.String(); got != want {
		t.Errorf("flattened\n%s\nwant\n%s", got, want)
	}
	flat.Nodes[1].Op = compute.OpTypeAdd
	if m.String() != before {
		t.Error("the copy shares nodes with the original")
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
}

func TestLiteralText(t *testing.T) {
	tests := []struct {
		flat  any
		dtype dtypes.DType
		n     int
		want  string
	}{
		{[]float32{1, 2.5}, dtypes.Float32, 2, "{1 2.5}"},
		{make([]int32, 20), dtypes.Int32, 20, "{0...}"},
		{[]int64{0, 1, 2, 3, 4, 5, 6, 7, 8}, dtypes.Int64, 9, "{#"},
	}
	for _, tt := range tests {
		n := NewConst(shapes.Make(tt.dtype, tt.n), BytesOf(tt.flat))
		if got := attrText(n); !strings.HasPrefix(got, " "+tt.want) {
			t.Errorf("%v printed as %q", tt.flat, got)
		}
	}
}
