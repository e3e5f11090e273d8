package assembly

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
)

// Element is one element of an operation: the types of its operands and of its result, and the
// operands' registers.
type Element struct {
	Of, To dtypes.DType
	Kind   Kind // kind of Of
	Args   []string
}

// Form writes an element of an operation and returns the register of its result, "" if it cannot be
// done for the element's type.
type Form func(w *Writer, e Element) string

// Instruction returns the form of an operation that is one instruction: of floats, of integers, and
// of predicates; "" where there is none. One that ends in .b counts bits without a sign.
func Instruction(float, integer, pred string) Form {
	return func(w *Writer, e Element) string {
		k, name := e.Kind, integer
		switch {
		case k.float():
			name = float
		case k.Class == Pred:
			name = pred
		}
		if name == "" {
			return ""
		}
		if len(name) > 2 && name[len(name)-2:] == ".b" {
			return w.Op(k.Class, name+fmt.Sprint(8*k.Size), e.Args...)
		}
		return w.Op(k.Class, name+"."+k.Suffix, e.Args...)
	}
}

// Comparison returns the form of a comparison, by its names for floats and for integers, and of
// predicates by a form of its own, or nil.
func Comparison(float, integer string, pred Form) Form {
	return func(w *Writer, e Element) string {
		name := integer
		switch {
		case e.Kind.float():
			name = float
		case e.Kind.Class == Pred && pred == nil:
			return ""
		case e.Kind.Class == Pred:
			return pred(w, e)
		}
		return w.Op(Pred, "setp."+name+"."+e.Kind.Suffix, e.Args...)
	}
}

// Same compares predicates.
func Same(w *Writer, e Element) string {
	return w.Op(Pred, "not.pred", w.Op(Pred, "xor.pred", e.Args...))
}

// Differ compares predicates.
func Differ(w *Writer, e Element) string { return w.Op(Pred, "xor.pred", e.Args...) }

// Function returns the form of a function of one float32.
func Function(fn func(w *Writer, x string) string) Form {
	return func(w *Writer, e Element) string {
		if e.Kind.Class != F32 {
			return ""
		}
		return fn(w, e.Args[0])
	}
}

// Abs writes the absolute value; what has no sign is its own.
func Abs(w *Writer, e Element) string {
	if e.Of == dtypes.Uint32 || e.Of == dtypes.Uint64 {
		return e.Args[0]
	}
	return Instruction("abs", "abs", "")(w, e)
}

// Divide writes a quotient; those of float32 are exact to two units of the last place, without a
// detour for what is tiny.
func Divide(w *Writer, e Element) string {
	if e.Kind.Class == F32 {
		return w.F("div.full", e.Args...)
	}
	return Instruction("div.rn", "div", "")(w, e)
}

// Extreme returns the form of max or min; of floats, what is not a number wins.
func Extreme(name string) Form {
	return func(w *Writer, e Element) string {
		k := e.Kind
		if !k.float() {
			return Instruction("", name, "")(w, e)
		}
		x := w.Op(k.Class, name+"."+k.Suffix, e.Args...)
		odd := w.Op(Pred, "setp.nan."+k.Suffix, e.Args...)
		return w.Either(k, odd, w.Op(k.Class, "add."+k.Suffix, e.Args...), x)
	}
}

// Clamp writes the second operand, kept between the first and the third.
func Clamp(w *Writer, e Element) string {
	low := e
	low.Args = e.Args[:2]
	x := Extreme("max")(w, low)
	if x == "" {
		return ""
	}
	low.Args = []string{x, e.Args[2]}
	return Extreme("min")(w, low)
}

// Where writes one of two operands.
func Where(w *Writer, e Element) string { return w.Either(e.Kind, e.Args[0], e.Args[1], e.Args[2]) }

// IsNaN writes whether a float is not a number.
func IsNaN(w *Writer, e Element) string {
	return w.Op(Pred, "setp.nan."+e.Kind.Suffix, e.Args[0], e.Args[0])
}

// IsFinite writes whether a float is a number and not infinite.
func IsFinite(w *Writer, e Element) string {
	k := e.Kind
	size := w.Op(k.Class, "abs."+k.Suffix, e.Args[0])
	inf := w.Constant(e.Of, k, map[Class]uint64{F32: 0x7f800000, F64: 0x7ff0000000000000}[k.Class])
	return w.Op(Pred, "setp.lt."+k.Suffix, size, inf)
}

// Shift returns the form of a shift, shl.b, shr.u or shr.s; by as many bits as there are, or more,
// leaves nothing, as the hardware has it.
func Shift(name string) Form {
	return func(w *Writer, e Element) string {
		k, by := e.Kind, e.Args[1]
		if k.float() || k.Class == Pred {
			return ""
		}
		if k.Class == B64 {
			by = w.Op(B32, "cvt.u32.u64", by)
		}
		return w.Op(k.Class, name+fmt.Sprint(8*k.Size), e.Args[0], by)
	}
}

// Convert writes a value in another type.
func Convert(w *Writer, e Element) string {
	from, x := e.Kind, e.Args[0]
	k, ok := KindOf(e.To)
	switch {
	case !ok:
		return ""
	case e.Of == e.To:
		return x
	case from.Class == Pred:
		one := map[Class]string{F32: Float(1), F64: Double(1), B32: "1", B64: "1"}[k.Class]
		zero := map[Class]string{F32: Float(0), F64: Double(0), B32: "0", B64: "0"}[k.Class]
		return w.Op(k.Class, "selp."+k.untyped(), one, zero, x)
	case k.Class == Pred && from.float():
		return w.Op(Pred, "setp.neu."+from.Suffix, x, w.Constant(e.Of, from, 0))
	case k.Class == Pred:
		return w.Op(Pred, "setp.ne."+from.Suffix, x, "0")
	}
	round := ""
	switch {
	case from.float() && !k.float():
		round = "rzi."
	case k.float() && !from.float(), from.Class == F64 && k.Class == F32:
		round = "rn."
	}
	return w.Op(k.Class, "cvt."+round+k.Suffix+"."+from.Suffix, x)
}
