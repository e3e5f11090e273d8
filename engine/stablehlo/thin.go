package stablehlo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
)

// What a thin product is: over an axis of at most short elements, or of at most narrow columns with
// at most long elements to a sum. Beyond it a kernel of its own is faster. A reduction is written
// out up to short elements.
const short, narrow, long = 8, 4, 256

// thin reports whether a product of two matrices is.
func thin(n *ir.Node, a ir.Dot) bool {
	x, y := n.Inputs[0].Shape, n.Inputs[1].Shape
	if len(a.LhsBatch) > 0 || x.Rank() != 2 || y.Rank() != 2 || len(a.LhsContract) != 1 || !x.DType.IsFloat() || x.DType.IsHalfPrecision() {
		return false
	}
	k, columns := x.Dimensions[a.LhsContract[0]], y.Dimensions[1-a.RhsContract[0]]
	return k > 0 && (k <= short || k <= long && columns <= narrow && a.LhsContract[0] == 1)
}

// spread writes a thin product.
func spread(w *writer, n *ir.Node, a ir.Dot) {
	k := n.Inputs[0].Shape.Dimensions[a.LhsContract[0]]
	if k <= short {
		bySums(w, n, a, k)
		return
	}
	byColumns(w, n, a)
}

// bySums adds up outer products, one for each element of the short axis.
func bySums(w *writer, n *ir.Node, a ir.Dot, k int) {
	out := typeOf(n.Outputs[0])
	sum := ""
	for i := range k {
		x := w.stretched(n.Inputs[0], a.LhsContract[0], i, 0, out)
		y := w.stretched(n.Inputs[1], a.RhsContract[0], i, 1, out)
		if x = w.let("stablehlo.multiply %s, %s : %s", x, y, out); sum != "" {
			x = w.let("stablehlo.add %s, %s : %s", sum, x, out)
		}
		sum = x
	}
	w.names[n.Outputs[0]] = sum
}

// stretched returns row or column i of a matrix, along axis, repeated over a matrix of another
// type, whose axis to it lies on.
func (w *writer) stretched(v *ir.Value, axis, i, to int, out string) string {
	length := v.Shape.Dimensions[1-axis]
	return w.let("stablehlo.broadcast_in_dim %s, dims = [%d] : (%s) -> %s",
		w.element(w.name(v), v.DType(), v.Shape.Dimensions, []int{axis}, []int{i}), to, tensor(v.DType(), length), out)
}

// byColumns sums over the rows of the first operand, once for each column of the second.
func byColumns(w *writer, n *ir.Node, a ir.Dot) {
	x, y, d := n.Inputs[0], n.Inputs[1], n.Inputs[0].DType()
	rows, columns := x.Shape.Dimensions[0], y.Shape.Dimensions[1-a.RhsContract[0]]
	column, list, types := tensor(d, rows, 1), "", ""
	for j := range columns {
		weights := w.stretched(y, 1-a.RhsContract[0], j, 1, typeOf(x))
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

// few reports whether a reduction over axes is of few elements each.
func few(v *ir.Value, axes []int) bool {
	n := 1
	for _, a := range axes {
		n *= v.Shape.Dimensions[a]
	}
	return n > 0 && n <= short
}

// without returns dimensions but those of axes.
func without(dims, axes []int) (out []int) {
	for a, d := range dims {
		if !slices.Contains(axes, a) {
			out = append(out, d)
		}
	}
	return out
}

// element returns what lies at the given places of axes.
func (w *writer) element(x string, d dtypes.DType, dims, axes, at []int) string {
	cut, limits := slices.Clone(dims), make([]string, len(dims))
	for a, n := range dims {
		limits[a] = fmt.Sprintf("0:%d", n)
		if i := slices.Index(axes, a); i >= 0 {
			cut[a], limits[a] = 1, fmt.Sprintf("%d:%d", at[i], at[i]+1)
		}
	}
	x = w.let("stablehlo.slice %s [%s] : (%s) -> %s", x, strings.Join(limits, ", "), tensor(d, dims...), tensor(d, cut...))
	return w.let("stablehlo.reshape %s : (%s) -> %s", x, tensor(d, cut...), tensor(d, without(dims, axes)...))
}

// reduceFew writes a reduction of few elements out.
func reduceFew(w *writer, n *ir.Node, op string, axes []int) {
	v, dims := n.Inputs[0], n.Inputs[0].Shape.Dimensions
	out, at := "", make([]int, len(axes))
	for {
		x := w.element(w.name(v), v.DType(), dims, axes, at)
		if out != "" {
			x = w.let("stablehlo.%s %s, %s : %s", op, out, x, typeOf(n.Outputs[0]))
		}
		out = x
		if !advance(at, axes, dims) {
			break
		}
	}
	w.names[n.Outputs[0]] = out
}

// advance goes to the next place along axes, the last one fastest; false is the end.
func advance(at, axes, dims []int) bool {
	for i := len(at) - 1; i >= 0; i-- {
		if at[i]++; at[i] < dims[axes[i]] {
			return true
		}
		at[i] = 0
	}
	return false
}

// bestOfFew returns argMinMax of few elements, as int32.
func (w *writer) bestOfFew(x string, d dtypes.DType, dims []int, a ir.ArgMinMax) string {
	rest := without(dims, []int{a.Axis})
	values, indices, flags := tensor(d, rest...), tensor(dtypes.Int32, rest...), tensor(dtypes.Bool, rest...)
	number := func(i int) string {
		return w.let("stablehlo.broadcast_in_dim %s, dims = [] : (%s) -> %s", w.scalar(dtypes.Int32, i), tensor(dtypes.Int32), indices)
	}
	test := func(how, a, b string) string {
		return w.let("stablehlo.compare %s, %s, %s, %s : (%s, %s) -> %s", how, a, b, order(d, false), values, values, flags)
	}
	how := "GT"
	if a.IsMin {
		how = "LT"
	}
	best, at := w.element(x, d, dims, []int{a.Axis}, []int{0}), number(0)
	for i := 1; i < dims[a.Axis]; i++ {
		next := w.element(x, d, dims, []int{a.Axis}, []int{i})
		wins := test(how, next, best)
		if d.IsFloat() { // what is not a number wins over numbers
			odd := w.let("stablehlo.and %s, %s : %s", test("NE", next, next), test("EQ", best, best), flags)
			wins = w.let("stablehlo.or %s, %s : %s", wins, odd, flags)
		}
		best = w.let("stablehlo.select %s, %s, %s : %s, %s", wins, next, best, flags, values)
		at = w.let("stablehlo.select %s, %s, %s : %s, %s", wins, number(i), at, flags, indices)
	}
	return at
}
