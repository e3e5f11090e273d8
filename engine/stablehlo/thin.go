package stablehlo

import (
	"fmt"

	"github.com/weft-rl/weft/engine/ir"
)

// What a thin product is: over an axis of at most short elements, or of at most few columns with at most long elements
// to a sum. Beyond it a kernel of its own is faster.
const short, few, long = 8, 4, 256

// thin reports whether a product of two matrices is.
func thin(n *ir.Node, a ir.Dot) bool {
	x, y := n.Inputs[0].Shape, n.Inputs[1].Shape
	if len(a.LhsBatch) > 0 || x.Rank() != 2 || y.Rank() != 2 || len(a.LhsContract) != 1 || !x.DType.IsFloat() || x.DType.IsHalfPrecision() {
		return false
	}
	k, columns := x.Dimensions[a.LhsContract[0]], y.Dimensions[1-a.RhsContract[0]]
	return k > 0 && (k <= short || k <= long && columns <= few && a.LhsContract[0] == 1)
}

// spread writes a thin product.
func spread(w *writer, n *ir.Node, a ir.Dot) {
	k := n.Inputs[0].Shape.Dimensions[a.LhsContract[0]]
	if k <= short {
		bySums(w, n, a, k)
		return
	}
	byColumns(w, n, a, k)
}

// bySums adds up outer products, one for each element of the short axis.
func bySums(w *writer, n *ir.Node, a ir.Dot, k int) {
	out := typeOf(n.Outputs[0])
	sum := ""
	for i := range k {
		x := w.line1(n.Inputs[0], a.LhsContract[0], i, 0, out)
		y := w.line1(n.Inputs[1], a.RhsContract[0], i, 1, out)
		if x = w.let("stablehlo.multiply %s, %s : %s", x, y, out); sum != "" {
			x = w.let("stablehlo.add %s, %s : %s", sum, x, out)
		}
		sum = x
	}
	w.names[n.Outputs[0]] = sum
}

// line1 is row or column i of a matrix, along axis, spread over a matrix of another type, whose axis to it lies on.
func (w *writer) line1(v *ir.Value, axis, i, to int, out string) string {
	length := v.Shape.Dimensions[1-axis]
	return w.let("stablehlo.broadcast_in_dim %s, dims = [%d] : (%s) -> %s",
		w.vector(v, axis, i), to, tensor(v.DType(), length), out)
}

// vector is row or column i of a matrix, along axis.
func (w *writer) vector(v *ir.Value, axis, i int) string {
	d := v.Shape.Dimensions
	from, to, dims := [2]int{}, [2]int{d[0], d[1]}, [2]int{d[0], d[1]}
	from[axis], to[axis], dims[axis] = i, i+1, 1
	cut := tensor(v.DType(), dims[:]...)
	x := w.let("stablehlo.slice %s [%d:%d, %d:%d] : (%s) -> %s", w.name(v), from[0], to[0], from[1], to[1], typeOf(v), cut)
	return w.let("stablehlo.reshape %s : (%s) -> %s", x, cut, tensor(v.DType(), d[1-axis]))
}

// byColumns sums over the rows of the first operand, once for each column of the second.
func byColumns(w *writer, n *ir.Node, a ir.Dot, k int) {
	x, y, d := n.Inputs[0], n.Inputs[1], n.Inputs[0].DType()
	rows, columns := x.Shape.Dimensions[0], y.Shape.Dimensions[1-a.RhsContract[0]]
	column, list, types := tensor(d, rows, 1), "", ""
	for j := range columns {
		weights := w.let("stablehlo.broadcast_in_dim %s, dims = [1] : (%s) -> %s",
			w.vector(y, 1-a.RhsContract[0], j), tensor(d, k), typeOf(x))
		product := w.let("stablehlo.multiply %s, %s : %s", w.name(x), weights, typeOf(x))
		sum := w.let("stablehlo.reduce(%s init: %s) applies stablehlo.add across dimensions = [1] : (%s, %s) -> %s",
			product, w.scalar(d, 0), typeOf(x), tensor(d), tensor(d, rows))
		if j > 0 {
			list, types = list+", ", types+", "
		}
		list += w.let("stablehlo.reshape %s : (%s) -> %s", sum, tensor(d, rows), column)
		types += column
	}
	w.set(n, "%s", fmt.Sprintf("stablehlo.concatenate %s, dim = 1 : (%s) -> %s", list, types, typeOf(n.Outputs[0])))
}
