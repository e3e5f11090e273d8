package ptx

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
)

// arithmetic are operations that are one instruction, by the class of registers: floats, integers, predicates.
var arithmetic = map[compute.OpType][3]string{
	compute.OpTypeAdd: {"add.rn", "add"}, compute.OpTypeSub: {"sub.rn", "sub"}, compute.OpTypeMul: {"mul.rn", "mul.lo"},
	compute.OpTypeDiv: {"div", "div"}, compute.OpTypeRem: {"", "rem"},
	compute.OpTypeNeg: {"neg", "neg"}, compute.OpTypeAbs: {"abs", "abs"},
	compute.OpTypeMax: {"", "max"}, compute.OpTypeMin: {"", "min"}, compute.OpTypeSqrt: {"sqrt.rn"},
	compute.OpTypeLogicalAnd: {"", "", "and"}, compute.OpTypeLogicalOr: {"", "", "or"}, compute.OpTypeLogicalXor: {"", "", "xor"},
	compute.OpTypeLogicalNot: {"", "", "not"},
	compute.OpTypeBitwiseAnd: {"", "and.b", "and"}, compute.OpTypeBitwiseOr: {"", "or.b", "or"}, compute.OpTypeBitwiseXor: {"", "xor.b", "xor"},
	compute.OpTypeBitwiseNot: {"", "not.b", "not"},
}

// comparisons: how they are written of floats, and of others.
var comparisons = map[compute.OpType][2]string{
	compute.OpTypeEqual: {"eq", "eq"}, compute.OpTypeNotEqual: {"neu", "ne"}, compute.OpTypeLessThan: {"lt", "lt"},
	compute.OpTypeLessOrEqual: {"le", "le"}, compute.OpTypeGreaterThan: {"gt", "gt"}, compute.OpTypeGreaterOrEqual: {"ge", "ge"},
}

// scalar writes an elementwise operation for one register; of is the operands' type, to the result's.
func (w *writer) scalar(op compute.OpType, of, to dtypes.DType, args []string) string {
	k := kindOf(of)
	isFloat := k.class == f32 || k.class == f64
	if how, ok := comparisons[op]; ok && k.class != pred {
		name := how[1]
		if isFloat {
			name = how[0]
		}
		return w.op(pred, "setp."+name+"."+k.suffix, args...)
	}
	which := 1
	if isFloat {
		which = 0
	} else if k.class == pred {
		which = 2
	}
	if op == compute.OpTypeAbs && (of == dtypes.Uint32 || of == dtypes.Uint64) {
		return args[0]
	}
	if name := arithmetic[op][which]; name != "" {
		if op == compute.OpTypeDiv && isFloat { // to two units of the last place, without a detour for what is tiny
			name = map[class]string{f32: "div.full", f64: "div.rn"}[k.class]
		}
		if name[len(name)-1] == 'b' && len(name) > 2 && name[len(name)-2] == '.' { // and.b32
			return w.op(k.class, name+fmt.Sprint(8*k.size), args...)
		}
		return w.op(k.class, name+"."+k.suffix, args...)
	}
	switch op {
	case compute.OpTypeShiftLeft, compute.OpTypeShiftRightLogical, compute.OpTypeShiftRightArithmetic:
		return w.shifted(op, k, args)
	case compute.OpTypeWhere:
		return w.either(k, args[0], args[1], args[2])
	case compute.OpTypeConvertDType:
		return w.converted(of, to, args[0])
	case compute.OpTypeEqual: // of predicates
		return w.op(pred, "not.pred", w.op(pred, "xor.pred", args...))
	case compute.OpTypeNotEqual:
		return w.op(pred, "xor.pred", args...)
	case compute.OpTypeMax, compute.OpTypeMin:
		if isFloat {
			return w.extreme(op, k, args[0], args[1])
		}
	case compute.OpTypeClamp:
		low := w.scalar(compute.OpTypeMax, of, of, args[:2])
		return w.scalar(compute.OpTypeMin, of, of, []string{low, args[2]})
	case compute.OpTypeIsNaN:
		return w.op(pred, "setp.nan."+k.suffix, args[0], args[0])
	case compute.OpTypeIsFinite:
		size := w.op(k.class, "abs."+k.suffix, args[0])
		inf := w.constant(of, map[class]uint64{f32: 0x7f800000, f64: 0x7ff0000000000000}[k.class])
		return w.op(pred, "setp.lt."+k.suffix, size, inf)
	}
	if k.class == f32 {
		if fn := functions[op]; fn != nil {
			return fn(w, args)
		}
	}
	refuse("%s of %s", op, of)
	return ""
}

// extreme is the greater or smaller of two floats; what is no number wins.
func (w *writer) extreme(op compute.OpType, k kind, a, b string) string {
	name := "max."
	if op == compute.OpTypeMin {
		name = "min."
	}
	x := w.op(k.class, name+k.suffix, a, b)
	odd := w.op(pred, "setp.nan."+k.suffix, a, b)
	return w.either(k, odd, w.op(k.class, "add."+k.suffix, a, b), x)
}

// converted is a value in another type.
func (w *writer) converted(of, to dtypes.DType, x string) string {
	from, k := kindOf(of), kindOf(to)
	switch {
	case of == to:
		return x
	case from.class == pred:
		one := map[class]string{f32: float(1), f64: double(1), b32: "1", b64: "1"}[k.class]
		zero := map[class]string{f32: float(0), f64: double(0), b32: "0", b64: "0"}[k.class]
		return w.op(k.class, "selp."+untyped(k), one, zero, x)
	case k.class == pred:
		if from.class == f32 || from.class == f64 {
			return w.op(pred, "setp.neu."+from.suffix, x, w.constant(of, 0))
		}
		return w.op(pred, "setp.ne."+from.suffix, x, "0")
	}
	isFloat := func(k kind) bool { return k.class == f32 || k.class == f64 }
	round := ""
	switch {
	case isFloat(from) && !isFloat(k):
		round = "rzi."
	case isFloat(k) && !isFloat(from), from.class == f64 && k.class == f32:
		round = "rn."
	}
	return w.op(k.class, "cvt."+round+k.suffix+"."+from.suffix, x)
}

// shifted moves the bits of integers; by as many as there are, or more, leaves nothing, as the hardware has it.
func (w *writer) shifted(op compute.OpType, k kind, args []string) string {
	by := args[1]
	if k.class == b64 {
		by = w.op(b32, "cvt.u32.u64", by)
	}
	size := fmt.Sprint(8 * k.size)
	switch op {
	case compute.OpTypeShiftLeft:
		return w.op(k.class, "shl.b"+size, args[0], by)
	case compute.OpTypeShiftRightLogical:
		return w.op(k.class, "shr.u"+size, args[0], by)
	}
	return w.op(k.class, "shr.s"+size, args[0], by)
}
