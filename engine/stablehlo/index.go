package stablehlo

import (
	"fmt"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// field returns one list of the dimension numbers of a gather or scatter; empty ones are left out.
func field(name string, xs []int) string {
	if len(xs) == 0 {
		return ""
	}
	return fmt.Sprintf("%s = [%s]", name, ints(xs))
}

func gather(w *writer, n *ir.Node) {
	a := n.Attr.(ir.Gather)
	numbers := joined(field("offset_dims", a.OffsetAxes), field("collapsed_slice_dims", a.Collapsed),
		field("start_index_map", a.Map), fmt.Sprintf("index_vector_dim = %d", a.IndexAxis))
	w.set(n, `"stablehlo.gather"(%s) <{dimension_numbers = #stablehlo.gather<%s>, slice_sizes = %s, `+
		`indices_are_sorted = false}> : %s`, w.list(n.Inputs), numbers, array(a.Sizes), signature(n))
}

func scatter(w *writer, n *ir.Node) {
	a, d := n.Attr.(ir.Scatter), n.Inputs[0].DType()
	numbers := joined(field("update_window_dims", a.UpdateWindow), field("inserted_window_dims", a.Inserted),
		field("scatter_dims_to_operand_dims", a.Map), fmt.Sprintf("index_vector_dim = %d", a.IndexAxis))
	operands, name := w.scattered(n), w.fresh()
	w.line(`%s = "stablehlo.scatter"(%s) <{scatter_dimension_numbers = #stablehlo.scatter<%s>, `+
		`indices_are_sorted = false, unique_indices = %t}> ({`, name, operands, numbers, a.Unique)
	w.block(func() { w.combine(op.Of(op.Of(n.Op).By).HLO.Name, d) })
	w.line("}) : %s", signature(n))
	w.names[n.Outputs[0]] = name
}
