package stablehlo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// written writes a node as the table of operations spells it.
func written(w *writer, n *ir.Node) {
	h := op.Of(n.Op).HLO
	text := h.Text
	if text == "" {
		text = "stablehlo." + h.Name + " $x : $out"
	}
	if h.Unsigned != "" && n.Inputs[0].DType().IsUnsigned() {
		text = h.Unsigned
	}
	if text == "$0" {
		identity(w, n)
		return
	}
	before := ""
	for line := range strings.SplitSeq(text, "\n") {
		before = w.let("%s", w.filled(n, line, before))
	}
	w.names[n.Outputs[0]] = before
}

// filled returns a text of the table with what the node has in the place of each $; see op.HLO.
func (w *writer) filled(n *ir.Node, text, before string) string {
	parts := strings.Split(text, "$")
	out := parts[0]
	for _, part := range parts[1:] {
		end := strings.IndexFunc(part, func(r rune) bool { return r != '^' && (r < 'a' || r > 'z') && (r < '0' || r > '9') })
		if end < 0 {
			end = len(part)
		}
		out += w.field(n, part[:end], before) + part[end:]
	}
	return out
}

func (w *writer) field(n *ir.Node, name, before string) string {
	switch name {
	case "x":
		return w.list(n.Inputs)
	case "in":
		return typeOf(n.Inputs[0])
	case "out":
		return typeOf(n.Outputs[0])
	case "sig":
		return signature(n)
	case "order":
		return order(n.Inputs[0].DType(), false)
	case "total":
		return order(n.Inputs[0].DType(), true)
	case "axes":
		return ints(n.Attr.(ir.Axes).Axes)
	case "axis":
		return fmt.Sprint(n.Attr.(ir.Axis).Axis)
	case "^":
		return before
	}
	if i, err := strconv.Atoi(name); err == nil && i < len(n.Inputs) {
		return w.name(n.Inputs[i])
	}
	w.failf("%s: the table of operations has $%s, which stands for nothing", n.Op, name)
	return ""
}

// order returns how elements are compared: floats by their order as numbers, or by the total order
// in which -NaN is first and NaN last.
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
