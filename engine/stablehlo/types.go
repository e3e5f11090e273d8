package stablehlo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
)

var elements = map[dtypes.DType]string{
	dtypes.Float32: "f32", dtypes.Float64: "f64", dtypes.Float16: "f16", dtypes.BFloat16: "bf16",
	dtypes.Int8: "i8", dtypes.Int16: "i16", dtypes.Int32: "i32", dtypes.Int64: "i64",
	dtypes.Uint8: "ui8", dtypes.Uint16: "ui16", dtypes.Uint32: "ui32", dtypes.Uint64: "ui64", dtypes.Bool: "i1",
}

// tensor returns the type of a tensor: tensor<4x64xf32>.
func tensor(d dtypes.DType, dims ...int) string {
	var b strings.Builder
	b.WriteString("tensor<")
	for _, n := range dims {
		b.WriteString(strconv.Itoa(n))
		b.WriteByte('x')
	}
	b.WriteString(elements[d])
	b.WriteByte('>')
	return b.String()
}

func shapeType(s shapes.Shape) string { return tensor(s.DType, s.Dimensions...) }

func typeOf(v *ir.Value) string { return shapeType(v.Shape) }

func typesOf(vs []*ir.Value) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = typeOf(v)
	}
	return strings.Join(parts, ", ")
}

// signature returns the type of an operation: (operands) -> result.
func signature(n *ir.Node) string {
	return fmt.Sprintf("(%s) -> %s", typesOf(n.Inputs), results(n.Outputs))
}

func results(vs []*ir.Value) string {
	if len(vs) == 1 {
		return typeOf(vs[0])
	}
	return "(" + typesOf(vs) + ")"
}

// ints returns a list of numbers: 1, 2, 3.
func ints(xs []int) string {
	parts := make([]string, len(xs))
	for i, x := range xs {
		parts[i] = strconv.Itoa(x)
	}
	return strings.Join(parts, ", ")
}

// array returns a list of numbers as an attribute.
func array(xs []int) string {
	if len(xs) == 0 {
		return "array<i64>"
	}
	return "array<i64: " + ints(xs) + ">"
}

// pairs returns a list of paddings: [[0, 1], [2, 3]].
func pairs(ps [][2]int) string {
	parts := make([]string, len(ps))
	for i, p := range ps {
		parts[i] = fmt.Sprintf("[%d, %d]", p[0], p[1])
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// joined returns a list of those parts that are not empty.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}
