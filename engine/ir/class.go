package ir

import "github.com/gomlx/compute"

var elementwise = map[compute.OpType]bool{}

func init() {
	for _, op := range []compute.OpType{
		compute.OpTypeAbs, compute.OpTypeAdd, compute.OpTypeAtan2, compute.OpTypeBitCount, compute.OpTypeBitwiseAnd,
		compute.OpTypeBitwiseNot, compute.OpTypeBitwiseOr, compute.OpTypeBitwiseXor, compute.OpTypeCeil,
		compute.OpTypeClamp, compute.OpTypeClz, compute.OpTypeConvertDType, compute.OpTypeCos, compute.OpTypeDiv,
		compute.OpTypeEqual, compute.OpTypeEqualTotalOrder, compute.OpTypeErf, compute.OpTypeExp, compute.OpTypeExpm1,
		compute.OpTypeFloor, compute.OpTypeGreaterOrEqual, compute.OpTypeGreaterOrEqualTotalOrder,
		compute.OpTypeGreaterThan, compute.OpTypeGreaterThanTotalOrder, compute.OpTypeIsFinite, compute.OpTypeIsNaN,
		compute.OpTypeLessOrEqual, compute.OpTypeLessOrEqualTotalOrder, compute.OpTypeLessThan,
		compute.OpTypeLessThanTotalOrder, compute.OpTypeLog, compute.OpTypeLog1p, compute.OpTypeLogicalAnd,
		compute.OpTypeLogicalNot, compute.OpTypeLogicalOr, compute.OpTypeLogicalXor, compute.OpTypeLogistic,
		compute.OpTypeMax, compute.OpTypeMin, compute.OpTypeMul, compute.OpTypeNeg, compute.OpTypeNotEqual,
		compute.OpTypeNotEqualTotalOrder, compute.OpTypePow, compute.OpTypeRem, compute.OpTypeRound,
		compute.OpTypeRsqrt, compute.OpTypeShiftLeft, compute.OpTypeShiftRightArithmetic,
		compute.OpTypeShiftRightLogical, compute.OpTypeSign, compute.OpTypeSin, compute.OpTypeSqrt, compute.OpTypeSub,
		compute.OpTypeTanh, compute.OpTypeWhere,
	} {
		elementwise[op] = true
	}
}

// Elementwise reports whether element i of the output depends on element i of the operands alone.
func Elementwise(op compute.OpType) bool { return elementwise[op] }

// View reports whether the output of op has the very bytes of its first operand, in the same order.
func View(op compute.OpType) bool {
	switch op {
	case compute.OpTypeIdentity, compute.OpTypeReshape, compute.OpTypeBitcast, compute.OpTypeSchedulingBarrier,
		compute.OpTypeOptimizationBarrier:
		return true
	}
	return false
}
