package stablehlo

import (
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
)

// same is an operation whose operands and result have one type.
func same(op string) printer {
	return func(w *writer, n *ir.Node) {
		w.set(n, "stablehlo.%s %s : %s", op, w.list(n.Inputs), typeOf(n.Outputs[0]))
	}
}

func erf(w *writer, n *ir.Node) {
	w.set(n, "chlo.erf %s : %s -> %s", w.name(n.Inputs[0]), typeOf(n.Inputs[0]), typeOf(n.Outputs[0]))
}

// absolute of what has no sign is itself.
func absolute(w *writer, n *ir.Node) {
	if n.Inputs[0].DType().IsUnsigned() {
		identity(w, n)
		return
	}
	same("abs")(w, n)
}

// sign of what has none is whether it is zero.
func sign(w *writer, n *ir.Node) {
	v := n.Inputs[0]
	if !v.DType().IsUnsigned() {
		same("sign")(w, n)
		return
	}
	one := w.let("stablehlo.constant dense<1> : %s", typeOf(v))
	w.set(n, "stablehlo.minimum %s, %s : %s", w.name(v), one, typeOf(v))
}

func finite(w *writer, n *ir.Node) {
	w.set(n, "stablehlo.is_finite %s : %s", w.name(n.Inputs[0]), signature(n))
}

func isNaN(w *writer, n *ir.Node) {
	x := w.name(n.Inputs[0])
	w.set(n, "stablehlo.compare NE, %s, %s, FLOAT : (%s, %s) -> %s", x, x, typeOf(n.Inputs[0]), typeOf(n.Inputs[0]),
		typeOf(n.Outputs[0]))
}

// compare takes floats by their order as numbers, or by the total order in which -NaN is first and NaN last.
func compare(how string, total bool) printer {
	return func(w *writer, n *ir.Node) {
		w.set(n, "stablehlo.compare %s, %s, %s : %s", how, w.list(n.Inputs), order(n.Inputs[0].DType(), total), signature(n))
	}
}

func order(d dtypes.DType, total bool) string {
	switch {
	case d.IsFloat() && total:
		return "TOTALORDER"
	case d.IsFloat():
		return "FLOAT"
	case d.IsUnsigned() || d == dtypes.Bool:
		return "UNSIGNED"
	}
	return "SIGNED"
}

func where(w *writer, n *ir.Node) {
	w.set(n, "stablehlo.select %s : %s, %s", w.list(n.Inputs), typeOf(n.Inputs[0]), typeOf(n.Outputs[0]))
}

func convert(w *writer, n *ir.Node) {
	w.set(n, "stablehlo.convert %s : %s", w.name(n.Inputs[0]), signature(n))
}
