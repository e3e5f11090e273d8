package stablehlo

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/loops"
	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// start writes the element with which elements of a type begin to be joined.
func (w *writer) start(by *op.Row, d dtypes.DType) string {
	switch by.Fold {
	case loops.Product:
		return w.scalar(d, 1)
	case loops.Max:
		return w.extreme(d, true)
	case loops.Min:
		return w.extreme(d, false)
	case loops.And:
		if d == dtypes.Bool || d.IsUnsigned() {
			return w.extreme(d, false)
		}
		return w.scalar(d, -1)
	}
	return w.scalar(d, 0)
}

func reduce(w *writer, n *ir.Node) {
	v, axes, by := n.Inputs[0], n.Attr.(ir.Axes).Axes, op.Of(op.Of(n.Op).By)
	if len(axes) == 0 {
		identity(w, n)
		return
	}
	if w.options.Spread && few(v, axes) {
		reduceFew(w, n, by.HLO.Name, axes)
		return
	}
	init := w.start(by, v.DType())
	w.set(n, "stablehlo.reduce(%s init: %s) applies stablehlo.%s across dimensions = [%s] : (%s, %s) -> %s",
		w.name(v), init, by.HLO.Name, ints(axes), typeOf(v), tensor(v.DType()), typeOf(n.Outputs[0]))
}

// argMinMax reduces pairs of a value and its index. A NaN wins over numbers, and among equals the
// first one does, in whatever order the device takes them.
func argMinMax(w *writer, n *ir.Node) {
	a, v, out := n.Attr.(ir.ArgMinMax), n.Inputs[0], n.Outputs[0]
	x, d, dims := w.name(v), v.DType(), v.Shape.Dimensions
	if d == dtypes.Bool {
		d = dtypes.Uint8
		x = w.let("stablehlo.convert %s : (%s) -> %s", x, typeOf(v), tensor(d, dims...))
	}
	if w.options.Spread && few(v, []int{a.Axis}) {
		w.set(n, "stablehlo.convert %s : (%s) -> %s", w.bestOfFew(x, d, dims, a), tensor(dtypes.Int32, without(dims, []int{a.Axis})...), typeOf(out))
		return
	}
	index := dtypes.Int32
	if dims[a.Axis] > math.MaxInt32 {
		index = dtypes.Int64
	}
	at := w.let("stablehlo.iota dim = %d : %s", a.Axis, tensor(index, dims...))
	init, first := w.extreme(d, !a.IsMin), w.scalar(index, 0)
	rest := slices.Delete(slices.Clone(dims), a.Axis, a.Axis+1)
	left, each := w.many(2)
	w.line(`%s = "stablehlo.reduce"(%s, %s, %s, %s) <{dimensions = array<i64: %d>}> ({`, left, x, at, init, first, a.Axis)
	w.block(func() { w.better(d, index, a.IsMin) })
	w.line("}) : (%s, %s, %s, %s) -> (%s, %s)", tensor(d, dims...), tensor(index, dims...), tensor(d), tensor(index),
		tensor(d, rest...), tensor(index, rest...))
	w.set(n, "stablehlo.convert %s : (%s) -> %s", each[1], tensor(index, rest...), typeOf(out))
}

// better writes the region that chooses one of two pairs.
func (w *writer) better(d, index dtypes.DType, isMin bool) {
	x, i, y, j := w.fresh(), w.fresh(), w.fresh(), w.fresh()
	w.line("^bb0(%s: %s, %s: %s, %s: %s, %s: %s):", x, tensor(d), i, tensor(index), y, tensor(d), j, tensor(index))
	test := func(how, a, b string, d dtypes.DType) string {
		return w.let("stablehlo.compare %s, %s, %s, %s : (%s, %s) -> tensor<i1>", how, a, b, order(d, false), tensor(d), tensor(d))
	}
	logic := func(op, a, b string) string { return w.let("stablehlo.%s %s, %s : tensor<i1>", op, a, b) }
	how := "GT"
	if isMin {
		how = "LT"
	}
	earlier := test("LT", i, j, index)
	wins := logic("or", test(how, x, y, d), logic("and", test("EQ", x, y, d), earlier))
	if d.IsFloat() {
		nan, number := test("NE", x, x, d), test("EQ", y, y, d)
		wins = logic("or", wins, logic("and", nan, logic("or", number, earlier)))
	}
	value := w.let("stablehlo.select %s, %s, %s : tensor<i1>, %s", wins, x, y, tensor(d))
	at := w.let("stablehlo.select %s, %s, %s : tensor<i1>, %s", wins, i, j, tensor(index))
	w.line("stablehlo.return %s, %s : %s, %s", value, at, tensor(d), tensor(index))
}

