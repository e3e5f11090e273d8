package record

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
)

// closure checks that c can be run by a node of f, and returns what it captures in f's scope.
func (f *Function) closure(op compute.OpType, c compute.Function) (*Function, []*ir.Value, error) {
	fn, ok := c.(*Function)
	if !ok || fn == nil || fn.b != f.b {
		return nil, nil, fmt.Errorf("%s: the function is not of this builder", op)
	}
	if !fn.returned {
		return nil, nil, fmt.Errorf("%s: function %q has no Return yet", op, fn.Name())
	}
	caps := make([]*ir.Value, len(fn.sources))
	for i, s := range fn.sources {
		var err error
		if caps[i], err = f.bring(s); err != nil {
			return nil, nil, fmt.Errorf("%s: captured value %d: %w", op, i, err)
		}
	}
	return fn, caps, nil
}

// run records a node that runs closures.
func (f *Function) run(op compute.OpType, attr any, inputs []compute.Value, outs []shapes.Shape,
	closures ...compute.Function) ([]compute.Value, error) {
	vs, err := f.values(op, inputs...)
	if err != nil {
		return nil, err
	}
	n := ir.NewNode(op, attr, vs, outs...)
	for _, c := range closures {
		fn, caps, err := f.closure(op, c)
		if err != nil {
			return nil, err
		}
		n.Funcs = append(n.Funcs, fn.fn)
		n.Inputs = append(n.Inputs, caps...)
	}
	return f.results(f.add(n))
}

