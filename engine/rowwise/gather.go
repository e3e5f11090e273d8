package rowwise

import (
	"slices"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/ir"
)

// gather follows rows of the table, of the indices, or of both if every index names its own row.
func (c *checker) gather(n *ir.Node, table, index state) state {
	a := n.Attr.(ir.Gather)
	switch {
	case index.kind == common:
		return c.gatherTable(n, table, a)
	case index.axis == a.IndexAxis:
		return cross(n, "has one index for several rows")
	case table.kind == byRow && !c.ownRow(n, table, index, a):
		return cross(n, "takes from other rows")
	}
	return state{kind: byRow, axis: batchAxis(n, index.axis, a), inner: index.inner}
}

// gatherTable returns a gather by indices that are the same for all rows: each must take all of
// them.
func (c *checker) gatherTable(n *ir.Node, table state, a ir.Gather) state {
	if slices.Contains(a.Map, table.axis) || slices.Contains(a.Collapsed, table.axis) ||
		a.Sizes[table.axis] != n.Inputs[0].Shape.Dimensions[table.axis] {
		return cross(n, "takes some of the rows")
	}
	at := table.axis
	for _, x := range a.Collapsed {
		if x < table.axis {
			at--
		}
	}
	table.axis = a.OffsetAxes[at]
	return table
}

// batchAxis returns where an axis of the indices is in the output of a gather.
func batchAxis(n *ir.Node, axis int, a ir.Gather) int {
	if axis > a.IndexAxis {
		axis--
	}
	for at := range n.Outputs[0].Shape.Rank() {
		if slices.Contains(a.OffsetAxes, at) {
			continue
		}
		if axis == 0 {
			return at
		}
		axis--
	}
	return axis
}

// ownRow reports whether the index into the table's axis of rows is the number of the index's own
// row.
func (c *checker) ownRow(n *ir.Node, table, index state, a ir.Gather) bool {
	column := slices.Index(a.Map, table.axis)
	dims := n.Inputs[0].Shape.Dimensions
	return column >= 0 && slices.Contains(a.Collapsed, table.axis) && a.Sizes[table.axis] == 1 &&
		table.inner == 1 && index.inner == 1 && dims[table.axis] == c.rows && n.Inputs[1].Shape.Dimensions[index.axis] == c.rows &&
		c.number(n.Inputs[1], index.axis, a.IndexAxis, column)
}

// number reports whether element column of v along an axis is the index along the axis of rows.
func (c *checker) number(v *ir.Value, rows, along, column int) bool {
	n := v.Node
	switch n.Op {
	case compute.OpTypeIdentity, compute.OpTypeConvertDType:
		return c.number(n.Inputs[0], rows, along, column)
	case compute.OpTypeIota:
		return n.Attr.(ir.Axis).Axis == rows
	case compute.OpTypeConcatenate:
		if n.Attr.(ir.Axis).Axis != along {
			return false
		}
		for _, x := range n.Inputs {
			if d := x.Shape.Dimensions[along]; column >= d {
				column -= d
				continue
			}
			return c.number(x, rows, along, column)
		}
	case compute.OpTypeBroadcastInDim:
		from := slices.Index(n.Attr.(ir.Axes).Axes, rows)
		return from >= 0 && n.Inputs[0].Size() == c.rows && c.number(n.Inputs[0], from, -1, 0)
	case compute.OpTypeReshape: // of a vector of numbers: axes of length one come or go
		from := slices.Index(n.Inputs[0].Shape.Dimensions, c.rows)
		return v.Size() == c.rows && from >= 0 && c.number(n.Inputs[0], from, -1, 0)
	}
	return false
}