func reduceWindow(w *writer, n *ir.Node) {
	a, v := n.Attr.(ir.Window), n.Inputs[0]
	by := op.Joins(a.Kind)
	if by.Fold == loops.None {
		w.failf("%s by %s: %w", n.Op, a.Kind, compute.ErrNotImplemented)
		return
	}
	init := w.start(by, v.DType())
	name := w.fresh()
	w.line(`%s = "stablehlo.reduce_window"(%s, %s) <{window_dimensions = %s, window_strides = %s, base_dilations = %s, `+
		`window_dilations = %s, padding = %s}> ({`, name, w.name(v), init, array(a.Dims), array(a.Strides),
		array(a.InputDilations), array(a.Dilations), padding(a.Paddings))
	w.block(func() { w.combine(by.HLO.Name, v.DType()) })
	w.line("}) : (%s, %s) -> %s", typeOf(v), tensor(v.DType()), typeOf(n.Outputs[0]))
	w.names[n.Outputs[0]] = name
}

// combine writes the region that joins two scalars by one operation.
func (w *writer) combine(op string, d dtypes.DType) {
	a, b := w.scalars(d)
	out := w.let("stablehlo.%s %s, %s : %s", op, a, b, tensor(d))
	w.line("stablehlo.return %s : %s", out, tensor(d))
}

// scalars begins a region of two scalars.
func (w *writer) scalars(d dtypes.DType) (a, b string) {
	a, b = w.fresh(), w.fresh()
	w.line("^bb0(%s: %s, %s: %s):", a, tensor(d), b, tensor(d))
	return a, b
}

func padding(ps [][2]int) string {
	if len(ps) == 0 {
		return "dense<> : tensor<0x2xi64>"
	}
	return fmt.Sprintf("dense<%s> : tensor<%dx2xi64>", pairs(ps), len(ps))
}

// selectAndScatter adds to the element that won its window, the first among equals.
func selectAndScatter(how string) printer {
	return func(w *writer, n *ir.Node) {
		a, d := n.Attr.(ir.Window), n.Inputs[0].DType()
		init := w.scalar(d, 0)
		name := w.fresh()
		w.line(`%s = "stablehlo.select_and_scatter"(%s, %s) <{window_dimensions = %s, window_strides = %s, padding = %s}> ({`,
			name, w.list(n.Inputs), init, array(a.Dims), array(a.Strides), padding(a.Paddings))
		w.block(func() {
			x, y := w.scalars(d)
			keep := w.let("stablehlo.compare %s, %s, %s, %s : (%s, %s) -> tensor<i1>", how, x, y, order(d, false), tensor(d), tensor(d))
			w.line("stablehlo.return %s : tensor<i1>", keep)
		})
		w.line("}, {")
		w.block(func() { w.combine("add", d) })
		w.line("}) : (%s, %s) -> %s", typesOf(n.Inputs), tensor(d), typeOf(n.Outputs[0]))
		w.names[n.Outputs[0]] = name
	}
}

// allReduce joins the values that the replicas of a group have; each gets the result.
func allReduce(w *writer, n *ir.Node) {
	a, d := n.Attr.(ir.Collective), n.Inputs[0].DType()
	by := op.Joins(a.Kind)
	if by.Fold == loops.None {
		w.failf("%s by %s: %w", n.Op, a.Kind, compute.ErrNotImplemented)
		return
	}
	groups := a.Groups
	if len(groups) == 0 {
		groups = [][]int{make([]int, w.replicas)}
		for i := range groups[0] {
			groups[0][i] = i
		}
	}
	parts := make([]string, len(groups))
	for i, g := range groups {
		if len(g) != len(groups[0]) {
			w.failf("%s of groups of different sizes %v: %w", n.Op, groups, compute.ErrNotImplemented)
		}
		parts[i] = "[" + ints(g) + "]"
	}
	name := w.fresh()
	w.line(`%s = "stablehlo.all_reduce"(%s) <{replica_groups = dense<[%s]> : tensor<%dx%dxi64>}> ({`, name,
		w.name(n.Inputs[0]), joined(parts...), len(groups), len(groups[0]))
	w.block(func() { w.combine(by.HLO.Name, d) })
	w.line("}) : %s", signature(n))
	w.names[n.Outputs[0]] = name
}
