package loops

import (
	"maps"
	"unsafe"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/dtypes/float16"

	"github.com/weft-rl/weft/engine/internal/kernel"
)

// Set has the loops of one elementwise operation, by the type of its last operand's elements.
type Set struct {
	whole  map[dtypes.DType]Fn
	single map[dtypes.DType][3]Fn // the loops in which operand i is one element
}

// Of returns the loop for an element type.
func (s Set) Of(d dtypes.DType) (Fn, bool) {
	fn, ok := s.whole[d]
	return fn, ok
}

// Single returns the loop in which operand which (0 is the first) points to one element that serves
// for all.
func (s Set) Single(d dtypes.DType, which int) (Fn, bool) {
	fn := s.single[d][which]
	return fn, fn != nil
}

// Join returns the loops of all sets; where several have one for a type, the last.
func Join(sets ...Set) Set {
	all := Set{map[dtypes.DType]Fn{}, map[dtypes.DType][3]Fn{}}
	for _, s := range sets {
		maps.Copy(all.whole, s.whole)
		maps.Copy(all.single, s.single)
	}
	return all
}

// Halves adds the loops of 16-bit floats, made of float32's: widen, compute, round once. toBool
// says that the operation gives bools.
func (s Set) Halves(toBool bool) Set {
	fn, ok := s.whole[dtypes.Float32]
	if !ok {
		return s
	}
	return Join(Set{whole: map[dtypes.DType]Fn{
		dtypes.BFloat16: half(fn, toBool, bfloat16.BFloat16.Float32, toBFloat16),
		dtypes.Float16:  half(fn, toBool, float16.Float16.Float32, toFloat16),
	}}, s)
}

func numbers(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64 Fn) Set {
	return Join(integers(i8, i16, i32, i64, u8, u16, u32, u64), floats(f32, f64))
}

func integers(i8, i16, i32, i64, u8, u16, u32, u64 Fn) Set {
	return Set{whole: map[dtypes.DType]Fn{dtypes.Int8: i8, dtypes.Int16: i16, dtypes.Int32: i32, dtypes.Int64: i64,
		dtypes.Uint8: u8, dtypes.Uint16: u16, dtypes.Uint32: u32, dtypes.Uint64: u64}}
}

func floats(f32, f64 Fn) Set {
	return Set{whole: map[dtypes.DType]Fn{dtypes.Float32: f32, dtypes.Float64: f64}}
}

func bools(fn Fn) Set { return Set{whole: map[dtypes.DType]Fn{dtypes.Bool: fn}} }

// Float returns the loops of a function of one float.
func Float(f func(float64) float64) Set {
	return floats(viaFloat64[float32](f), viaFloat64[float64](f))
}

// Floats returns the loops of a function of two floats.
func Floats(f func(a, b float64) float64) Set {
	return floats(viaFloat64s[float32](f), viaFloat64s[float64](f))
}

// Unary32 returns the loop of a vector kernel of one float32.
func Unary32(k kernel.UnaryOp) Set {
	return Set{whole: map[dtypes.DType]Fn{dtypes.Float32: func(dst, a, _, _ unsafe.Pointer, n int) {
		kernel.Unary32(k, of[float32](dst, n), of[float32](a, n))
	}}}
}

// Binary32 returns the loops of a vector kernel of two float32.
func Binary32(k kernel.BinaryOp) Set {
	return vector(dtypes.Float32, func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Binary32(k, of[float32](dst, n), of[float32](a, n), of[float32](b, n))
	}, [3]Fn{func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Binary32SV(k, of[float32](dst, n), at[float32](a), of[float32](b, n))
	}, func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Binary32VS(k, of[float32](dst, n), of[float32](a, n), at[float32](b))
	}})
}

// Compare32 returns the loops of a vector kernel that compares float32.
func Compare32(k kernel.CompareOp) Set {
	return vector(dtypes.Float32, func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Compare32(k, of[bool](dst, n), of[float32](a, n), of[float32](b, n))
	}, [3]Fn{func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Compare32SV(k, of[bool](dst, n), at[float32](a), of[float32](b, n))
	}, func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Compare32VS(k, of[bool](dst, n), of[float32](a, n), at[float32](b))
	}})
}

// Words returns the loops of a vector kernel of 32-bit integers.
func Words(k kernel.BitOp) Set {
	fn := func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Bits32(k, of[uint32](dst, n), of[uint32](a, n), of[uint32](b, n))
	}
	single := [3]Fn{func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Bits32SV(k, of[uint32](dst, n), at[uint32](a), of[uint32](b, n))
	}, func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Bits32VS(k, of[uint32](dst, n), of[uint32](a, n), at[uint32](b))
	}}
	return Join(vector(dtypes.Int32, fn, single), vector(dtypes.Uint32, fn, single))
}

// select32 has the loops of the vector kernel that selects float32.
var select32 = vector(dtypes.Float32, func(dst, a, b, c unsafe.Pointer, n int) {
	kernel.Select32(of[float32](dst, n), of[bool](a, n), of[float32](b, n), of[float32](c, n))
}, [3]Fn{1: func(dst, a, b, c unsafe.Pointer, n int) {
	kernel.Select32SV(of[float32](dst, n), of[bool](a, n), at[float32](b), of[float32](c, n))
}, 2: func(dst, a, b, c unsafe.Pointer, n int) {
	kernel.Select32VS(of[float32](dst, n), of[bool](a, n), of[float32](b, n), at[float32](c))
}})

func vector(d dtypes.DType, fn Fn, single [3]Fn) Set {
	return Set{map[dtypes.DType]Fn{d: fn}, map[dtypes.DType][3]Fn{d: single}}
}

func at[T any](p unsafe.Pointer) T { return *(*T)(p) }
