package record

import "github.com/gomlx/compute"

// The methods of compute.Function that differ in nothing but the operation.

// Abs implements compute.Function.
func (f *Function) Abs(x compute.Value) (compute.Value, error) { return f.unary(compute.OpTypeAbs, x) }

// BitCount implements compute.Function.
func (f *Function) BitCount(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeBitCount, x)
}

// BitwiseNot implements compute.Function.
func (f *Function) BitwiseNot(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeBitwiseNot, x)
}

// Ceil implements compute.Function.
func (f *Function) Ceil(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeCeil, x)
}

// Clz implements compute.Function.
func (f *Function) Clz(x compute.Value) (compute.Value, error) { return f.unary(compute.OpTypeClz, x) }

// Cos implements compute.Function.
func (f *Function) Cos(x compute.Value) (compute.Value, error) { return f.unary(compute.OpTypeCos, x) }

// Erf implements compute.Function.
func (f *Function) Erf(x compute.Value) (compute.Value, error) { return f.unary(compute.OpTypeErf, x) }

// Exp implements compute.Function.
func (f *Function) Exp(x compute.Value) (compute.Value, error) { return f.unary(compute.OpTypeExp, x) }

// Expm1 implements compute.Function.
func (f *Function) Expm1(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeExpm1, x)
}

// Floor implements compute.Function.
func (f *Function) Floor(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeFloor, x)
}

// IsFinite implements compute.Function.
func (f *Function) IsFinite(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeIsFinite, x)
}

// IsNaN implements compute.Function.
func (f *Function) IsNaN(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeIsNaN, x)
}

// Log implements compute.Function.
func (f *Function) Log(x compute.Value) (compute.Value, error) { return f.unary(compute.OpTypeLog, x) }

// Log1p implements compute.Function.
func (f *Function) Log1p(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeLog1p, x)
}

// LogicalNot implements compute.Function.
func (f *Function) LogicalNot(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeLogicalNot, x)
}

// Logistic implements compute.Function.
func (f *Function) Logistic(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeLogistic, x)
}

// Neg implements compute.Function.
func (f *Function) Neg(x compute.Value) (compute.Value, error) { return f.unary(compute.OpTypeNeg, x) }

// Round implements compute.Function.
func (f *Function) Round(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeRound, x)
}

// Rsqrt implements compute.Function.
func (f *Function) Rsqrt(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeRsqrt, x)
}

// Sign implements compute.Function.
func (f *Function) Sign(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeSign, x)
}

// Sin implements compute.Function.
func (f *Function) Sin(x compute.Value) (compute.Value, error) { return f.unary(compute.OpTypeSin, x) }

// Sqrt implements compute.Function.
func (f *Function) Sqrt(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeSqrt, x)
}

// Tanh implements compute.Function.
func (f *Function) Tanh(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeTanh, x)
}

// Add implements compute.Function.
func (f *Function) Add(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeAdd, lhs, rhs)
}

// Atan2 implements compute.Function.
func (f *Function) Atan2(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeAtan2, lhs, rhs)
}

// BitwiseAnd implements compute.Function.
func (f *Function) BitwiseAnd(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeBitwiseAnd, lhs, rhs)
}

// BitwiseOr implements compute.Function.
func (f *Function) BitwiseOr(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeBitwiseOr, lhs, rhs)
}

// BitwiseXor implements compute.Function.
func (f *Function) BitwiseXor(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeBitwiseXor, lhs, rhs)
}

// Div implements compute.Function.
func (f *Function) Div(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeDiv, lhs, rhs)
}

// Equal implements compute.Function.
func (f *Function) Equal(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeEqual, lhs, rhs)
}

// EqualTotalOrder implements compute.Function.
func (f *Function) EqualTotalOrder(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeEqualTotalOrder, lhs, rhs)
}

// GreaterOrEqual implements compute.Function.
func (f *Function) GreaterOrEqual(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeGreaterOrEqual, lhs, rhs)
}

// GreaterOrEqualTotalOrder implements compute.Function.
func (f *Function) GreaterOrEqualTotalOrder(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeGreaterOrEqualTotalOrder, lhs, rhs)
}

// GreaterThan implements compute.Function.
func (f *Function) GreaterThan(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeGreaterThan, lhs, rhs)
}

// GreaterThanTotalOrder implements compute.Function.
func (f *Function) GreaterThanTotalOrder(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeGreaterThanTotalOrder, lhs, rhs)
}

// LessOrEqual implements compute.Function.
func (f *Function) LessOrEqual(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLessOrEqual, lhs, rhs)
}

// LessOrEqualTotalOrder implements compute.Function.
func (f *Function) LessOrEqualTotalOrder(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLessOrEqualTotalOrder, lhs, rhs)
}

// LessThan implements compute.Function.
func (f *Function) LessThan(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLessThan, lhs, rhs)
}

