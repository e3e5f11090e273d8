package enginetest

import (
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
)

// Known is an operation whose result was worked out by hand.
type Known struct {
	Name  string
	Args  []any
	Build Build
	Want  any
}

// index returns a constant index.
func index(f compute.Function, i int32) compute.Value {
	v, err := f.Constant([]int32{i})
	if err != nil {
		panic(err) // of a test's own making
	}
	return v
}

// Knowns returns operations that upstream's backend does not have, and corners of others.
func Knowns() []Known {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	return []Known{
		{"dynamic slice", []any{[][]float32{{1, 2, 3}, {4, 5, 6}}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.DynamicSlice(ps[0], []compute.Value{index(f, 1), index(f, 1)}, []int{1, 2})
		}, [][]float32{{5, 6}}},
		{"dynamic slice, clamped", []any{[]float32{1, 2, 3}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.DynamicSlice(ps[0], []compute.Value{index(f, 9)}, []int{2})
		}, []float32{2, 3}},
		{"dynamic update", []any{[]int8{1, 2, 3, 4}, []int8{9, 8}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.DynamicUpdateSlice(ps[0], ps[1], []compute.Value{index(f, -3)})
		}, []int8{9, 8, 3, 4}},
		{"clamp", []any{[]float32{-2, 0.5, 7, nan}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			lo, _ := f.Constant([]float32{-1})
			hi, _ := f.Constant([]float32{1})
			c, err := f.Clamp(lo, ps[0], hi)
			if err != nil {
				return nil, err
			}
			return f.Slice(c, []int{0}, []int{3}, nil)
		}, []float32{-1, 0.5, 1}},
		{"atan2", []any{[]float64{1, -1}, []float64{0, -1}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.Atan2(ps[0], ps[1])
		}, []float64{math.Pi / 2, -3 * math.Pi / 4}},
		{"total order", []any{[]float32{-inf, float32(math.Copysign(0, -1)), 1, nan}, []float32{1, 0, 1, inf}},
			func(f compute.Function, ps []compute.Value) (compute.Value, error) {
				return f.LessThanTotalOrder(ps[0], ps[1])
			},
			[]bool{true, true, false, false}},
		{"order of bools", []any{[]bool{false, false, true, true}, []bool{false, true, false, true}},
			func(f compute.Function, ps []compute.Value) (compute.Value, error) { return f.LessThan(ps[0], ps[1]) },
			[]bool{false, true, false, false}},
		{"select and scatter", []any{[]float32{1, 5, 5, 2, 3}, []float32{10, 20}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.SelectAndScatterMax(ps[0], ps[1], []int{3}, []int{2}, nil)
		}, []float32{0, 10, 20, 0, 0}},
		{"largest of bools", []any{[][]bool{{false, true}, {false, false}}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.ReduceMax(ps[0], 1)
		}, []bool{true, false}},
		{"window of bools", []any{[]bool{false, true, false, false}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.ReduceWindow(ps[0], compute.ReduceOpMax, []int{2}, []int{1}, nil, nil, nil)
		}, []bool{true, true, false}},
		{"divide by zero", []any{[]int32{7, -7}, []int32{0, 0}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.Div(ps[0], ps[1])
		}, []int32{-1, -1}},
		{"remainder by zero", []any{[]uint8{7}, []uint8{0}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.Rem(ps[0], ps[1])
		}, []uint8{7}},
		{"saturate", []any{[]float32{300, -300, nan, inf, 1.9}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.ConvertDType(ps[0], dtypes.Int8)
		}, []int8{127, -128, 0, 127, 1}},
		{"saturate unsigned", []any{[]float64{-1, 1e30, 2.5}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			return f.ConvertDType(ps[0], dtypes.Uint64)
		}, []uint64{0, math.MaxUint64, 2}},
		{"negative padding", []any{[]float32{1, 2, 3, 4}}, func(f compute.Function, ps []compute.Value) (compute.Value, error) {
			zero, _ := f.Constant([]float32{0})
			return f.Pad(ps[0], zero, compute.PadAxis{Start: 1, End: 2, Interior: 1})
		}, []float32{0, 1, 0, 2, 0, 3, 0, 4, 0, 0}},
	}
}
