package onnx

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// ofBools are the operations of all element types that ONNX has for bools as well.
var ofBools = []compute.OpType{compute.OpTypeEqual, compute.OpTypeNotEqual, compute.OpTypeWhere, compute.OpTypeConvertDType}

// written writes a node as the table of operations spells it.
func written(w *writer, n *ir.Node) {
	row := op.Of(n.Op)
	if row.Class == op.Reduce && len(n.Attr.(ir.Axes).Axes) == 0 {
		same(w, n) // an operator without axes would reduce all of them
		return
	}
	if row.Elementwise() && row.Takes != op.Bools && n.Inputs[len(n.Inputs)-1].DType() == dtypes.Bool && !slices.Contains(ofBools, n.Op) {
		w.failf("%s of bools: %w in ONNX", n.Op, compute.ErrNotImplemented)
	}
	operands := w.list
	if row.Elementwise() {
		operands = w.broadcasting
	}
	in, before := operands(n.Inputs), ""
	for line := range strings.SplitSeq(row.ONNX, "\n") {
		before = w.line(n, words(line), in, before)
	}
	w.names[n.Outputs[0]] = before
}

// line writes one line of the table's text; see op.Row.
func (w *writer) line(n *ir.Node, words []string, in []string, before string) string {
	var args []string
	var attrs []attribute
	for _, word := range words[1:] {
		if key, value, ok := strings.Cut(word, "="); ok {
			attrs = append(attrs, attribute{key, w.setting(n, value)})
			continue
		}
		args = append(args, w.argument(n, word, in, before)...)
	}
	if len(args) == 0 {
		args = in
	}
	return w.let(words[0], args, attrs...)
}

// argument returns the operands that a word of the table stands for.
func (w *writer) argument(n *ir.Node, word string, in []string, before string) []string {
	switch word {
	case "$x":
		return in
	case "$^":
		return []string{before}
	case "$axes":
		return []string{w.ints(wide(n.Attr.(ir.Axes).Axes)...)}
	}
	if number, ok := strings.CutPrefix(word, "$"); ok {
		if i, err := strconv.Atoi(number); err == nil && i < len(in) {
			return in[i : i+1]
		}
	} else if x, err := strconv.ParseFloat(word, 64); err == nil {
		return []string{w.scalar(n.Inputs[0].DType(), x)}
	}
	w.failf("%s: the table of operations has %s, which stands for nothing", n.Op, word)
	return nil
}

// setting returns the value of an attribute.
func (w *writer) setting(n *ir.Node, text string) any {
	switch text {
	case "$axes":
		return wide(n.Attr.(ir.Axes).Axes)
	case "$axis":
		return int64(n.Attr.(ir.Axis).Axis)
	case "$type":
		return elementTypes[n.Outputs[0].DType()]
	}
	if x, err := strconv.ParseInt(text, 10, 64); err == nil {
		return x
	}
	return text
}

// scalar returns the name of a single number.
func (w *writer) scalar(d dtypes.DType, x float64) string {
	flat := dtypes.MakeAnySlice(d, 1)
	switch flat := flat.(type) {
	case []float32:
		flat[0] = float32(x)
	case []float64:
		flat[0] = x
	case []int32:
		flat[0] = int32(x)
	case []int64:
		flat[0] = int64(x)
	default:
		w.failf("a constant of type %s: %w in ONNX", d, compute.ErrNotImplemented)
	}
	return w.constant(tensor{of: d, data: ir.BytesOf(flat)})
}
