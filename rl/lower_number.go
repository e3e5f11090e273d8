package rl

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Numbers and bools of Go that only the device knows: what a loop reads by Value,
// counts, or decides by. They are scalars in Go's own precision, so that what is
// computed with them is what Go would have computed.

// Number is a Go number or bool, or a scalar tensor, as a number of the device
// program: an int64, float64 or bool scalar.
func (r *Run) Number(x any) Tensor {
	l := r.root().lower
	if t, ok := x.(Tensor); ok {
		n := l.c.lift([]Tensor{t})[0].Node()
		if n.Shape().Rank() > 0 {
			failf("only a scalar has a value, not %s", n.Shape())
		}
		if n.DType() == dtypes.Bool {
			return Wrap(n)
		}
		return Wrap(graph.ConvertDType(n, dtypes.Float64))
	}
	return Wrap(l.number(x))
}

// number is a Go number as a node.
func (l *Lowering) number(x any) *graph.Node {
	g := l.c.graph
	switch x := x.(type) {
	case bool:
		return graph.Const(g, x)
	case float64:
		return graph.Const(g, x)
	case int64:
		return graph.Const(g, x)
	case int:
		return graph.Const(g, int64(x))
	}
	failf("a number of type %T cannot be one of a device program", x)
	return nil
}

// Host is a number that f computes from the counters of every iteration, for
// arithmetic with numbers that only the device knows.
func Host[N int | int64 | float64](r *Run, f func(*Run) N) Tensor {
	var zero N
	d := dtypes.Int64
	if _, ok := any(zero).(float64); ok {
		d = dtypes.Float64
	}
	return r.host(d, func(r *Run) float64 { return float64(f(r)) })
}

// Calc is x op y as Go has it, of numbers of the device program and of Go's, one
// of which may be a constant of another type: arithmetic, comparisons, && and ||.
func (r *Run) Calc(x any, op string, y any) Tensor {
	l := r.root().lower
	a, b := l.operands(x, y)
	f, ok := calculations[op]
	if !ok {
		failf("a device program cannot compute %s", op)
	}
	return Wrap(f(a, b))
}

var calculations = map[string]func(a, b *graph.Node) *graph.Node{
	"+": graph.Add, "-": graph.Sub, "*": graph.Mul, "/": graph.Div, "%": graph.Mod,
	"<": graph.LessThan, "<=": graph.LessOrEqual, ">": graph.GreaterThan, ">=": graph.GreaterOrEqual,
	"==": graph.Equal, "!=": graph.NotEqual, "&&": graph.LogicalAnd, "||": graph.LogicalOr,
}

// operands are two numbers as nodes of one type.
func (l *Lowering) operands(x, y any) (a, b *graph.Node) {
	a, b = l.operand(x), l.operand(y)
	if a.DType() == b.DType() {
		return a, b
	}
	switch _, inside := x.(Tensor); {
	case inside:
		return a, graph.ConvertDType(b, a.DType())
	default:
		return graph.ConvertDType(a, b.DType()), b
	}
}

func (l *Lowering) operand(x any) *graph.Node {
	if t, ok := x.(Tensor); ok {
		return l.c.lift([]Tensor{t})[0].Node()
	}
	return l.number(x)
}

// Float is a number of the device program as a float64.
func (r *Run) Float(x Tensor) Tensor { return converted(x, dtypes.Float64) }

// Int is one as an int64, cut off towards 0.
func (r *Run) Int(x Tensor) Tensor { return converted(x, dtypes.Int64) }

// Single is one as a tensor of the loop: what Scalar makes of a number.
func (r *Run) Single(x Tensor) Tensor { return converted(x, dtypes.Float32) }

func converted(x Tensor, d dtypes.DType) Tensor { return Wrap(graph.ConvertDType(x.Node(), d)) }

// CountAt is Count inside a device program.
func (o *Opt) CountAt() Tensor {
	if o.count.in.node == nil {
		failf("optimiser %q: its count inside a device program is asked for outside of one", o.name)
	}
	return o.count.in
}

// hostColumn is a table's numbers, and zeros for the rest of the chunk.
func hostColumn(d dtypes.DType, x []float64, size int) Tensor {
	shape := shapes.Make(d, size)
	var flat any
	switch d {
	case dtypes.Int32:
		flat = filled[int32](x, size)
	case dtypes.Int64:
		flat = filled[int64](x, size)
	case dtypes.Float32:
		flat = filled[float32](x, size)
	case dtypes.Float64:
		flat = filled[float64](x, size)
	default:
		failf("%s", fmt.Sprintf("a table of %s", d))
	}
	return constantOf(shape, flat)
}

func filled[N int32 | int64 | float32 | float64](x []float64, size int) []N {
	flat := make([]N, size)
	for i, v := range x {
		flat[i] = N(v)
	}
	return flat
}
