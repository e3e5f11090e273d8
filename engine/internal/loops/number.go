package loops

import (
	"unsafe"

	"github.com/gomlx/compute/dtypes"
)

type signed interface {
	~int8 | ~int16 | ~int32 | ~int64
}

type unsigned interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

type number interface {
	signed | unsigned | float32 | float64
}

// The operations that every number type has.
var (
	Add = numbers(add[int8], add[int16], add[int32], add[int64], add[uint8],
		add[uint16], add[uint32], add[uint64], add[float32], add[float64])
	Sub = numbers(sub[int8], sub[int16], sub[int32], sub[int64], sub[uint8],
		sub[uint16], sub[uint32], sub[uint64], sub[float32], sub[float64])
	Mul = numbers(mul[int8], mul[int16], mul[int32], mul[int64], mul[uint8],
		mul[uint16], mul[uint32], mul[uint64], mul[float32], mul[float64])
	Maximum = numbers(maximum[int8], maximum[int16], maximum[int32], maximum[int64], maximum[uint8],
		maximum[uint16], maximum[uint32], maximum[uint64], maximum[float32], maximum[float64])
	Minimum = numbers(minimum[int8], minimum[int16], minimum[int32], minimum[int64], minimum[uint8],
		minimum[uint16], minimum[uint32], minimum[uint64], minimum[float32], minimum[float64])
	Clamp = numbers(clamp[int8], clamp[int16], clamp[int32], clamp[int64], clamp[uint8],
		clamp[uint16], clamp[uint32], clamp[uint64], clamp[float32], clamp[float64])
	Neg = numbers(neg[int8], neg[int16], neg[int32], neg[int64], neg[uint8],
		neg[uint16], neg[uint32], neg[uint64], neg[float32], neg[float64])
	Equal = numbers(equal[int8], equal[int16], equal[int32], equal[int64], equal[uint8],
		equal[uint16], equal[uint32], equal[uint64], equal[float32], equal[float64])
	NotEqual = numbers(notEqual[int8], notEqual[int16], notEqual[int32], notEqual[int64], notEqual[uint8],
		notEqual[uint16], notEqual[uint32], notEqual[uint64], notEqual[float32], notEqual[float64])
	Less = numbers(less[int8], less[int16], less[int32], less[int64], less[uint8],
		less[uint16], less[uint32], less[uint64], less[float32], less[float64])
	LessOrEqual = numbers(lessOrEqual[int8], lessOrEqual[int16], lessOrEqual[int32], lessOrEqual[int64], lessOrEqual[uint8],
		lessOrEqual[uint16], lessOrEqual[uint32], lessOrEqual[uint64], lessOrEqual[float32], lessOrEqual[float64])
	Greater = numbers(greater[int8], greater[int16], greater[int32], greater[int64], greater[uint8],
		greater[uint16], greater[uint32], greater[uint64], greater[float32], greater[float64])
	GreaterOrEqual = numbers(greaterOrEqual[int8], greaterOrEqual[int16], greaterOrEqual[int32], greaterOrEqual[int64], greaterOrEqual[uint8],
		greaterOrEqual[uint16], greaterOrEqual[uint32], greaterOrEqual[uint64], greaterOrEqual[float32], greaterOrEqual[float64])
)

// Where selects between two operands, of bools and 16-bit floats too.
var Where = Join(
	numbers(where[int8], where[int16], where[int32], where[int64], where[uint8],
		where[uint16], where[uint32], where[uint64], where[float32], where[float64]),
	Set{whole: map[dtypes.DType]Fn{dtypes.Bool: where[bool], dtypes.BFloat16: where[uint16], dtypes.Float16: where[uint16]}},
	select32)

func add[T number](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[T](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = x[i] + y[i]
	}
}

func sub[T number](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[T](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = x[i] - y[i]
	}
}

func mul[T number](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[T](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = x[i] * y[i]
	}
}

// maximum gives NaN if either operand is, as Go's max does.
func maximum[T number](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[T](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = max(x[i], y[i])
	}
}

func minimum[T number](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[T](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = min(x[i], y[i])
	}
}

func clamp[T number](dst, a, b, c unsafe.Pointer, n int) {
	d, lo, x, hi := of[T](dst, n), of[T](a, n), of[T](b, n), of[T](c, n)
	for i := range d {
		d[i] = min(max(x[i], lo[i]), hi[i])
	}
}

func neg[T number](dst, a, _, _ unsafe.Pointer, n int) {
	d, x := of[T](dst, n), of[T](a, n)
	for i := range d {
		d[i] = -x[i]
	}
}

func equal[T comparable](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[bool](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = x[i] == y[i]
	}
}

func notEqual[T comparable](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[bool](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = x[i] != y[i]
	}
}

func less[T number](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[bool](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = x[i] < y[i]
	}
}

func lessOrEqual[T number](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[bool](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = x[i] <= y[i]
	}
}

func greater[T number](dst, a, b, c unsafe.Pointer, n int) { less[T](dst, b, a, c, n) }

func greaterOrEqual[T number](dst, a, b, c unsafe.Pointer, n int) { lessOrEqual[T](dst, b, a, c, n) }

func where[T any](dst, a, b, c unsafe.Pointer, n int) {
	d, cond, x, y := of[T](dst, n), of[bool](a, n), of[T](b, n), of[T](c, n)
	for i := range d {
		if cond[i] {
			d[i] = x[i]
		} else {
			d[i] = y[i]
		}
	}
}
