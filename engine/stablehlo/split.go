package stablehlo

import (
	"fmt"
	"strings"

	"github.com/weft-rl/weft/engine/ir"
)

// A computation on several devices is written as one on whole values. What the text adds is a mesh
// of devices and, for parameters and results, which of their axes is shared out among them; XLA's
// partitioner (Shardy) finds out what that means for everything between them, and puts the
// collectives in.

// mesh opens a module, with the devices that it is for.
func mesh(s *ir.Split) string {
	if s == nil {
		return " {\n"
	}
	return fmt.Sprintf(" attributes {mhlo.num_partitions = %d : i32, mhlo.num_replicas = 1 : i32} {\n  sdy.mesh @devices = <[\"d\"=%d]>\n", s.Devices, s.Devices)
}

// sharding returns how a value of so many axes is shared out along one of them.
func sharding(axis, rank int) string {
	axes := make([]string, rank)
	for i := range axes {
		axes[i] = "{}"
		if i == axis {
			axes[i] = `{"d"}`
		}
	}
	return fmt.Sprintf("<@devices, [%s]>", strings.Join(axes, ", "))
}

// attributes returns what is said of parameter i of a function.
func (w *writer) attributes(visibility string, i int, v *ir.Value) string {
	if visibility != "public" {
		return ""
	}
	var all []string
	if out, ok := w.options.Donate[i]; ok {
		all = append(all, fmt.Sprintf("tf.aliasing_output = %d : i32", out))
	}
	if w.split != nil {
		w.cuts[v] = w.split.Params[i]
		all = append(all, "sdy.sharding = #sdy.sharding"+sharding(w.split.Params[i], v.Shape.Rank()))
	}
	if len(all) == 0 {
		return ""
	}
	return " {" + strings.Join(all, ", ") + "}"
}

// resultTypes returns the types of a function's results, and of main's how they are shared out.
func (w *writer) resultTypes(visibility string, f *ir.Func) string {
	if visibility != "public" || w.split == nil {
		return typesOf(f.Results)
	}
	all := make([]string, len(f.Results))
	for i, v := range f.Results {
		all[i] = fmt.Sprintf("%s {sdy.sharding = #sdy.sharding%s}", typeOf(v), sharding(w.split.Results[i], v.Shape.Rank()))
	}
	return strings.Join(all, ", ")
}

// hold keeps what a loop carries of main's parameters as they are shared out, in every round: else
// the partitioner might cut weights as well, wherever something that looks like them is cut.
func (w *writer) hold(n *ir.Node, f *ir.Func) {
	if w.split == nil {
		return
	}
	inner := append(append([]*ir.Value{}, f.Params...), f.Captures...)
	outer := append(append([]*ir.Value{}, n.Operands()...), n.CapturesOf(1)...)
	for i, v := range inner {
		axis, ok := w.cuts[outer[i]]
		if !ok {
			continue
		}
		w.cuts[v] = axis
		w.names[v] = w.held(v, axis)
	}
}

// sameCut notes that a value is cut as another is, where that is known.
func (w *writer) sameCut(v, as *ir.Value) {
	if axis, ok := w.cuts[as]; ok {
		w.cuts[v] = axis
	}
}

// held returns a value that is cut along an axis from here on, or whole on each device.
func (w *writer) held(v *ir.Value, axis int) string {
	if v.Shape.Rank() == 0 {
		return w.name(v)
	}
	return w.let("sdy.sharding_constraint %s %s : %s", w.name(v), sharding(axis, v.Shape.Rank()), typeOf(v))
}

// scattered returns the operands of a scatter. What is written into a table that every device has
// whole goes to all of them: if each wrote its own part, the table would have to be put together
// from theirs.
func (w *writer) scattered(n *ir.Node) string {
	table := n.Inputs[0]
	if axis, ok := w.cuts[table]; !ok || axis != ir.Whole {
		return w.list(n.Inputs)
	}
	w.cuts[n.Outputs[0]] = ir.Whole
	names := []string{w.name(table)}
	for _, v := range n.Inputs[1:] {
		names = append(names, w.held(v, ir.Whole))
	}
	return strings.Join(names, ", ")
}
