package loops

import (
	"maps"
	"math/bits"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
)

func signedInts() {
	set(dtypes.Int8, signedInt[int8, uint8]())
	set(dtypes.Int16, signedInt[int16, uint16]())
	set(dtypes.Int32, signedInt[int32, uint32]())
	set(dtypes.Int64, signedInt[int64, uint64]())
}

func unsignedInts() {
	set(dtypes.Uint8, unsignedInt[uint8, int8]())
	set(dtypes.Uint16, unsignedInt[uint16, int16]())
	set(dtypes.Uint32, unsignedInt[uint32, int32]())
	set(dtypes.Uint64, unsignedInt[uint64, int64]())
}

type integer interface{ signed | unsigned }

// integers are the operations of integers, S and U being the signed and the unsigned type of T's width.
func integers[T integer, S signed, U unsigned]() map[compute.OpType]Fn {
	fns := numbers[T]()
	maps.Copy(fns, map[compute.OpType]Fn{
		compute.OpTypeDiv:                      binary(quotient[T]),
		compute.OpTypeRem:                      binary(remainder[T]),
		compute.OpTypePow:                      binary(power[T]),
		compute.OpTypeBitwiseAnd:               binary(func(a, b T) T { return a & b }),
		compute.OpTypeBitwiseOr:                binary(func(a, b T) T { return a | b }),
		compute.OpTypeBitwiseXor:               binary(func(a, b T) T { return a ^ b }),
		compute.OpTypeBitwiseNot:               unary(func(a T) T { return ^a }),
		compute.OpTypeBitCount:                 unary(func(a T) T { return T(bits.OnesCount64(uint64(U(a)))) }),
		compute.OpTypeClz:                      unary(func(a T) T { return T(bits.LeadingZeros64(uint64(U(a))) - 64 + width[T]()) }),
		compute.OpTypeShiftLeft:                binary(func(a, b T) T { return a << U(b) }),
		compute.OpTypeShiftRightLogical:        binary(func(a, b T) T { return T(U(a) >> U(b)) }),
		compute.OpTypeShiftRightArithmetic:     binary(func(a, b T) T { return T(S(a) >> U(b)) }),
		compute.OpTypeEqualTotalOrder:          fns[compute.OpTypeEqual],
		compute.OpTypeNotEqualTotalOrder:       fns[compute.OpTypeNotEqual],
		compute.OpTypeLessThanTotalOrder:       fns[compute.OpTypeLessThan],
		compute.OpTypeLessOrEqualTotalOrder:    fns[compute.OpTypeLessOrEqual],
		compute.OpTypeGreaterThanTotalOrder:    fns[compute.OpTypeGreaterThan],
		compute.OpTypeGreaterOrEqualTotalOrder: fns[compute.OpTypeGreaterOrEqual],
	})
	return fns
}

func signedInt[T signed, U unsigned]() map[compute.OpType]Fn {
	fns := integers[T, T, U]()
	fns[compute.OpTypeAbs] = unary(func(a T) T {
		if a < 0 {
			return -a
		}
		return a
	})
	fns[compute.OpTypeSign] = unary(func(a T) T {
		switch {
		case a < 0:
			return -1
		case a > 0:
			return 1
		}
		return 0
	})
	return fns
}

func unsignedInt[T unsigned, S signed]() map[compute.OpType]Fn {
	fns := integers[T, S, T]()
	fns[compute.OpTypeAbs] = unary(func(a T) T { return a })
	fns[compute.OpTypeSign] = unary(func(a T) T { return min(a, 1) })
	return fns
}

func width[T any]() int {
	var t T
	return 8 * int(unsafe.Sizeof(t))
}

// quotient gives all ones for a division by zero, as XLA does, where Go would panic.
func quotient[T integer](a, b T) T {
	if b == 0 {
		return ^T(0)
	}
	return a / b
}

func remainder[T integer](a, b T) T {
	if b == 0 {
		return a
	}
	return a % b
}

// power wraps around; a negative exponent gives the truncated fraction.
func power[T integer](base, exp T) T {
	if exp < 0 {
		switch {
		case base == 1:
			return 1
		case base == ^T(0):
			return 1 - 2*(exp&1)
		}
		return 0
	}
	result := T(1)
	for ; exp > 0; exp >>= 1 {
		if exp&1 == 1 {
			result *= base
		}
		base *= base
	}
	return result
}
