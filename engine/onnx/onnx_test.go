package onnx_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/onnx"
	"github.com/weft-rl/weft/engine/record"
)

// recorded records a function of one matrix [rows, 3].
func recorded(t *testing.T, rows int, build func(f compute.Function, x compute.Value) compute.Value) onnx.Recording {
	t.Helper()
	b := record.New("test", nil)
	f := b.Main()
	x, err := f.Parameter("x", shapes.Make(dtypes.Float32, rows, 3), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Return([]compute.Value{build(f, x)}, nil); err != nil {
		t.Fatal(err)
	}
	return onnx.Recording{Module: b.Module(), Rows: rows}
}

var model = onnx.Model{Name: "test", Inputs: []onnx.Input{{Name: "x"}}, Outputs: []onnx.Output{{Name: "y"}}}

func must(t *testing.T, v compute.Value, err error) compute.Value {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEncode: operators, names and the number of rows are in the model. What its numbers are is
// tested where agents are exported.
func TestEncode(t *testing.T) {
	build := func(f compute.Function, x compute.Value) compute.Value {
		y, err := f.Tanh(x)
		y = must(t, y, err)
		z, err := f.ReduceSum(y, 1)
		return must(t, z, err)
	}
	got, err := onnx.Encode(model, recorded(t, 13, build), recorded(t, 17, build))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Tanh", "ReduceSum", "rows", "Identity"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("there is no %s in the model", want)
		}
	}
}

// TestRefused: what cannot be written is refused by name.
func TestRefused(t *testing.T) {
	same := func(f compute.Function, x compute.Value) compute.Value {
		y, err := f.Atan2(x, x)
		return must(t, y, err)
	}
	if _, err := onnx.Encode(model, recorded(t, 13, same), recorded(t, 17, same)); err == nil || !strings.Contains(err.Error(), "Atan2: op not implemented in ONNX") {
		t.Errorf("error %v", err)
	}
	neg := func(f compute.Function, x compute.Value) compute.Value {
		y, err := f.Neg(x)
		return must(t, y, err)
	}
	if _, err := onnx.Encode(model, recorded(t, 13, same), recorded(t, 17, neg)); err == nil || !strings.Contains(err.Error(), "cannot be written for any number of rows") {
		t.Errorf("error %v", err)
	}
	if _, err := onnx.Encode(onnx.Model{}, recorded(t, 13, neg), recorded(t, 17, neg)); err == nil {
		t.Error("a model without names was written")
	}
}

// absent are the operations that have no form in ONNX: policies have none of them.
var absent = strings.Fields("BitCount Clz Atan2 ShiftLeft ShiftRightLogical ShiftRightArithmetic EqualTotalOrder NotEqualTotalOrder " +
	"LessThanTotalOrder LessOrEqualTotalOrder GreaterThanTotalOrder GreaterOrEqualTotalOrder ReduceBitwiseAnd ReduceBitwiseOr " +
	"ReduceBitwiseXor ReduceLogicalXor ScatterSum ScatterMax ScatterMin ReduceWindow SelectAndScatterMax SelectAndScatterMin " +
	"Gather Sort RNGBitGenerator AllReduce While If Call CapturedValue Bitcast DynamicSlice DynamicUpdateSlice")

// TestTable: all other operations of the engine have one.
func TestTable(t *testing.T) {
	for _, row := range op.Rows() {
		if want := row.Class != op.Composite && !slices.Contains(absent, row.Op.String()); onnx.Supports(row.Op) != want {
			t.Errorf("%s has a form in ONNX: %t", row.Op, !want)
		}
	}
}
