package record

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/notimplemented"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
)

// Function records the operations of one function or closure.
type Function struct {
	notimplemented.Function
	b        *Builder
	parent   *Function
	fn       *ir.Func
	returned bool

	imported map[*ir.Value]*ir.Value // values of other functions, to their stand-ins here
	sources  []*value                // outer value, by capture of fn
}

var _ compute.Function = (*Function)(nil)

// value is the compute.Value of this builder: an IR value and the function it belongs to.
type value struct {
	*ir.Value
	f *Function
}

// Name implements compute.Function.
func (f *Function) Name() string { return f.fn.Name }

// Builder implements compute.Function.
func (f *Function) Builder() compute.Builder { return f.b }

// Parent implements compute.Function.
func (f *Function) Parent() compute.Function {
	if f.parent == nil {
		return nil
	}
	return f.parent
}

// Closure implements compute.Function.
func (f *Function) Closure() (compute.Function, error) { return f.b.newFunction("", f), nil }

// Shape implements compute.Function.
func (f *Function) Shape(v compute.Value) (shapes.Shape, error) {
	val, ok := v.(*value)
	if !ok || val == nil {
		return shapes.Invalid(), fmt.Errorf("%T is not a value of this builder", v)
	}
	return val.Value.Shape, nil
}

// Parameter implements compute.Function.
func (f *Function) Parameter(name string, shape shapes.Shape, sharding *compute.ShardingSpec) (compute.Value, error) {
	if shape.IsDynamic() {
		return nil, fmt.Errorf("parameter %q: dynamic axes in %s: %w", name, shape, compute.ErrNotImplemented)
	}
	axis, err := f.cut(sharding, shape)
	if err != nil {
		return nil, fmt.Errorf("parameter %q: %w", name, err)
	}
	out, err := f.add(ir.NewNode(compute.OpTypeParameter, ir.Param{Name: name}, nil, shape))
	if err == nil {
		f.fn.Params = append(f.fn.Params, out.Value)
		if s := f.b.module.Split; s != nil && f == f.b.main {
			s.Params = append(s.Params, axis)
		}
	}
	return result(out, err)
}

// cut returns the axis along which a parameter or result is shared out, which only main's can be.
func (f *Function) cut(spec *compute.ShardingSpec, shape shapes.Shape) (int, error) {
	axis, err := f.b.cut(spec, shape)
	if err == nil && axis != ir.Whole && f != f.b.main {
		err = fmt.Errorf("sharding inside of a computation: %w", compute.ErrNotImplemented)
	}
	return axis, err
}

// Constant implements compute.Function; it copies flat.
func (f *Function) Constant(flat any, dims ...int) (compute.Value, error) {
	t := reflect.TypeOf(flat)
	if t == nil || t.Kind() != reflect.Slice {
		return nil, fmt.Errorf("constant: %T is not a slice", flat)
	}
	shape := shapes.Make(dtypes.FromGoType(t.Elem()), dims...)
	data := ir.BytesOf(flat)
	if shape.Size()*int(t.Elem().Size()) != len(data) {
		return nil, fmt.Errorf("constant: %d values for shape %s", reflect.ValueOf(flat).Len(), shape)
	}
	own := ir.AlignedBytes(len(data))
	copy(own, data)
	return result(f.add(ir.NewConst(shape, own)))
}

// Return implements compute.Function.
func (f *Function) Return(outputs []compute.Value, shardings []*compute.ShardingSpec) error {
	if f.returned {
		return fmt.Errorf("function %q has returned before", f.Name())
	}
	vs, err := f.values(compute.OpTypeInvalid, outputs...)
	if err != nil {
		return fmt.Errorf("return: %w", err)
	}
	axes := make([]int, len(vs))
	for i, v := range vs {
		var spec *compute.ShardingSpec
		if i < len(shardings) {
			spec = shardings[i]
		}
		if axes[i], err = f.cut(spec, v.Shape); err != nil {
			return fmt.Errorf("return: result %d: %w", i, err)
		}
	}
	if s := f.b.module.Split; s != nil && f == f.b.main {
		s.Results = axes
	}
	f.fn.Results = vs
	f.returned = true
	return nil
}

// add appends a node after checking that the function is open and the element types are known.
func (f *Function) add(n *ir.Node) (*value, error) {
	if f.returned || f.b.compiled {
		return nil, fmt.Errorf("%s: function %q has already returned", n.Op, f.Name())
	}
	for _, v := range append(slices.Clone(n.Outputs), n.Inputs...) {
		if err := CheckDType(n.Op, v.DType()); err != nil {
			return nil, err
		}
	}
	f.fn.Add(n)
	return &value{n.Outputs[0], f}, nil
}

