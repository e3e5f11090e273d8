package stablehlo

import (
	"fmt"
	"strings"

	"github.com/weft-rl/weft/engine/ir"
)

// A computation on several devices is written as one on whole values. What the text adds is a mesh of devices and, for
// parameters and results, which of their axes is shared out among them; XLA's partitioner (Shardy) finds out what
// that means for everything between them, and puts the collectives in.

// mesh opens a module, with the devices that it is for.
func mesh(s *ir.Split) string {
	if s == nil {
		return " {\n"
	}
	return fmt.Sprintf(" attributes {mhlo.num_partitions = %d : i32, mhlo.num_replicas = 1 : i32} {\n  sdy.mesh @devices = <[\"d\"=%d]>\n", s.Devices, s.Devices)
}

// sharding is how a value of so many axes is shared out along one of them.
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

// attributes are what is said of parameter i of a function.
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

// resultTypes are the types of a function's results, and of main's how they are shared out.
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

// hold keeps what a loop carries of main's parameters as they are shared out, in every round: else the partitioner might
// cut weights as well, wherever something that looks like them is cut.
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
		if v.Shape.Rank() > 0 {
			w.names[v] = w.let("sdy.sharding_constraint %s %s : %s", w.names[v], sharding(axis, v.Shape.Rank()), typeOf(v))
		}
	}
}
