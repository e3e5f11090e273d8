package engine

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// legalise rewrites, in place, what the engine has no step for into what it has: sums and products
// of 16-bit floats are done in float32 and rounded at the end, and convolutions get their axes in
// the one order there are kernels for.
func legalise(f *ir.Func) {
	f.Closures(func(c *ir.Func) { legaliseFunc(c) })
	legaliseFunc(f)
}

func legaliseFunc(f *ir.Func) {
	r := &rewriter{out: make([]*ir.Node, 0, len(f.Nodes)), env: map[*ir.Value]*ir.Value{}}
	for _, n := range f.Nodes {
		for i, v := range n.Inputs {
			n.Inputs[i] = r.get(v)
		}
		r.node(n)
	}
	f.Nodes = r.out
	for i, v := range f.Results {
		f.Results[i] = r.get(v)
	}
	f.Renumber()
}

// rewriter builds a new list of nodes; env says what replaces a value.
type rewriter struct {
	out []*ir.Node
	env map[*ir.Value]*ir.Value
}

func (r *rewriter) get(v *ir.Value) *ir.Value {
	if w, ok := r.env[v]; ok {
		return w
	}
	return v
}

func (r *rewriter) add(n *ir.Node) *ir.Value {
	r.out = append(r.out, n)
	return n.Outputs[0]
}

func (r *rewriter) node(n *ir.Node) {
	if half := n.Outputs[0].DType(); half.IsHalfPrecision() && op.Of(n.Op).Wide != op.Never {
		r.widen(n, half)
		return
	}
	if n.Op == compute.OpTypeArgMinMax && n.Inputs[0].DType().IsHalfPrecision() {
		n.Inputs[0] = r.convert(n.Inputs[0], dtypes.Float32)
	}
	if n.Op == compute.OpTypeConvGeneral {
		r.env[n.Outputs[0]] = r.convolution(n)
		return
	}
	r.add(n)
}

func (r *rewriter) convert(v *ir.Value, to dtypes.DType) *ir.Value {
	return r.add(ir.NewNode(compute.OpTypeConvertDType, nil, []*ir.Value{v}, shapes.Make(to, v.Shape.Dimensions...)))
}

// widen does the node in float32.
func (r *rewriter) widen(n *ir.Node, half dtypes.DType) {
	inputs := make([]*ir.Value, len(n.Inputs))
	for i, v := range n.Inputs {
		inputs[i] = v
		if v.DType() == half {
			inputs[i] = r.convert(v, dtypes.Float32)
		}
	}
	wide := ir.NewNode(n.Op, n.Attr, inputs, shapes.Make(dtypes.Float32, n.Outputs[0].Shape.Dimensions...))
	r.node(wide)
	r.env[n.Outputs[0]] = r.convert(r.get(wide.Outputs[0]), half)
}

func (r *rewriter) transpose(v *ir.Value, axes []int) *ir.Value {
	if slices.IsSorted(axes) {
		return v
	}
	dims := make([]int, len(axes))
	for i, a := range axes {
		dims[i] = v.Shape.Dimensions[a]
	}
	return r.add(ir.NewNode(compute.OpTypeTranspose, ir.Axes{Axes: axes}, []*ir.Value{v}, shapes.Make(v.DType(), dims...)))
}

// convolution brings the operands into the order [batch, spatial..., channels] and [spatial...,
// channels, features], and the output back into the order asked for.
func (r *rewriter) convolution(n *ir.Node) *ir.Value {
	a := n.Attr.(ir.Conv)
	x := a.Axes
	in := r.transpose(n.Inputs[0], slices.Concat([]int{x.InputBatch}, x.InputSpatial, []int{x.InputChannels}))
	k := r.transpose(n.Inputs[1], slices.Concat(x.KernelSpatial, []int{x.KernelInputChannels, x.KernelOutputChannels}))
	order := slices.Concat([]int{x.OutputBatch}, x.OutputSpatial, []int{x.OutputChannels})
	out := n.Outputs[0]
	dims, back := make([]int, len(order)), make([]int, len(order))
	for i, o := range order {
		dims[i] = out.Shape.Dimensions[o]
		back[o] = i
	}
	a.Axes = plainAxes(len(order) - 2)
	y := r.add(ir.NewNode(n.Op, a, []*ir.Value{in, k}, shapes.Make(out.DType(), dims...)))
	return r.transpose(y, back)
}

func plainAxes(spatial int) compute.ConvolveAxesConfig {
	c := compute.ConvolveAxesConfig{InputChannels: spatial + 1, KernelInputChannels: spatial,
		KernelOutputChannels: spatial + 1, OutputChannels: spatial + 1}
	for i := range spatial {
		c.InputSpatial = append(c.InputSpatial, i+1)
		c.KernelSpatial = append(c.KernelSpatial, i)
		c.OutputSpatial = append(c.OutputSpatial, i+1)
	}
	return c
}
