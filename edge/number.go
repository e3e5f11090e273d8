package edge

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// Numbers and bools of Go that only the device knows: what a loop reads by Value, counts, or
// decides by. They are scalars in Go's own precision, so that what is computed with them is
// what Go would have computed.

// Number returns a Go number or bool, or a scalar tensor, as a number of the device program: an
// int64, float64 or bool scalar.
func Number(run *rl.Run, x any) rl.Tensor {
	l := run.Scope().Lowering()
	t, ok := x.(rl.Tensor)
	if !ok {
		return rl.Wrap(number(l, x))
	}
	n := l.Lift([]rl.Tensor{t})[0].Node()
	if n.Shape().Rank() > 0 {
		rl.Failf("only a scalar has a value, not %s", n.Shape())
	}
	if n.DType() == dtypes.Bool {
		return rl.Wrap(n)
	}
	return rl.Wrap(graph.ConvertDType(n, dtypes.Float64))
}

// number returns a Go number as a node.
func number(l *rl.Lowering, x any) *graph.Node {
	g := l.Graph()
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
	rl.Failf("a number of type %T cannot be one of a device program", x)
	return nil
}

// Calc returns x op y as Go has it, of numbers of the device program and of Go's, one of which
// may be a constant of another type: arithmetic, comparisons, && and ||.
func Calc(run *rl.Run, x any, op string, y any) rl.Tensor {
	a, b := operands(run.Scope().Lowering(), x, y)
	f, ok := calculations[op]
	if !ok {
		rl.Failf("a device program cannot compute %s", op)
	}
	return rl.Wrap(f(a, b))
}

var calculations = map[string]func(a, b *graph.Node) *graph.Node{
	"+": graph.Add, "-": graph.Sub, "*": graph.Mul, "/": graph.Div, "%": graph.Mod,
	"<": graph.LessThan, "<=": graph.LessOrEqual, ">": graph.GreaterThan, ">=": graph.GreaterOrEqual,
	"==": graph.Equal, "!=": graph.NotEqual, "&&": graph.LogicalAnd, "||": graph.LogicalOr,
}

// operands returns two numbers as nodes of one type.
func operands(l *rl.Lowering, x, y any) (a, b *graph.Node) {
	a, b = operand(l, x), operand(l, y)
	if a.DType() == b.DType() {
		return a, b
	}
	if _, inside := x.(rl.Tensor); inside {
		return a, graph.ConvertDType(b, a.DType())
	}
	return graph.ConvertDType(a, b.DType()), b
}

func operand(l *rl.Lowering, x any) *graph.Node {
	if t, ok := x.(rl.Tensor); ok {
		return l.Lift([]rl.Tensor{t})[0].Node()
	}
	return number(l, x)
}

// Float returns a number of the device program as a float64.
func Float(x rl.Tensor) rl.Tensor { return converted(x, dtypes.Float64) }

// Int returns a number of the device program as an int64, cut off towards 0.
func Int(x rl.Tensor) rl.Tensor { return converted(x, dtypes.Int64) }

// Single returns a number of the device program as a tensor of the loop: what rl.Scalar makes
// of a number of Go's.
func Single(x rl.Tensor) rl.Tensor { return converted(x, dtypes.Float32) }

func converted(x rl.Tensor, d dtypes.DType) rl.Tensor {
	return rl.Wrap(graph.ConvertDType(x.Node(), d))
}