// LessThanTotalOrder implements compute.Function.
func (f *Function) LessThanTotalOrder(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLessThanTotalOrder, lhs, rhs)
}

// LogicalAnd implements compute.Function.
func (f *Function) LogicalAnd(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLogicalAnd, lhs, rhs)
}

// LogicalOr implements compute.Function.
func (f *Function) LogicalOr(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLogicalOr, lhs, rhs)
}

// LogicalXor implements compute.Function.
func (f *Function) LogicalXor(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLogicalXor, lhs, rhs)
}

// Max implements compute.Function.
func (f *Function) Max(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeMax, lhs, rhs)
}

// Min implements compute.Function.
func (f *Function) Min(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeMin, lhs, rhs)
}

// Mul implements compute.Function.
func (f *Function) Mul(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeMul, lhs, rhs)
}

// NotEqual implements compute.Function.
func (f *Function) NotEqual(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeNotEqual, lhs, rhs)
}

// NotEqualTotalOrder implements compute.Function.
func (f *Function) NotEqualTotalOrder(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeNotEqualTotalOrder, lhs, rhs)
}

// Pow implements compute.Function.
func (f *Function) Pow(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypePow, lhs, rhs)
}

// Rem implements compute.Function.
func (f *Function) Rem(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeRem, lhs, rhs)
}

// ShiftLeft implements compute.Function.
func (f *Function) ShiftLeft(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeShiftLeft, lhs, rhs)
}

// ShiftRightArithmetic implements compute.Function.
func (f *Function) ShiftRightArithmetic(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeShiftRightArithmetic, lhs, rhs)
}

// ShiftRightLogical implements compute.Function.
func (f *Function) ShiftRightLogical(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeShiftRightLogical, lhs, rhs)
}

// Sub implements compute.Function.
func (f *Function) Sub(lhs, rhs compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeSub, lhs, rhs)
}

// ReduceBitwiseAnd implements compute.Function.
func (f *Function) ReduceBitwiseAnd(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceBitwiseAnd, x, axes)
}

// ReduceBitwiseOr implements compute.Function.
func (f *Function) ReduceBitwiseOr(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceBitwiseOr, x, axes)
}

// ReduceBitwiseXor implements compute.Function.
func (f *Function) ReduceBitwiseXor(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceBitwiseXor, x, axes)
}

// ReduceLogicalAnd implements compute.Function.
func (f *Function) ReduceLogicalAnd(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceLogicalAnd, x, axes)
}

// ReduceLogicalOr implements compute.Function.
func (f *Function) ReduceLogicalOr(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceLogicalOr, x, axes)
}

// ReduceLogicalXor implements compute.Function.
func (f *Function) ReduceLogicalXor(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceLogicalXor, x, axes)
}

// ReduceMax implements compute.Function.
func (f *Function) ReduceMax(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceMax, x, axes)
}

// ReduceMin implements compute.Function.
func (f *Function) ReduceMin(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceMin, x, axes)
}

// ReduceProduct implements compute.Function.
func (f *Function) ReduceProduct(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceProduct, x, axes)
}

// ReduceSum implements compute.Function.
func (f *Function) ReduceSum(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceSum, x, axes)
}

// ScatterMax implements compute.Function.
func (f *Function) ScatterMax(operand, indices, updates compute.Value, indexAxis int, updateWindow, inserted, scatterAxes []int,
	_, unique bool) (compute.Value, error) {
	return f.scatter(compute.OpTypeScatterMax, operand, indices, updates, indexAxis, updateWindow, inserted, scatterAxes, unique)
}

// ScatterMin implements compute.Function.
func (f *Function) ScatterMin(operand, indices, updates compute.Value, indexAxis int, updateWindow, inserted, scatterAxes []int,
	_, unique bool) (compute.Value, error) {
	return f.scatter(compute.OpTypeScatterMin, operand, indices, updates, indexAxis, updateWindow, inserted, scatterAxes, unique)
}

// ScatterSum implements compute.Function.
func (f *Function) ScatterSum(operand, indices, updates compute.Value, indexAxis int, updateWindow, inserted, scatterAxes []int,
	_, unique bool) (compute.Value, error) {
	return f.scatter(compute.OpTypeScatterSum, operand, indices, updates, indexAxis, updateWindow, inserted, scatterAxes, unique)
}

// SelectAndScatterMax implements compute.Function.
func (f *Function) SelectAndScatterMax(operand, source compute.Value, dims, strides []int, paddings [][2]int) (compute.Value, error) {
	return f.selectScatter(compute.OpTypeSelectAndScatterMax, operand, source, dims, strides, paddings)
}

// SelectAndScatterMin implements compute.Function.
func (f *Function) SelectAndScatterMin(operand, source compute.Value, dims, strides []int, paddings [][2]int) (compute.Value, error) {
	return f.selectScatter(compute.OpTypeSelectAndScatterMin, operand, source, dims, strides, paddings)
}
