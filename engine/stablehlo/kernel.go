package stablehlo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/ptx"
	"github.com/weft-rl/weft/engine/rows"
)

// kernel writes a loop as one kernel of the device's own language, if its rows do not look at each
// other. XLA for NVIDIA GPUs takes such kernels as calls with the program in their configuration.
func (w *writer) kernel(n *ir.Node) bool {
	loop, err := rows.Of(n)
	if err != nil {
		return false
	}
	w.kernels++
	k, err := ptx.Of(loop, fmt.Sprintf("rows_%d", w.kernels), w.options.Precision)
	if err != nil {
		return false
	}
	for _, n := range loop.Before {
		w.node(n)
	}
	var out []string
	for _, r := range loop.Results {
		switch r.Kind {
		case rows.Counter:
		case rows.Sum:
			out = append(out, tensor(r.Value.DType(), loop.Rows))
		default:
			out = append(out, typeOf(r.Value))
		}
	}
	left, each := w.many(len(out))
	w.line("%s = stablehlo.custom_call @__gpu$xla.gpu.ptx(%s) {api_version = 2 : i32, backend_config = %s, operand_layouts = %s, %sresult_layouts = %s} : (%s) -> %s",
		left, w.list(loop.Inputs), quoted(config(k)), layouts(ranksOf(loop.Inputs)), aliases(loop), layouts(resultRanks(loop)), typesOf(loop.Inputs), tuple(out))
	for _, r := range loop.Results {
		v := r.Value
		switch r.Kind {
		case rows.Counter:
			w.names[v] = w.scalar(dtypes.Int32, loop.Trips)
			continue
		case rows.Sum:
			d := v.DType()
			sum := w.let("stablehlo.reduce(%s init: %s) applies stablehlo.add across dimensions = [0] : (%s, %s) -> %s",
				each[0], w.scalar(d, 0), tensor(d, loop.Rows), tensor(d), tensor(d))
			w.names[v] = w.let("stablehlo.add %s, %s : %s", w.name(r.Start), sum, tensor(d))
		default:
			w.names[v] = each[0]
		}
		each = each[1:]
	}
	return true
}

// aliases says which results are written where an operand is: tables of which a kernel overwrites
// some rows.
func aliases(l *rows.Loop) string {
	var list []string
	at, count := 0, len(resultRanks(l))
	for _, r := range l.Results {
		if r.Kind == rows.Counter {
			continue
		}
		if r.Kind == rows.Kept {
			index := fmt.Sprint(at)
			if count == 1 { // no tuple
				index = ""
			}
			list = append(list, fmt.Sprintf("#stablehlo.output_operand_alias<output_tuple_indices = [%s], operand_index = %d, operand_tuple_indices = []>",
				index, slices.Index(l.Inputs, r.Start)))
		}
		at++
	}
	if list == nil {
		return ""
	}
	return "output_operand_aliases = [" + strings.Join(list, ", ") + "], "
}

// config returns how XLA is told of a kernel: an attribute in MLIR's own syntax, as text.
func config(k ptx.Kernel) string {
	return fmt.Sprintf(`{name = %s, kernel_type = "ptx", kernel_data = %s, grid_x = %d, grid_y = 1, grid_z = 1, block_x = %d, block_y = 1, block_z = 1, shared_mem_bytes = %d}`,
		quoted(k.Name), quoted(k.Text), k.Grid, k.Block, k.Shared)
}

// quoted returns text as a string of MLIR.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

func ranksOf(vs []*ir.Value) (ranks []int) {
	for _, v := range vs {
		ranks = append(ranks, v.Shape.Rank())
	}
	return ranks
}

func resultRanks(l *rows.Loop) (ranks []int) {
	for _, r := range l.Results {
		switch r.Kind {
		case rows.Counter:
		case rows.Sum:
			ranks = append(ranks, 1)
		default:
			ranks = append(ranks, r.Value.Shape.Rank())
		}
	}
	return ranks
}

// layouts says that elements lie in order, the last axis fastest: a kernel counts on it.
func layouts(ranks []int) string {
	parts := make([]string, len(ranks))
	for i, n := range ranks {
		axes := make([]string, n)
		for j := range axes {
			axes[j] = fmt.Sprint(n - 1 - j)
		}
		list := "[" + strings.Join(axes, ", ") + "]"
		if n == 0 {
			list = ""
		}
		parts[i] = fmt.Sprintf("dense<%s> : tensor<%dxindex>", list, n)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func tuple(types []string) string {
	if len(types) == 1 {
		return types[0]
	}
	return "(" + strings.Join(types, ", ") + ")"
}