// CheckDType returns the not-implemented error for element types that are not recorded.
func CheckDType(op compute.OpType, d dtypes.DType) error {
	if d == dtypes.Bool || (d.IsInt() || d.IsFloat()) && !d.IsPacked() && d.Size() > 0 && d != dtypes.InvalidDType {
		if !slices.Contains(unsupported, d) {
			return nil
		}
	}
	return fmt.Errorf("%s of %s: %w", op, d, compute.ErrNotImplemented)
}

var unsupported = func() (ds []dtypes.DType) {
	for _, d := range dtypes.DTypeValues() {
		switch d {
		case dtypes.Bool, dtypes.Int8, dtypes.Int16, dtypes.Int32, dtypes.Int64, dtypes.Uint8, dtypes.Uint16,
			dtypes.Uint32, dtypes.Uint64, dtypes.Float16, dtypes.BFloat16, dtypes.Float32, dtypes.Float64:
		default:
			ds = append(ds, d)
		}
	}
	return ds
}()

// result keeps a nil *value from becoming a non-nil compute.Value.
func result(v *value, err error) (compute.Value, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// results wraps all outputs of the node that v came from.
func (f *Function) results(v *value, err error) ([]compute.Value, error) {
	if err != nil {
		return nil, err
	}
	outs := make([]compute.Value, len(v.Node.Outputs))
	for i, o := range v.Node.Outputs {
		outs[i] = &value{o, f}
	}
	return outs, nil
}

// values brings operands into this function's scope.
func (f *Function) values(op compute.OpType, ops ...compute.Value) ([]*ir.Value, error) {
	vs := make([]*ir.Value, len(ops))
	for i, o := range ops {
		v, ok := o.(*value)
		if !ok || v == nil {
			return nil, fmt.Errorf("%s: operand %d: %T is not a value of this builder", op, i, o)
		}
		if v.f.b != f.b {
			return nil, fmt.Errorf("%s: operand %d belongs to computation %q", op, i, v.f.b.Name())
		}
		var err error
		if vs[i], err = f.bring(v); err != nil {
			return nil, fmt.Errorf("%s: operand %d: %w", op, i, err)
		}
	}
	return vs, nil
}

// bring returns what stands for v in this function; see the package comment.
func (f *Function) bring(v *value) (*ir.Value, error) {
	if v.f == f {
		return v.Value, nil
	}
	if here, ok := f.imported[v.Value]; ok {
		return here, nil
	}
	here, err := f.stand(v)
	if err == nil {
		f.imported[v.Value] = here
	}
	return here, err
}

func (f *Function) stand(v *value) (*ir.Value, error) {
	switch {
	case v.Node.Op == compute.OpTypeConstant:
		return f.fn.Add(ir.NewNode(v.Node.Op, v.Node.Attr, nil, v.Value.Shape)), nil
	case v.f.returned:
		return f.again(v)
	case f.Name() != "":
		if f == f.b.main {
			return nil, fmt.Errorf("the result of %s is of a closure still being built", v.Node.Op)
		}
		return nil, fmt.Errorf("function %q cannot capture values; pass them as parameters", f.Name())
	}
	here := f.fn.Add(ir.NewNode(compute.OpTypeCapturedValue, nil, nil, v.Value.Shape))
	f.fn.Captures = append(f.fn.Captures, here)
	f.sources = append(f.sources, v)
	return here, nil
}

// again records the node of v, a value of a function that has returned, once more in this function.
func (f *Function) again(v *value) (*ir.Value, error) {
	n := v.Node
	switch n.Op {
	case compute.OpTypeParameter:
		return nil, fmt.Errorf("it depends on a parameter of another function")
	case compute.OpTypeCapturedValue:
		return f.bring(v.f.sources[slices.Index(v.f.fn.Captures, v.Value)])
	}
	inputs := make([]*ir.Value, len(n.Inputs))
	for i, in := range n.Inputs {
		var err error
		if inputs[i], err = f.bring(&value{in, v.f}); err != nil {
			return nil, err
		}
	}
	copied := &ir.Node{Op: n.Op, Attr: n.Attr, Inputs: inputs, Funcs: n.Funcs}
	for i, o := range n.Outputs {
		copied.Outputs = append(copied.Outputs, &ir.Value{Node: copied, Index: i, Shape: o.Shape})
		f.imported[o] = copied.Outputs[i]
	}
	f.fn.Add(copied)
	return copied.Outputs[v.Index], nil
}
