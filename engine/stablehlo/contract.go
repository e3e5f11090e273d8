package stablehlo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
)

// precision returns how products treat their operands.
func (w *writer) precision() string {
	if w.options.Precision == ir.Exact {
		return "HIGHEST, HIGHEST"
	}
	return "DEFAULT, DEFAULT"
}

func dot(w *writer, n *ir.Node) {
	a := n.Attr.(ir.Dot)
	if w.options.Spread && thin(n, a) {
		spread(w, n, a)
		return
	}
	batch := ""
	if len(a.LhsBatch) > 0 {
		batch = fmt.Sprintf("batching_dims = [%s] x [%s]", ints(a.LhsBatch), ints(a.RhsBatch))
	}
	contract := fmt.Sprintf("contracting_dims = [%s] x [%s]", ints(a.LhsContract), ints(a.RhsContract))
	in := w.operands(n)
	w.set(n, "stablehlo.dot_general %s : (%s) -> %s", joined(w.list(in), batch, contract, "precision = ["+w.precision()+"]"),
		typesOf(in), typeOf(n.Outputs[0]))
}

// operands returns the operands of a product, rounded to the precision that is asked for.
func (w *writer) operands(n *ir.Node) (out []*ir.Value) {
	for _, v := range n.Inputs {
		if w.options.Precision == ir.BF16 && v.DType() == dtypes.Float32 {
			v = w.rounded(v)
		}
		out = append(out, v)
	}
	return out
}

// rounded returns a value as bfloat16.
func (w *writer) rounded(v *ir.Value) *ir.Value {
	half := &ir.Value{Node: v.Node, Shape: shapes.Make(dtypes.BFloat16, v.Shape.Dimensions...)}
	w.names[half] = w.let("stablehlo.convert %s : (%s) -> %s", w.name(v), typeOf(v), typeOf(half))
	return half
}

func convolution(w *writer, n *ir.Node) {
	a := n.Attr.(ir.Conv)
	x := a.Axes
	in := axes(x.InputSpatial, map[int]string{x.InputBatch: "b", x.InputChannels: "f"})
	kernel := axes(x.KernelSpatial, map[int]string{x.KernelInputChannels: "i", x.KernelOutputChannels: "o"})
	out := axes(x.OutputSpatial, map[int]string{x.OutputBatch: "b", x.OutputChannels: "f"})
	precision := strings.ReplaceAll(w.precision(), ", ", ">, #stablehlo<precision ")
	w.set(n, "stablehlo.convolution(%s) dim_numbers = %sx%s->%s, window = {stride = [%s], pad = %s, lhs_dilate = [%s], "+
		"rhs_dilate = [%s]} {batch_group_count = %d : i64, feature_group_count = %d : i64, "+
		"precision_config = [#stablehlo<precision %s>]} : %s", w.list(n.Inputs), in, kernel, out, ints(a.Strides),
		pairs(a.Paddings), ints(a.InputDilations), ints(a.KernelDilations), a.BatchGroups, a.ChannelGroups, precision,
		signature(n))
}

// axes names every axis of an operand of a convolution: [b, 0, 1, f].
func axes(spatial []int, named map[int]string) string {
	parts := make([]string, len(spatial)+len(named))
	for i := range parts {
		parts[i] = named[i]
	}
	for i, a := range spatial {
		parts[a] = strconv.Itoa(i)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
