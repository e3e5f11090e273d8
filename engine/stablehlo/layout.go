package stablehlo

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
)

// identity needs no text: the output is another name for the operand.
func identity(w *writer, n *ir.Node) { w.names[n.Outputs[0]] = w.name(n.Inputs[0]) }

// bitcast of a bool converts it: it is one bit here, but a byte in memory.
func bitcast(w *writer, n *ir.Node) {
	from, to := n.Inputs[0].DType(), n.Outputs[0].DType()
	switch {
	case from == to:
		identity(w, n)
	case from == dtypes.Bool || to == dtypes.Bool:
		w.set(n, "stablehlo.convert %s : %s", w.name(n.Inputs[0]), signature(n))
	default:
		w.set(n, "stablehlo.bitcast_convert %s : %s", w.name(n.Inputs[0]), signature(n))
	}
}

func slice(w *writer, n *ir.Node) {
	a := n.Attr.(ir.Slice)
	parts := make([]string, len(a.Starts))
	for i := range parts {
		parts[i] = fmt.Sprintf("%d:%d:%d", a.Starts[i], a.Limits[i], a.Strides[i])
	}
	w.set(n, "stablehlo.slice %s [%s] : %s", w.name(n.Inputs[0]), strings.Join(parts, ", "), signature(n))
}

func pad(w *writer, n *ir.Node) {
	var low, high, inside []int
	for _, a := range n.Attr.(ir.Pad).Axes {
		low, high, inside = append(low, a.Start), append(high, a.End), append(inside, a.Interior)
	}
	w.set(n, "stablehlo.pad %s, low = [%s], high = [%s], interior = [%s] : %s", w.list(n.Inputs), ints(low), ints(high),
		ints(inside), signature(n))
}

// starts returns the start indices of a dynamic slice, from operand on, in one type, which
// StableHLO wants them to have.
func (w *writer) starts(vs []*ir.Value) (list, types string) {
	d := dtypes.Int32
	if len(vs) > 0 {
		d = vs[0].DType()
	}
	for _, v := range vs {
		if v.DType() != d {
			d = dtypes.Int64
		}
	}
	for _, v := range vs {
		name := w.name(v)
		if v.DType() != d {
			name = w.let("stablehlo.convert %s : (%s) -> %s", name, typeOf(v), tensor(d))
		}
		list += ", " + name
		types += ", " + tensor(d)
	}
	return list, types
}

func dynamicSlice(w *writer, n *ir.Node) {
	list, types := w.starts(n.Inputs[1:])
	w.set(n, "stablehlo.dynamic_slice %s%s, sizes = [%s] : (%s%s) -> %s", w.name(n.Inputs[0]), list,
		ints(n.Outputs[0].Shape.Dimensions), typeOf(n.Inputs[0]), types, typeOf(n.Outputs[0]))
}

func dynamicUpdateSlice(w *writer, n *ir.Node) {
	list, types := w.starts(n.Inputs[2:])
	w.set(n, "stablehlo.dynamic_update_slice %s%s : (%s%s) -> %s", w.list(n.Inputs[:2]), list, typesOf(n.Inputs[:2]),
		types, typeOf(n.Outputs[0]))
}