func (f *Function) shapesOf(vs []compute.Value) ([]shapes.Shape, error) {
	out := make([]shapes.Shape, len(vs))
	for i, v := range vs {
		var err error
		if out[i], err = f.Shape(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// signature checks a closure's parameters and results against shapes; nil skips the check.
func (f *Function) signature(op compute.OpType, c compute.Function, params, results []shapes.Shape) error {
	fn, _, err := f.closure(op, c)
	if err != nil {
		return err
	}
	match := func(what string, vs []*ir.Value, want []shapes.Shape) error {
		if len(vs) != len(want) {
			return fmt.Errorf("%s: closure has %d %ss, want %d", op, len(vs), what, len(want))
		}
		for i, v := range vs {
			if !v.Shape.Equal(want[i]) {
				return fmt.Errorf("%s: %s %d of the closure is %s, want %s", op, what, i, v.Shape, want[i])
			}
		}
		return nil
	}
	if err := match("parameter", fn.fn.Params, params); err != nil {
		return err
	}
	return match("result", fn.fn.Results, results)
}

var scalarBool = []shapes.Shape{shapes.Make(dtypes.Bool)}

// While implements compute.Function.
func (f *Function) While(cond, body compute.Function, state ...compute.Value) ([]compute.Value, error) {
	outs, err := f.shapesOf(state)
	if err != nil {
		return nil, fmt.Errorf("While: %w", err)
	}
	if len(state) == 0 {
		return nil, fmt.Errorf("While: no state")
	}
	if err := f.signature(compute.OpTypeWhile, cond, outs, scalarBool); err != nil {
		return nil, fmt.Errorf("condition: %w", err)
	}
	if err := f.signature(compute.OpTypeWhile, body, outs, outs); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	return f.run(compute.OpTypeWhile, nil, state, outs, cond, body)
}

// If implements compute.Function.
func (f *Function) If(pred compute.Value, onTrue, onFalse compute.Function) ([]compute.Value, error) {
	shape, err := f.Shape(pred)
	if err != nil {
		return nil, fmt.Errorf("If: %w", err)
	}
	if !shape.Equal(scalarBool[0]) {
		return nil, fmt.Errorf("If: the predicate is %s, want a bool scalar", shape)
	}
	fn, _, err := f.closure(compute.OpTypeIf, onTrue)
	if err != nil {
		return nil, err
	}
	var outs []shapes.Shape
	for _, r := range fn.fn.Results {
		outs = append(outs, r.Shape)
	}
	for _, c := range []compute.Function{onTrue, onFalse} {
		if err := f.signature(compute.OpTypeIf, c, nil, outs); err != nil {
			return nil, err
		}
	}
	return f.run(compute.OpTypeIf, nil, []compute.Value{pred}, outs, onTrue, onFalse)
}

// Sort implements compute.Function.
func (f *Function) Sort(comparator compute.Function, axis int, stable bool, inputs ...compute.Value) (
	[]compute.Value, error) {
	outs, err := f.shapesOf(inputs)
	if err != nil {
		return nil, fmt.Errorf("Sort: %w", err)
	}
	if len(outs) == 0 {
		return nil, fmt.Errorf("Sort: nothing to sort")
	}
	if axis < 0 {
		axis += outs[0].Rank()
	}
	if axis < 0 || axis >= outs[0].Rank() {
		return nil, fmt.Errorf("Sort: axis %d of %s", axis, outs[0])
	}
	// The comparator takes pairs, lhs and rhs of each operand in turn: what GoMLX passes and XLA
	// wants, whatever the comment on the interface says.
	var params []shapes.Shape
	for _, s := range outs {
		if !s.EqualDimensions(outs[0]) {
			return nil, fmt.Errorf("Sort: operands differ in shape: %s and %s", outs[0], s)
		}
		params = append(params, shapes.Make(s.DType), shapes.Make(s.DType))
	}
	if err := f.signature(compute.OpTypeSort, comparator, params, scalarBool); err != nil {
		return nil, err
	}
	return f.run(compute.OpTypeSort, ir.Sort{Axis: axis, Stable: stable}, inputs, outs, comparator)
}

// Call implements compute.Function.
func (f *Function) Call(callee compute.Function, inputs ...compute.Value) ([]compute.Value, error) {
	fn, _, err := f.closure(compute.OpTypeCall, callee)
	if err != nil {
		return nil, err
	}
	if fn.fn.Name == "" || fn == f.b.main {
		return nil, fmt.Errorf("Call: %q is not a named function", fn.fn.Name)
	}
	ins, err := f.shapesOf(inputs)
	if err != nil {
		return nil, fmt.Errorf("Call: %w", err)
	}
	var outs []shapes.Shape
	for _, r := range fn.fn.Results {
		outs = append(outs, r.Shape)
	}
	if err := f.signature(compute.OpTypeCall, callee, ins, outs); err != nil {
		return nil, err
	}
	return f.run(compute.OpTypeCall, nil, inputs, outs, callee)
}

// OptimizationBarrier implements compute.Function: a node for each operand that no pass looks
// through.
func (f *Function) OptimizationBarrier(operands ...compute.Value) ([]compute.Value, error) {
	outs := make([]compute.Value, len(operands))
	for i, o := range operands {
		vs, err := f.values(compute.OpTypeOptimizationBarrier, o)
		if err != nil {
			return nil, err
		}
		if outs[i], err = result(f.add(ir.NewNode(compute.OpTypeOptimizationBarrier, nil, vs, vs[0].Shape))); err != nil {
			return nil, err
		}
	}
	return outs, nil
}

// SchedulingBarrier implements compute.Function.
func (f *Function) SchedulingBarrier(operand compute.Value, deps ...compute.Value) (compute.Value, error) {
	vs, err := f.values(compute.OpTypeSchedulingBarrier, append([]compute.Value{operand}, deps...)...)
	if err != nil {
		return nil, err
	}
	return result(f.add(ir.NewNode(compute.OpTypeSchedulingBarrier, nil, vs, vs[0].Shape)))
}

// AllReduce implements compute.Function: a node for each operand.
func (f *Function) AllReduce(operands []compute.Value, kind compute.ReduceOpType, groups [][]int) ([]compute.Value, error) {
	op := compute.OpTypeAllReduce
	replicas := f.b.module.Replicas
	for _, g := range groups {
		for _, r := range g {
			if r < 0 || r >= replicas {
				return nil, fmt.Errorf("%s: replica %d of %d", op, r, replicas)
			}
		}
	}
	if replicas == 0 {
		return nil, fmt.Errorf("%s: the computation is not on several devices", op)
	}
	vs, err := f.values(op, operands...)
	if err != nil {
		return nil, err
	}
	outs := make([]compute.Value, len(vs))
	for i, v := range vs {
		attr := ir.Collective{Kind: kind, Groups: groups}
		if outs[i], err = result(f.add(ir.NewNode(op, attr, []*ir.Value{v}, v.Shape))); err != nil {
			return nil, err
		}
	}
	return outs, nil
}
