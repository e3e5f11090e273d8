package loops

import (
	"unsafe"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/dtypes/float16"

	"github.com/weft-rl/weft/engine/internal/kernel"
)

// conversion is a pair of element types.
type conversion struct{ from, to dtypes.DType }

// Convert returns the loop from one element type to another. Floats go to integers by truncation,
// saturating, with NaN to zero: Go leaves those cases to the architecture.
func Convert(from, to dtypes.DType) (Fn, bool) {
	fn, ok := conversions[conversion{from, to}]
	return fn, ok
}

var conversions = newConversions()

// converter collects conversions.
type converter map[conversion]Fn

func newConversions() converter {
	c := converter{}
	fromNumber[int8](c, dtypes.Int8)
	fromNumber[int16](c, dtypes.Int16)
	fromNumber[int32](c, dtypes.Int32)
	fromNumber[int64](c, dtypes.Int64)
	fromNumber[uint8](c, dtypes.Uint8)
	fromNumber[uint16](c, dtypes.Uint16)
	fromNumber[uint32](c, dtypes.Uint32)
	fromNumber[uint64](c, dtypes.Uint64)
	fromFloat(c, dtypes.Float32, func(x float32) float32 { return x })
	fromFloat(c, dtypes.Float64, func(x float64) float64 { return x })
	fromFloat(c, dtypes.BFloat16, bfloat16.BFloat16.Float32)
	fromFloat(c, dtypes.Float16, float16.Float16.Float32)
	fromBool(c)
	for _, d := range []dtypes.DType{dtypes.Bool, dtypes.Int8, dtypes.Int16, dtypes.Int32, dtypes.Int64, dtypes.Uint8,
		dtypes.Uint16, dtypes.Uint32, dtypes.Uint64, dtypes.Float32, dtypes.Float64, dtypes.BFloat16, dtypes.Float16} {
		c.set(d, d, Copy(d.Size()))
	}
	c.vectors()
	return c
}

func (c converter) set(from, to dtypes.DType, fn Fn) { c[conversion{from, to}] = fn }

// vectors puts the vector kernels in the place of the plain loops.
func (c converter) vectors() {
	c.set(dtypes.Int32, dtypes.Float32, func(dst, a, _, _ unsafe.Pointer, n int) {
		kernel.Int32ToFloat32(of[float32](dst, n), of[int32](a, n))
	})
	c.set(dtypes.Float32, dtypes.Int32, func(dst, a, _, _ unsafe.Pointer, n int) {
		kernel.Float32ToInt32(of[int32](dst, n), of[float32](a, n))
	})
	c.set(dtypes.Uint32, dtypes.Float32, func(dst, a, _, _ unsafe.Pointer, n int) {
		kernel.Uint32ToFloat32(of[float32](dst, n), of[uint32](a, n))
	})
	c.set(dtypes.Bool, dtypes.Float32, func(dst, a, _, _ unsafe.Pointer, n int) {
		kernel.BoolToFloat32(of[float32](dst, n), of[bool](a, n))
	})
}

func cast[T, U number](dst, a, _, _ unsafe.Pointer, n int) {
	d, x := of[U](dst, n), of[T](a, n)
	for i := range d {
		d[i] = U(x[i])
	}
}

func fromNumber[T integer](c converter, from dtypes.DType) {
	c.set(from, dtypes.Int8, cast[T, int8])
	c.set(from, dtypes.Int16, cast[T, int16])
	c.set(from, dtypes.Int32, cast[T, int32])
	c.set(from, dtypes.Int64, cast[T, int64])
	c.set(from, dtypes.Uint8, cast[T, uint8])
	c.set(from, dtypes.Uint16, cast[T, uint16])
	c.set(from, dtypes.Uint32, cast[T, uint32])
	c.set(from, dtypes.Uint64, cast[T, uint64])
	c.set(from, dtypes.Float32, cast[T, float32])
	c.set(from, dtypes.Float64, cast[T, float64])
	c.set(from, dtypes.BFloat16, unary(func(x T) bfloat16.BFloat16 { return toBFloat16(float32(x)) }))
	c.set(from, dtypes.Float16, unary(func(x T) float16.Float16 { return toFloat16(float32(x)) }))
	c.set(from, dtypes.Bool, unary(func(x T) bool { return x != 0 }))
}

func fromFloat[T any, F float](c converter, from dtypes.DType, widen func(T) F) {
	c.set(from, dtypes.Int8, saturate[T, F, int8](widen))
	c.set(from, dtypes.Int16, saturate[T, F, int16](widen))
	c.set(from, dtypes.Int32, saturate[T, F, int32](widen))
	c.set(from, dtypes.Int64, saturate[T, F, int64](widen))
	c.set(from, dtypes.Uint8, saturate[T, F, uint8](widen))
	c.set(from, dtypes.Uint16, saturate[T, F, uint16](widen))
	c.set(from, dtypes.Uint32, saturate[T, F, uint32](widen))
	c.set(from, dtypes.Uint64, saturate[T, F, uint64](widen))
	c.set(from, dtypes.Float32, unary(func(x T) float32 { return float32(widen(x)) }))
	c.set(from, dtypes.Float64, unary(func(x T) float64 { return float64(widen(x)) }))
	c.set(from, dtypes.BFloat16, unary(func(x T) bfloat16.BFloat16 { return toBFloat16(float32(widen(x))) }))
	c.set(from, dtypes.Float16, unary(func(x T) float16.Float16 { return toFloat16(float32(widen(x))) }))
	c.set(from, dtypes.Bool, unary(func(x T) bool { return widen(x) != 0 }))
}

// saturate converts a float to an integer type, whose range [low, high) is exact in float64.
func saturate[T any, F float, I integer](widen func(T) F) Fn {
	bits := width[I]()
	low, high := -float64(uint64(1)<<(bits-1)), float64(uint64(1)<<(bits-1))
	if ^I(0) > 0 {
		low, high = 0, 2*high
	}
	least, most := I(0), ^I(0)
	if low < 0 {
		least = I(1) << (bits - 1)
		most = ^least
	}
	return unary(func(x T) I {
		switch v := float64(widen(x)); {
		case v != v:
			return 0
		case v >= high:
			return most
		case v <= low:
			return least
		default:
			return I(v)
		}
	})
}

func fromBool(c converter) {
	c.set(dtypes.Bool, dtypes.Int8, pick[int8](0, 1))
	c.set(dtypes.Bool, dtypes.Int16, pick[int16](0, 1))
	c.set(dtypes.Bool, dtypes.Int32, pick[int32](0, 1))
	c.set(dtypes.Bool, dtypes.Int64, pick[int64](0, 1))
	c.set(dtypes.Bool, dtypes.Uint8, pick[uint8](0, 1))
	c.set(dtypes.Bool, dtypes.Uint16, pick[uint16](0, 1))
	c.set(dtypes.Bool, dtypes.Uint32, pick[uint32](0, 1))
	c.set(dtypes.Bool, dtypes.Uint64, pick[uint64](0, 1))
	c.set(dtypes.Bool, dtypes.Float32, pick[float32](0, 1))
	c.set(dtypes.Bool, dtypes.Float64, pick[float64](0, 1))
	c.set(dtypes.Bool, dtypes.BFloat16, pick(0, toBFloat16(1)))
	c.set(dtypes.Bool, dtypes.Float16, pick(0, toFloat16(1)))
}

func pick[T any](no, yes T) Fn {
	return unary(func(x bool) T {
		if x {
			return yes
		}
		return no
	})
}
