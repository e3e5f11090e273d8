package loops

import (
	"maps"
	"math"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
)

type float interface{ float32 | float64 }

func floats() {
	set(dtypes.Float32, floating[float32]())
	set(dtypes.Float64, floating[float64]())
	set(dtypes.Float32, ordered(func(x float32) int64 { return int64(order32(x)) }))
	set(dtypes.Float64, ordered(order64))
}

func floating[T float]() map[compute.OpType]Fn {
	fns := numbers[T]()
	maps.Copy(fns, map[compute.OpType]Fn{
		compute.OpTypeDiv:      div[T],
		compute.OpTypeAbs:      viaFloat64[T](math.Abs),
		compute.OpTypeCeil:     viaFloat64[T](math.Ceil),
		compute.OpTypeFloor:    viaFloat64[T](math.Floor),
		compute.OpTypeRound:    viaFloat64[T](math.RoundToEven),
		compute.OpTypeSqrt:     viaFloat64[T](math.Sqrt),
		compute.OpTypeRsqrt:    viaFloat64[T](func(x float64) float64 { return 1 / math.Sqrt(x) }),
		compute.OpTypeExp:      viaFloat64[T](math.Exp),
		compute.OpTypeExpm1:    viaFloat64[T](math.Expm1),
		compute.OpTypeLog:      viaFloat64[T](math.Log),
		compute.OpTypeLog1p:    viaFloat64[T](math.Log1p),
		compute.OpTypeSin:      viaFloat64[T](math.Sin),
		compute.OpTypeCos:      viaFloat64[T](math.Cos),
		compute.OpTypeTanh:     viaFloat64[T](math.Tanh),
		compute.OpTypeErf:      viaFloat64[T](math.Erf),
		compute.OpTypeLogistic: viaFloat64[T](func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }),
		compute.OpTypeSign:     unary(sign[T]),
		compute.OpTypePow:      viaFloat64s[T](math.Pow),
		compute.OpTypeAtan2:    viaFloat64s[T](math.Atan2),
		compute.OpTypeRem:      viaFloat64s[T](math.Mod),
		compute.OpTypeIsNaN:    unary(func(x T) bool { return x != x }),
		compute.OpTypeIsFinite: unary(func(x T) bool { return x-x == 0 }),
	})
	return fns
}

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

// order32 maps floats to integers in the total order: -NaN < -Inf < ... < -0 < +0 < ... < +Inf < +NaN.
func order32(x float32) int32 {
	b := int32(math.Float32bits(x))
	return b ^ (b >> 31 & math.MaxInt32)
}

func order64(x float64) int64 {
	b := int64(math.Float64bits(x))
	return b ^ (b >> 63 & math.MaxInt64)
}

func ordered[T float](rank func(T) int64) map[compute.OpType]Fn {
	return map[compute.OpType]Fn{
		compute.OpTypeEqualTotalOrder:          binary(func(a, b T) bool { return rank(a) == rank(b) }),
		compute.OpTypeNotEqualTotalOrder:       binary(func(a, b T) bool { return rank(a) != rank(b) }),
		compute.OpTypeLessThanTotalOrder:       binary(func(a, b T) bool { return rank(a) < rank(b) }),
		compute.OpTypeLessOrEqualTotalOrder:    binary(func(a, b T) bool { return rank(a) <= rank(b) }),
		compute.OpTypeGreaterThanTotalOrder:    binary(func(a, b T) bool { return rank(a) > rank(b) }),
		compute.OpTypeGreaterOrEqualTotalOrder: binary(func(a, b T) bool { return rank(a) >= rank(b) }),
	}
}

func bools() {
	set(dtypes.Bool, map[compute.OpType]Fn{
		compute.OpTypeLogicalAnd: binary(func(a, b bool) bool { return a && b }),
		compute.OpTypeLogicalOr:  binary(func(a, b bool) bool { return a || b }),
		compute.OpTypeLogicalXor: binary(func(a, b bool) bool { return a != b }),
		compute.OpTypeMax:        binary(func(a, b bool) bool { return a || b }),
		compute.OpTypeMin:        binary(func(a, b bool) bool { return a && b }),
		compute.OpTypeLogicalNot: unary(func(a bool) bool { return !a }),
		compute.OpTypeEqual:      equal[bool],
		compute.OpTypeNotEqual:   notEqual[bool],
		compute.OpTypeWhere:      where[bool],
	})
}
