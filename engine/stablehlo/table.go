package stablehlo

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
)

// printer writes one node and names its outputs.
type printer func(w *writer, n *ir.Node)

// printers has every operation that can be written. Parameters and captured values are named by their functions.
var printers map[compute.OpType]printer

func init() { // an initialiser would be a cycle: loops print what is in them
	printers = map[compute.OpType]printer{
		compute.OpTypeParameter: nothing, compute.OpTypeCapturedValue: nothing, compute.OpTypeConstant: constant,

		compute.OpTypeAbs: absolute, compute.OpTypeBitCount: same("popcnt"), compute.OpTypeBitwiseNot: same("not"),
		compute.OpTypeCeil: same("ceil"), compute.OpTypeClz: same("count_leading_zeros"),
		compute.OpTypeCos: same("cosine"), compute.OpTypeErf: erf, compute.OpTypeExp: same("exponential"),
		compute.OpTypeExpm1: same("exponential_minus_one"), compute.OpTypeFloor: same("floor"),
		compute.OpTypeIsFinite: finite, compute.OpTypeIsNaN: isNaN, compute.OpTypeLog: same("log"),
		compute.OpTypeLog1p: same("log_plus_one"), compute.OpTypeLogicalNot: same("not"),
		compute.OpTypeLogistic: same("logistic"), compute.OpTypeNeg: same("negate"),
		compute.OpTypeRound: same("round_nearest_even"), compute.OpTypeRsqrt: same("rsqrt"), compute.OpTypeSign: sign,
		compute.OpTypeSin: same("sine"), compute.OpTypeSqrt: same("sqrt"), compute.OpTypeTanh: same("tanh"),

		compute.OpTypeAdd: same("add"), compute.OpTypeAtan2: same("atan2"), compute.OpTypeBitwiseAnd: same("and"),
		compute.OpTypeBitwiseOr: same("or"), compute.OpTypeBitwiseXor: same("xor"), compute.OpTypeDiv: same("divide"),
		compute.OpTypeLogicalAnd: same("and"), compute.OpTypeLogicalOr: same("or"), compute.OpTypeLogicalXor: same("xor"),
		compute.OpTypeMax: same("maximum"), compute.OpTypeMin: same("minimum"), compute.OpTypeMul: same("multiply"),
		compute.OpTypePow: same("power"), compute.OpTypeRem: same("remainder"),
		compute.OpTypeShiftLeft: same("shift_left"), compute.OpTypeShiftRightArithmetic: same("shift_right_arithmetic"),
		compute.OpTypeShiftRightLogical: same("shift_right_logical"), compute.OpTypeSub: same("subtract"),

		compute.OpTypeEqual: compare("EQ", false), compute.OpTypeNotEqual: compare("NE", false),
		compute.OpTypeLessThan: compare("LT", false), compute.OpTypeLessOrEqual: compare("LE", false),
		compute.OpTypeGreaterThan: compare("GT", false), compute.OpTypeGreaterOrEqual: compare("GE", false),
		compute.OpTypeEqualTotalOrder: compare("EQ", true), compute.OpTypeNotEqualTotalOrder: compare("NE", true),
		compute.OpTypeLessThanTotalOrder: compare("LT", true), compute.OpTypeLessOrEqualTotalOrder: compare("LE", true),
		compute.OpTypeGreaterThanTotalOrder: compare("GT", true), compute.OpTypeGreaterOrEqualTotalOrder: compare("GE", true),

		compute.OpTypeClamp: same("clamp"), compute.OpTypeWhere: where, compute.OpTypeConvertDType: convert,

		compute.OpTypeIdentity: identity, compute.OpTypeReshape: reshape, compute.OpTypeBitcast: bitcast,
		compute.OpTypeTranspose: transpose, compute.OpTypeBroadcastInDim: broadcast, compute.OpTypeReverse: reverse,
		compute.OpTypeSlice: slice, compute.OpTypePad: pad, compute.OpTypeConcatenate: concatenate,
		compute.OpTypeIota: iota, compute.OpTypeDynamicSlice: dynamicSlice,
		compute.OpTypeDynamicUpdateSlice: dynamicUpdateSlice,

		compute.OpTypeReduceBitwiseAnd: reduce("and", ones), compute.OpTypeReduceBitwiseOr: reduce("or", zero),
		compute.OpTypeReduceBitwiseXor: reduce("xor", zero), compute.OpTypeReduceLogicalAnd: reduce("and", ones),
		compute.OpTypeReduceLogicalOr: reduce("or", zero), compute.OpTypeReduceLogicalXor: reduce("xor", zero),
		compute.OpTypeReduceMax: reduce("maximum", least), compute.OpTypeReduceMin: reduce("minimum", most),
		compute.OpTypeReduceProduct: reduce("multiply", one), compute.OpTypeReduceSum: reduce("add", zero),
		compute.OpTypeArgMinMax: argMinMax, compute.OpTypeReduceWindow: reduceWindow,
		compute.OpTypeSelectAndScatterMax: selectAndScatter("GE"), compute.OpTypeSelectAndScatterMin: selectAndScatter("LE"),

		compute.OpTypeDotGeneral: dot, compute.OpTypeConvGeneral: convolution,
		compute.OpTypeGather: gather, compute.OpTypeScatterSum: scatter("add"), compute.OpTypeScatterMax: scatter("maximum"),
		compute.OpTypeScatterMin: scatter("minimum"), compute.OpTypeRNGBitGenerator: randomBits,

		compute.OpTypeWhile: while, compute.OpTypeIf: branch, compute.OpTypeSort: sort, compute.OpTypeCall: call,
		compute.OpTypeAllReduce:           allReduce,
		compute.OpTypeOptimizationBarrier: barrier, compute.OpTypeSchedulingBarrier: barrier,
	}
}

func nothing(*writer, *ir.Node) {}

// accumulates reports whether the node adds or multiplies many numbers in its own type, which 16 bits are too few for.
func accumulates(n *ir.Node) bool {
	switch n.Op {
	case compute.OpTypeReduceSum, compute.OpTypeReduceProduct, compute.OpTypeScatterSum, compute.OpTypeReduceWindow,
		compute.OpTypeSelectAndScatterMax, compute.OpTypeSelectAndScatterMin:
		return true
	}
	return false
}

// widened does a node of 16-bit floats in float32.
func (w *writer) widened(n *ir.Node, p printer) {
	half := n.Outputs[0].DType()
	wide := func(v *ir.Value) *ir.Value {
		if v.DType() != half {
			return v
		}
		return &ir.Value{Node: v.Node, Shape: shapes.Make(dtypes.Float32, v.Shape.Dimensions...)}
	}
	copied := &ir.Node{Op: n.Op, Attr: n.Attr}
	for _, v := range n.Inputs {
		in := wide(v)
		if in != v {
			w.names[in] = w.let("stablehlo.convert %s : (%s) -> %s", w.name(v), typeOf(v), typeOf(in))
		}
		copied.Inputs = append(copied.Inputs, in)
	}
	out := wide(n.Outputs[0])
	copied.Outputs = []*ir.Value{out}
	p(w, copied)
	w.set(n, "stablehlo.convert %s : (%s) -> %s", w.name(out), typeOf(out), typeOf(n.Outputs[0]))
}
