package stablehlo

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// printer writes one node and names its outputs.
type printer func(w *writer, n *ir.Node)

// printerOf returns the printer of an operation, nil if it cannot be written: by the table of
// operations, or by code for what needs more than a line.
func printerOf(t compute.OpType) printer {
	row := op.Of(t)
	switch {
	case row.Class == op.Source && t != compute.OpTypeConstant:
		return nothing // named by whoever passes it
	case row.HLO != op.HLO{}:
		return written
	case row.Class == op.Reduce:
		return reduce
	case row.Class == op.Scatter:
		return scatter
	}
	switch t {
	case compute.OpTypeConstant:
		return constant
	case compute.OpTypeBitcast:
		return bitcast
	case compute.OpTypeSlice:
		return slice
	case compute.OpTypePad:
		return pad
	case compute.OpTypeDynamicSlice:
		return dynamicSlice
	case compute.OpTypeDynamicUpdateSlice:
		return dynamicUpdateSlice
	case compute.OpTypeArgMinMax:
		return argMinMax
	case compute.OpTypeReduceWindow:
		return reduceWindow
	case compute.OpTypeSelectAndScatterMax:
		return selectAndScatter("GE")
	case compute.OpTypeSelectAndScatterMin:
		return selectAndScatter("LE")
	case compute.OpTypeDotGeneral:
		return dot
	case compute.OpTypeConvGeneral:
		return convolution
	case compute.OpTypeGather:
		return gather
	case compute.OpTypeRNGBitGenerator:
		return randomBits
	case compute.OpTypeWhile:
		return while
	case compute.OpTypeIf:
		return branch
	case compute.OpTypeSort:
		return sort
	case compute.OpTypeCall:
		return call
	case compute.OpTypeAllReduce:
		return allReduce
	case compute.OpTypeOptimizationBarrier, compute.OpTypeSchedulingBarrier:
		return barrier
	}
	return nil
}

func nothing(*writer, *ir.Node) {}

// widened does a node of 16-bit floats in float32.
func (w *writer) widened(n *ir.Node, p printer) {
	half := n.Outputs[0].DType()
	wide := func(v *ir.Value) *ir.Value {
		if v.DType() != half {
			return v
		}
		return &ir.Value{Node: v.Node, Shape: shapes.Make(dtypes.Float32, v.Shape.Dimensions...)}
	}
	copied := &ir.Node{Op: n.Op, Attr: n.Attr}
	for _, v := range n.Inputs {
		in := wide(v)
		if in != v {
			w.names[in] = w.let("stablehlo.convert %s : (%s) -> %s", w.name(v), typeOf(v), typeOf(in))
		}
		copied.Inputs = append(copied.Inputs, in)
	}
	out := wide(n.Outputs[0])
	copied.Outputs = []*ir.Value{out}
	p(w, copied)
	w.set(n, "stablehlo.convert %s : (%s) -> %s", w.name(out), typeOf(out), typeOf(n.Outputs[0]))
}
