package stablehlo

import (
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
)

// fewElements is up to how many elements a constant is written as numbers, for people to read; the
// rest is hexadecimal.
const fewElements = 16

func constant(w *writer, n *ir.Node) {
	v, l := n.Outputs[0], n.Attr.(ir.Literal)
	w.names[v] = w.literal(v.Shape, l.Data, ir.Splat(v, l))
}

// literal writes a constant of the given bytes.
func (w *writer) literal(s shapes.Shape, data []byte, splat bool) string {
	typ := shapeType(s)
	switch size := s.Size(); {
	case size == 0:
		return w.let("stablehlo.constant dense<> : %s", typ)
	case splat:
		return w.let("stablehlo.constant dense<%s> : %s", element(s.DType, data), typ)
	case size <= fewElements:
		return w.let("stablehlo.constant dense<%s> : %s", nest(s.DType, s.Dimensions, data), typ)
	case s.DType == dtypes.Bool: // written as bits it would be packed
		bytes := shapes.Make(dtypes.Uint8, s.Dimensions...)
		return w.let("stablehlo.convert %s : (%s) -> %s", w.literal(bytes, data, false), shapeType(bytes), typ)
	}
	return w.let(`stablehlo.constant dense<"0x%s"> : %s`, strings.ToUpper(hex.EncodeToString(data)), typ)
}

// nest writes the elements with a bracket for each axis.
func nest(d dtypes.DType, dims []int, data []byte) string {
	if len(dims) == 0 {
		return element(d, data)
	}
	parts := make([]string, dims[0])
	step := len(data) / dims[0]
	for i := range parts {
		parts[i] = nest(d, dims[1:], data[i*step:(i+1)*step])
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// element writes the first element of data.
func element(d dtypes.DType, data []byte) string {
	x := reflect.ValueOf(ir.FlatSlice(d, slices.Clone(data[:d.Size()]))).Index(0)
	switch d {
	case dtypes.Float32:
		return float(x.Float(), 32, uint64(math.Float32bits(float32(x.Float()))))
	case dtypes.Float64:
		return float(x.Float(), 64, math.Float64bits(x.Float()))
	case dtypes.Float16, dtypes.BFloat16:
		return fmt.Sprintf("0x%04X", x.Uint())
	}
	return fmt.Sprint(x.Interface())
}

// float writes a number in decimal if that is read back as the same bits, and as bits if not:
// infinities, NaN, and what would be rounded twice, because constants of every type are read as
// float64 first.
func float(x float64, bits int, raw uint64) string {
	text := strconv.FormatFloat(x, 'e', -1, bits)
	back, err := strconv.ParseFloat(text, 64)
	same := err == nil && (bits == 64 && math.Float64bits(back) == raw ||
		bits == 32 && uint64(math.Float32bits(float32(back))) == raw)
	if !same || math.IsInf(x, 0) || x != x {
		return fmt.Sprintf("0x%0*X", bits/4, raw)
	}
	mantissa, exponent, _ := strings.Cut(text, "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if exponent == "+00" {
		return mantissa
	}
	return mantissa + "e" + exponent
}

// scalar writes a constant of any element type from a small whole number.
func (w *writer) scalar(d dtypes.DType, x int) string {
	return w.let("stablehlo.constant dense<%s> : %s", number(d, x), tensor(d))
}

func number(d dtypes.DType, x int) string {
	switch {
	case d == dtypes.Bool:
		return strconv.FormatBool(x != 0)
	case d.IsFloat():
		return strconv.Itoa(x) + ".0"
	}
	return strconv.Itoa(x)
}

// extreme writes the constant that every other value of the type is above (or below).
func (w *writer) extreme(d dtypes.DType, least bool) string {
	bits := d.Bits()
	text := ""
	switch {
	case d == dtypes.Bool:
		text = strconv.FormatBool(!least)
	case d.IsFloat():
		text = infinity(d, least)
	case d.IsUnsigned() && least:
		text = "0"
	case d.IsUnsigned():
		text = strconv.FormatUint(math.MaxUint64>>(64-bits), 10)
	case least:
		text = strconv.FormatInt(math.MinInt64>>(64-bits), 10)
	default:
		text = strconv.FormatInt(math.MaxInt64>>(64-bits), 10)
	}
	return w.let("stablehlo.constant dense<%s> : %s", text, tensor(d))
}

func infinity(d dtypes.DType, negative bool) string {
	raw := map[dtypes.DType]uint64{dtypes.Float16: 0x7c00, dtypes.BFloat16: 0x7f80, dtypes.Float32: 0x7f800000,
		dtypes.Float64: 0x7ff0000000000000}[d]
	if negative {
		raw |= 1 << (d.Bits() - 1)
	}
	return fmt.Sprintf("0x%0*X", d.Bits()/4, raw)
}
