package op

import (
	"math"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/internal/assembly"
	"github.com/weft-rl/weft/engine/internal/kernel"
	"github.com/weft-rl/weft/engine/internal/loops"
)

// Names that keep rows short.
var (
	join     = loops.Join
	float    = loops.Float
	floats   = loops.Floats
	vector   = loops.Unary32
	vectors  = loops.Binary32
	compares = loops.Compare32
	words    = loops.Words
	one      = assembly.Instruction
	function = assembly.Function
)

var table = completed([]Row{
	// Of one element.
	{Op: compute.OpTypeAbs, Class: Unary, Takes: Numbers, Loops: join(loops.Magnitude, float(math.Abs), vector(kernel.Abs)),
		HLO: HLO{Name: "abs", Unsigned: "$0"}, PTX: assembly.Abs},
	{Op: compute.OpTypeNeg, Class: Unary, Takes: Floats | Signed, Involution: true, Loops: join(loops.Neg, vector(kernel.Neg)),
		HLO: HLO{Name: "negate"}, PTX: one("neg", "neg", "")},
	{Op: compute.OpTypeSign, Class: Unary, Takes: Numbers, Loops: join(loops.Direction, loops.Sign, vector(kernel.Sign)),
		HLO: HLO{Name: "sign", Unsigned: "stablehlo.constant dense<1> : $out\nstablehlo.minimum $0, $^ : $out"},
		PTX: function(assembly.Sign)},
	{Op: compute.OpTypeCeil, Class: Unary, Takes: Floats, Loops: join(float(math.Ceil), vector(kernel.Ceil)),
		HLO: HLO{Name: "ceil"}, PTX: function(assembly.Rounded("rpi"))},
	{Op: compute.OpTypeFloor, Class: Unary, Takes: Floats, Loops: join(float(math.Floor), vector(kernel.Floor)),
		HLO: HLO{Name: "floor"}, PTX: function(assembly.Rounded("rmi"))},
	{Op: compute.OpTypeRound, Class: Unary, Takes: Floats, Loops: join(float(math.RoundToEven), vector(kernel.Round)),
		HLO: HLO{Name: "round_nearest_even"}, PTX: function(assembly.Rounded("rni"))},
	{Op: compute.OpTypeSqrt, Class: Unary, Takes: Floats, Loops: join(float(math.Sqrt), vector(kernel.Sqrt)),
		HLO: HLO{Name: "sqrt"}, PTX: one("sqrt.rn", "", "")},
	{Op: compute.OpTypeRsqrt, Class: Unary, Takes: Floats, Loops: join(float(rsqrt), vector(kernel.Rsqrt)),
		HLO: HLO{Name: "rsqrt"}, PTX: function(assembly.Rsqrt)},
	{Op: compute.OpTypeExp, Class: Unary, Takes: Floats, Dear: true, Loops: join(float(math.Exp), vector(kernel.Exp)),
		HLO: HLO{Name: "exponential"}, PTX: function(assembly.Exp)},
	{Op: compute.OpTypeExpm1, Class: Unary, Takes: Floats, Dear: true, Loops: join(float(math.Expm1), vector(kernel.Expm1)),
		HLO: HLO{Name: "exponential_minus_one"}, PTX: function(assembly.Expm1)},
	{Op: compute.OpTypeLog, Class: Unary, Takes: Floats, Dear: true, Loops: join(float(math.Log), vector(kernel.Log)),
		HLO: HLO{Name: "log"}, PTX: function(assembly.Log)},
	{Op: compute.OpTypeLog1p, Class: Unary, Takes: Floats, Dear: true, Loops: join(float(math.Log1p), vector(kernel.Log1p)),
		HLO: HLO{Name: "log_plus_one"}, PTX: function(assembly.Log1p)},
	{Op: compute.OpTypeSin, Class: Unary, Takes: Floats, Dear: true, Loops: join(float(math.Sin), vector(kernel.Sin)),
		HLO: HLO{Name: "sine"}, PTX: function(assembly.Sine(0))},
	{Op: compute.OpTypeCos, Class: Unary, Takes: Floats, Dear: true, Loops: join(float(math.Cos), vector(kernel.Cos)),
		HLO: HLO{Name: "cosine"}, PTX: function(assembly.Sine(1))},
	{Op: compute.OpTypeTanh, Class: Unary, Takes: Floats, Dear: true, Loops: join(float(math.Tanh), vector(kernel.Tanh)),
		AfterAdd: kernel.Tanh, HLO: HLO{Name: "tanh"}, PTX: function(assembly.Tanh)},
	{Op: compute.OpTypeLogistic, Class: Unary, Takes: Floats, Dear: true, Loops: join(float(logistic), vector(kernel.Logistic)),
		AfterAdd: kernel.Logistic, HLO: HLO{Name: "logistic"}, PTX: function(assembly.Logistic)},
	{Op: compute.OpTypeErf, Class: Unary, Takes: Floats, Dear: true, Loops: join(float(math.Erf), vector(kernel.Erf)),
		HLO: HLO{Text: "chlo.erf $0 : $in -> $out"}},
	{Op: compute.OpTypeIsNaN, Class: Unary, Takes: Floats, Bool: true, Loops: loops.IsNaN,
		HLO: HLO{Text: "stablehlo.compare NE, $0, $0, FLOAT : ($in, $in) -> $out"}, PTX: assembly.IsNaN},
	{Op: compute.OpTypeIsFinite, Class: Unary, Takes: Floats, Bool: true, Loops: loops.IsFinite,
		HLO: HLO{Text: "stablehlo.is_finite $0 : $sig"}, PTX: assembly.IsFinite},
	{Op: compute.OpTypeBitwiseNot, Class: Unary, Takes: Ints, Involution: true, Loops: loops.BitNot,
		HLO: HLO{Name: "not"}, PTX: one("", "not.b", "not")},
	{Op: compute.OpTypeBitCount, Class: Unary, Takes: Ints, Loops: loops.BitCount, HLO: HLO{Name: "popcnt"}},
	{Op: compute.OpTypeClz, Class: Unary, Takes: Ints, Loops: loops.LeadingZeros, HLO: HLO{Name: "count_leading_zeros"}},
	{Op: compute.OpTypeLogicalNot, Class: Unary, Takes: Bools, Involution: true, Loops: loops.BoolNot,
		HLO: HLO{Name: "not"}, PTX: one("", "", "not")},

	// Of two elements. What is added to floats and changes nothing is -0: 0 makes 0 of -0.
	{Op: compute.OpTypeAdd, Class: Binary, Takes: Numbers, Commutes: true, Neutral: &Neutral{math.Copysign(0, -1), true},
		Fold: loops.Sum, Loops: join(loops.Add, vectors(kernel.Add), words(kernel.AddU)),
		HLO: HLO{Name: "add"}, PTX: one("add.rn", "add", "")},
	{Op: compute.OpTypeSub, Class: Binary, Takes: Numbers, Neutral: &Neutral{0, false},
		Loops: join(loops.Sub, vectors(kernel.Sub), words(kernel.SubU)),
		HLO:   HLO{Name: "subtract"}, PTX: one("sub.rn", "sub", "")},
	{Op: compute.OpTypeMul, Class: Binary, Takes: Numbers, Commutes: true, Neutral: &Neutral{1, true},
		Fold: loops.Product, Loops: join(loops.Mul, vectors(kernel.Mul), words(kernel.MulU)),
		HLO: HLO{Name: "multiply"}, PTX: one("mul.rn", "mul.lo", "")},
	{Op: compute.OpTypeDiv, Class: Binary, Takes: Numbers, Neutral: &Neutral{1, false},
		Loops: join(loops.Quotient, loops.Div, vectors(kernel.Div)),
		HLO:   HLO{Name: "divide"}, PTX: assembly.Divide},
	{Op: compute.OpTypeRem, Class: Binary, Takes: Numbers, Dear: true,
		Loops: join(loops.Remainder, floats(math.Mod), vectors(kernel.Rem)),
		HLO:   HLO{Name: "remainder"}, PTX: one("", "rem", "")},
	{Op: compute.OpTypePow, Class: Binary, Takes: Numbers, Dear: true,
		Loops: join(loops.Power, floats(math.Pow), vectors(kernel.Pow)), HLO: HLO{Name: "power"}},
	{Op: compute.OpTypeAtan2, Class: Binary, Takes: Floats, Dear: true,
		Loops: join(floats(math.Atan2), vectors(kernel.Atan2)), HLO: HLO{Name: "atan2"}},
	{Op: compute.OpTypeMax, Class: Binary, Takes: All, Commutes: true, Fold: loops.Max,
		Loops: join(loops.Maximum, vectors(kernel.Max), loops.BoolOr),
		HLO:   HLO{Name: "maximum"}, PTX: assembly.Extreme("max")},
	{Op: compute.OpTypeMin, Class: Binary, Takes: All, Commutes: true, Fold: loops.Min,
		Loops: join(loops.Minimum, vectors(kernel.Min), loops.BoolAnd),
		HLO:   HLO{Name: "minimum"}, PTX: assembly.Extreme("min")},
	{Op: compute.OpTypeBitwiseAnd, Class: Binary, Takes: Ints, Commutes: true, Fold: loops.And,
		Loops: join(loops.BitAnd, words(kernel.BitAnd)), HLO: HLO{Name: "and"}, PTX: one("", "and.b", "and")},
	{Op: compute.OpTypeBitwiseOr, Class: Binary, Takes: Ints, Commutes: true, Fold: loops.Or,
		Loops: join(loops.BitOr, words(kernel.BitOr)), HLO: HLO{Name: "or"}, PTX: one("", "or.b", "or")},
	{Op: compute.OpTypeBitwiseXor, Class: Binary, Takes: Ints, Commutes: true, Fold: loops.Xor,
		Loops: join(loops.BitXor, words(kernel.BitXor)), HLO: HLO{Name: "xor"}, PTX: one("", "xor.b", "xor")},
	{Op: compute.OpTypeShiftLeft, Class: Binary, Takes: Ints, Loops: join(loops.ShiftLeft, words(kernel.Shl)),
		HLO: HLO{Name: "shift_left"}, PTX: assembly.Shift("shl.b")},
	{Op: compute.OpTypeShiftRightLogical, Class: Binary, Takes: Ints, Loops: join(loops.ShiftRightLogical, words(kernel.Shr)),
		HLO: HLO{Name: "shift_right_logical"}, PTX: assembly.Shift("shr.u")},
	{Op: compute.OpTypeShiftRightArithmetic, Class: Binary, Takes: Ints,
		Loops: join(loops.ShiftRightArithmetic, words(kernel.Sra)),
		HLO:   HLO{Name: "shift_right_arithmetic"}, PTX: assembly.Shift("shr.s")},
	{Op: compute.OpTypeLogicalAnd, Class: Binary, Takes: Bools, Commutes: true, Fold: loops.And, Loops: loops.BoolAnd,
		HLO: HLO{Name: "and"}, PTX: one("", "", "and")},
	{Op: compute.OpTypeLogicalOr, Class: Binary, Takes: Bools, Commutes: true, Fold: loops.Or, Loops: loops.BoolOr,
		HLO: HLO{Name: "or"}, PTX: one("", "", "or")},
	{Op: compute.OpTypeLogicalXor, Class: Binary, Takes: Bools, Commutes: true, Fold: loops.Xor, Loops: loops.BoolXor,
		HLO: HLO{Name: "xor"}, PTX: one("", "", "xor")},

	// Comparisons. Integers have one order, floats also one of all their bits.
	{Op: compute.OpTypeEqual, Class: Binary, Takes: All, Bool: true, Commutes: true,
		Loops: join(loops.Equal, compares(kernel.Equal), loops.BoolEqual),
		HLO:   HLO{Text: "stablehlo.compare EQ, $x, $order : $sig"}, PTX: assembly.Comparison("eq", "eq", assembly.Same)},
	{Op: compute.OpTypeNotEqual, Class: Binary, Takes: All, Bool: true, Commutes: true,
		Loops: join(loops.NotEqual, compares(kernel.NotEqual), loops.BoolNotEqual),
		HLO:   HLO{Text: "stablehlo.compare NE, $x, $order : $sig"}, PTX: assembly.Comparison("neu", "ne", assembly.Differ)},
	{Op: compute.OpTypeLessThan, Class: Binary, Takes: All, Bool: true,
		Loops: join(loops.Less, loops.BoolLess, compares(kernel.Less)),
		HLO:   HLO{Text: "stablehlo.compare LT, $x, $order : $sig"}, PTX: assembly.Comparison("lt", "lt", nil)},
	{Op: compute.OpTypeLessOrEqual, Class: Binary, Takes: All, Bool: true,
		Loops: join(loops.LessOrEqual, loops.BoolLessOrEqual, compares(kernel.LessEqual)),
		HLO:   HLO{Text: "stablehlo.compare LE, $x, $order : $sig"}, PTX: assembly.Comparison("le", "le", nil)},
	{Op: compute.OpTypeGreaterThan, Class: Binary, Takes: All, Bool: true,
		Loops: join(loops.Greater, loops.BoolGreater, compares(kernel.Greater)),
		HLO:   HLO{Text: "stablehlo.compare GT, $x, $order : $sig"}, PTX: assembly.Comparison("gt", "gt", nil)},
	{Op: compute.OpTypeGreaterOrEqual, Class: Binary, Takes: All, Bool: true,
		Loops: join(loops.GreaterOrEqual, loops.BoolGreaterOrEqual, compares(kernel.GreaterEqual)),
		HLO:   HLO{Text: "stablehlo.compare GE, $x, $order : $sig"}, PTX: assembly.Comparison("ge", "ge", nil)},
	{Op: compute.OpTypeEqualTotalOrder, Class: Binary, Takes: All, Bool: true, Commutes: true,
		Loops: join(loops.Equal, loops.BoolEqual, loops.TotalOrder(func(a, b int64) bool { return a == b })),
		HLO:   HLO{Text: "stablehlo.compare EQ, $x, $total : $sig"}},
	{Op: compute.OpTypeNotEqualTotalOrder, Class: Binary, Takes: All, Bool: true, Commutes: true,
		Loops: join(loops.NotEqual, loops.BoolNotEqual, loops.TotalOrder(func(a, b int64) bool { return a != b })),
		HLO:   HLO{Text: "stablehlo.compare NE, $x, $total : $sig"}},
	{Op: compute.OpTypeLessThanTotalOrder, Class: Binary, Takes: All, Bool: true,
		Loops: join(loops.Less, loops.BoolLess, loops.TotalOrder(func(a, b int64) bool { return a < b })),
		HLO:   HLO{Text: "stablehlo.compare LT, $x, $total : $sig"}},
	{Op: compute.OpTypeLessOrEqualTotalOrder, Class: Binary, Takes: All, Bool: true,
		Loops: join(loops.LessOrEqual, loops.BoolLessOrEqual, loops.TotalOrder(func(a, b int64) bool { return a <= b })),
		HLO:   HLO{Text: "stablehlo.compare LE, $x, $total : $sig"}},
	{Op: compute.OpTypeGreaterThanTotalOrder, Class: Binary, Takes: All, Bool: true,
		Loops: join(loops.Greater, loops.BoolGreater, loops.TotalOrder(func(a, b int64) bool { return a > b })),
		HLO:   HLO{Text: "stablehlo.compare GT, $x, $total : $sig"}},
	{Op: compute.OpTypeGreaterOrEqualTotalOrder, Class: Binary, Takes: All, Bool: true,
		Loops: join(loops.GreaterOrEqual, loops.BoolGreaterOrEqual, loops.TotalOrder(func(a, b int64) bool { return a >= b })),
		HLO:   HLO{Text: "stablehlo.compare GE, $x, $total : $sig"}},

	// Of three elements, and to another type.
	{Op: compute.OpTypeClamp, Class: Ternary, Takes: Numbers, Loops: loops.Clamp, HLO: HLO{Name: "clamp"}, PTX: assembly.Clamp},
	{Op: compute.OpTypeWhere, Class: Ternary, Takes: All, Loops: loops.Where,
		HLO: HLO{Text: "stablehlo.select $x : $in, $out"}, PTX: assembly.Where},
	{Op: compute.OpTypeConvertDType, Class: Convert, Takes: All, HLO: HLO{Text: "stablehlo.convert $0 : $sig"}, PTX: assembly.Convert},

	// Reductions, and what else joins elements by an operation of two.
	{Op: compute.OpTypeReduceSum, Class: Reduce, Takes: Numbers, By: compute.OpTypeAdd, Wide: Everywhere},
	{Op: compute.OpTypeReduceProduct, Class: Reduce, Takes: Numbers, By: compute.OpTypeMul, Wide: Everywhere},
	{Op: compute.OpTypeReduceMax, Class: Reduce, Takes: All, By: compute.OpTypeMax, Wide: InLoops},
	{Op: compute.OpTypeReduceMin, Class: Reduce, Takes: All, By: compute.OpTypeMin, Wide: InLoops},
	{Op: compute.OpTypeReduceBitwiseAnd, Class: Reduce, Takes: Ints, By: compute.OpTypeBitwiseAnd},
	{Op: compute.OpTypeReduceBitwiseOr, Class: Reduce, Takes: Ints, By: compute.OpTypeBitwiseOr},
	{Op: compute.OpTypeReduceBitwiseXor, Class: Reduce, Takes: Ints, By: compute.OpTypeBitwiseXor},
	{Op: compute.OpTypeReduceLogicalAnd, Class: Reduce, Takes: Bools, By: compute.OpTypeLogicalAnd},
	{Op: compute.OpTypeReduceLogicalOr, Class: Reduce, Takes: Bools, By: compute.OpTypeLogicalOr},
	{Op: compute.OpTypeReduceLogicalXor, Class: Reduce, Takes: Bools, By: compute.OpTypeLogicalXor},
	{Op: compute.OpTypeScatterSum, Class: Scatter, By: compute.OpTypeAdd, Wide: Everywhere},
	{Op: compute.OpTypeScatterMax, Class: Scatter, By: compute.OpTypeMax, Wide: InLoops},
	{Op: compute.OpTypeScatterMin, Class: Scatter, By: compute.OpTypeMin, Wide: InLoops},

	// What has code of its own.
	{Op: compute.OpTypeArgMinMax, Class: Special},
	{Op: compute.OpTypeReduceWindow, Class: Special, Wide: Everywhere},
	{Op: compute.OpTypeSelectAndScatterMax, Class: Special, Wide: Everywhere},
	{Op: compute.OpTypeSelectAndScatterMin, Class: Special, Wide: Everywhere},
	{Op: compute.OpTypeDotGeneral, Class: Special, Wide: InLoops},
	{Op: compute.OpTypeConvGeneral, Class: Special, Wide: InLoops},
	{Op: compute.OpTypeGather, Class: Special},
	{Op: compute.OpTypeSort, Class: Special},
	{Op: compute.OpTypeRNGBitGenerator, Class: Special},
	{Op: compute.OpTypeAllReduce, Class: Special},
	{Op: compute.OpTypeWhile, Class: Control},
	{Op: compute.OpTypeIf, Class: Control},
	{Op: compute.OpTypeCall, Class: Control},

	// What computes nothing.
	{Op: compute.OpTypeParameter, Class: Source},
	{Op: compute.OpTypeCapturedValue, Class: Source},
	{Op: compute.OpTypeConstant, Class: Source},
	{Op: compute.OpTypeIdentity, Class: Same, HLO: HLO{Text: "$0"}},
	{Op: compute.OpTypeOptimizationBarrier, Class: Same},
	{Op: compute.OpTypeSchedulingBarrier, Class: Same},
	{Op: compute.OpTypeReshape, Class: View, HLO: HLO{Text: "stablehlo.reshape $0 : $sig"}},
	{Op: compute.OpTypeBitcast, Class: View},
	{Op: compute.OpTypeTranspose, Class: Move, HLO: HLO{Text: "stablehlo.transpose $0, dims = [$axes] : $sig"}},
	{Op: compute.OpTypeBroadcastInDim, Class: Move, HLO: HLO{Text: "stablehlo.broadcast_in_dim $0, dims = [$axes] : $sig"}},
	{Op: compute.OpTypeReverse, Class: Move, HLO: HLO{Text: "stablehlo.reverse $0, dims = [$axes] : $out"}},
	{Op: compute.OpTypeConcatenate, Class: Move, HLO: HLO{Text: "stablehlo.concatenate $x, dim = $axis : $sig"}},
	{Op: compute.OpTypeIota, Class: Move, Wide: InLoops, HLO: HLO{Text: "stablehlo.iota dim = $axis : $out"}},
	{Op: compute.OpTypeSlice, Class: Move},
	{Op: compute.OpTypePad, Class: Move},
	{Op: compute.OpTypeDynamicSlice, Class: Move},
	{Op: compute.OpTypeDynamicUpdateSlice, Class: Move},

	// What the recorder writes as other operations.
	{Op: compute.OpTypeDot, Class: Composite},
	{Op: compute.OpTypeFusedSoftmax, Class: Composite},
	{Op: compute.OpTypeFusedGelu, Class: Composite},
	{Op: compute.OpTypeFusedLayerNorm, Class: Composite},
	{Op: compute.OpTypeFusedDense, Class: Composite},
	{Op: compute.OpTypeFusedScaledDotProductAttention, Class: Composite},
	{Op: compute.OpTypeFusedAttentionQKVProjection, Class: Composite},
	{Op: compute.OpTypeBatchNormForInference, Class: Composite},
	{Op: compute.OpTypeBatchNormForTraining, Class: Composite},
	{Op: compute.OpTypeBatchNormGradient, Class: Composite},
})

func rsqrt(x float64) float64    { return 1 / math.Sqrt(x) }
func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
