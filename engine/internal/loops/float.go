package loops

import (
	"math"
	"unsafe"
)

type float interface{ float32 | float64 }

// The operations of floats that are not functions of package math.
var (
	Div      = floats(div[float32], div[float64])
	Sign     = floats(unary(sign[float32]), unary(sign[float64]))
	IsNaN    = floats(unary(isNaN[float32]), unary(isNaN[float64]))
	IsFinite = floats(unary(isFinite[float32]), unary(isFinite[float64]))
)

func isNaN[T float](x T) bool    { return x != x }
func isFinite[T float](x T) bool { return x-x == 0 }

func div[T float](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[T](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = x[i] / y[i]
	}
}

func viaFloat64[T float](f func(float64) float64) Fn {
	return unary(func(x T) T { return T(f(float64(x))) })
}

func viaFloat64s[T float](f func(a, b float64) float64) Fn {
	return binary(func(x, y T) T { return T(f(float64(x), float64(y))) })
}

// sign keeps zeros and NaN as they are.
func sign[T float](x T) T {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

// order32 maps floats to integers in the total order: -NaN < -Inf < ... < -0 < +0 < ... < +Inf <
// +NaN.
func order32(x float32) int32 {
	b := int32(math.Float32bits(x))
	return b ^ (b >> 31 & math.MaxInt32)
}

func order64(x float64) int64 {
	b := int64(math.Float64bits(x))
	return b ^ (b >> 63 & math.MaxInt64)
}

// TotalOrder returns the loops that compare floats by their place in the total order.
func TotalOrder(compare func(a, b int64) bool) Set {
	return floats(
		binary(func(a, b float32) bool { return compare(int64(order32(a)), int64(order32(b))) }),
		binary(func(a, b float64) bool { return compare(order64(a), order64(b)) }))
}

// The operations of bools.
var (
	BoolAnd      = bools(binary(func(a, b bool) bool { return a && b }))
	BoolOr       = bools(binary(func(a, b bool) bool { return a || b }))
	BoolXor      = bools(binary(func(a, b bool) bool { return a != b }))
	BoolNot      = bools(unary(func(a bool) bool { return !a }))
	BoolEqual    = bools(equal[bool])
	BoolNotEqual = bools(notEqual[bool])

	// false is less than true
	BoolLess           = bools(less[uint8])
	BoolLessOrEqual    = bools(lessOrEqual[uint8])
	BoolGreater        = bools(greater[uint8])
	BoolGreaterOrEqual = bools(greaterOrEqual[uint8])
)
