package rl

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

//   - Gradients are applied once. Apply takes their memory over; a second use is an error.
//   - What an estimator's numbers are is an input, not a part of its program, so that a schedule
//     compiles nothing.

// Rule is the arithmetic of an optimiser, as graph code: package nn has Adam,
// RMSProp, SGD and clipping.
//
// A rule sees all parameters as one vector, tensor after tensor in the order of the networks and of
// their paths: it treats every number alike, and a quantity over all of them, such as a norm, is
// one reduction in a fixed order.
type Rule interface {
	// Slots are the names of the vectors kept beside the parameters.
	Slots() []string
	// Update is one step. count is the number of this update, from 1, as a
	// float64 scalar; lr a float32 scalar.
	Update(params, grads *graph.Node, slots []*graph.Node, lr, count *graph.Node) (newParams *graph.Node, newSlots []*graph.Node)
}

// Opt applies gradients to parameters by a rule, and keeps the rule's slots.
//
//weft:component optimiser axis=none home=apply
type Opt struct {
	name  string
	scope *Scope
	rule  Rule
	of    []*Params
	slots []Tensor // one vector each
	count Counter
	prog  *program
}

// NewOpt returns an optimiser of the given parameters.
//
//weft:makes name=1 parameters=3
func NewOpt(s *Scope, name string, rule Rule, of ...*Params) *Opt {
	if len(of) == 0 {
		failf("optimiser %q has no parameters to optimise", name)
	}
	s.own(of)
	o := &Opt{name: name, scope: s, rule: rule, of: of}
	size := 0
	for _, p := range of {
		size += p.Size()
	}
	vector := shapes.Make(dtypes.Float32, size)
	for range rule.Slots() {
		o.slots = append(o.slots, s.dev.from(makeFlat(vector), vector))
	}
	s.Register(name, o)
	return o
}

// Count returns the number of updates so far: the learner's own clock.
//
//weft:op read reads shape=one device=edge.CountAt
func (o *Opt) Count() int64 { return o.count.Int64() }

// Apply makes one step against g with learning rate lr. If no row of the batch
// had any weight there is no step, not even by momentum.
//
//weft:op apply writes params rows device=edge.ApplyAt number=1
func (o *Opt) Apply(g Grads, lr float64) {
	if g.weight.node != nil {
		o.applyAt(g, Scalar(lr))
		return
	}
	o.check(g)
	*g.spent = true
	w := o.scope.Observed()
	if w == nil {
		o.apply(g, lr)
		return
	}
	if !w.Values() {
		o.apply(g, lr)
		w.End(Operation{Kind: "rl.Opt.Apply", Name: o.name})
		return
	}
	in := append(g.leaves(), Leaf{"lr", scalar64(lr)})
	for i, l := range in { // apply reuses their memory
		in[i].Tensor = constantOf(l.Shape(), slices.Clone(bytesOf(l.Tensor)))
	}
	o.apply(g, lr)
	w.End(Operation{Kind: "rl.Opt.Apply", Name: o.name, In: in, Out: leavesOf(o.of)})
}

// apply does what Apply does on values.
func (o *Opt) apply(g Grads, lr float64) {
	if Floats(g.weight)[0] == 0 {
		return
	}
	in := append([]Tensor{g.weight, Scalar(lr), scalar64(float64(o.count.n + 1))}, g.sums...)
	in = append(in, o.slots...)
	if o.prog == nil {
		o.prog = compile(&Ctx{dev: o.scope.dev, scope: o.scope}, o.name, in, o.trace)
	}
	out := o.prog.run(Key{}, in)
	for _, p := range o.of {
		n := len(p.cells)
		p.update(out[:n])
		out = out[n:]
	}
	// Nobody else has these, and there are as many again with the next update.
	recycle(g.sums)
	recycle(o.slots)
	o.slots = out
	o.count.Add(1)
}

// applyAt does what Apply does inside a device program, with a learning rate that may be a
// graph value.
func (o *Opt) applyAt(g Grads, lr Tensor) {
	c := ctxOf([]Tensor{g.weight})
	if c == nil {
		failf("optimiser %q: gradients of the loop itself are applied by Apply", o.name)
	}
	o.check(g)
	*g.spent = true
	count := graph.AddScalar(o.count.in.Node(), int64(1))
	in := append([]Tensor{g.weight, lr, Wrap(graph.ConvertDType(count, dtypes.Float64))}, g.sums...)
	out := o.trace(c, c.lift(append(in, o.slots...)))
	// Without any weight there is no step.
	step := graph.NotEqual(g.weight.node, graph.ZerosLike(g.weight.node))
	for _, p := range o.of {
		next := chosen(step, out[:len(p.cells)], p.Tensors())
		carriedParams{Params: p}.carry(next)
		p.version++
		out = out[len(p.cells):]
	}
	o.slots = chosen(step, out, o.slots)
	o.count.put(Wrap(graph.Where(step, count, o.count.in.node)))
}

// chosen returns the first tensors where a scalar is true, and the others elsewhere.
func chosen(yes *graph.Node, a, b []Tensor) []Tensor {
	out := make([]Tensor, len(a))
	for i := range a {
		x := a[i].Node()
		out[i] = Wrap(graph.Where(graph.BroadcastToShape(yes, shapes.Make(dtypes.Bool, x.Shape().Dimensions...)), x, b[i].Node()))
	}
	return out
}

func (o *Opt) check(g Grads) {
	same := len(g.of) == len(o.of)
	for i := range g.of {
		same = same && g.of[i] == o.of[i]
	}
	if !same {
		failf("optimiser %q is given gradients of other parameters than its own", o.name)
	}
	if *g.spent {
		failf("optimiser %q is given gradients that were applied before", o.name)
	}
}

// trace builds the division by the summed weight, and the rule's step.
func (o *Opt) trace(c *Ctx, in []Tensor) []Tensor {
	weight, lr, count := in[0].Node(), in[1].Node(), in[2].Node()
	in = in[3:]
	var params, sums []*graph.Node
	for _, p := range o.of {
		for _, v := range p.vars {
			params = append(params, v.NodeValue(c.graph))
			sums = append(sums, in[len(sums)].Node())
		}
	}
	var slots []*graph.Node
	for _, s := range in[len(sums):] {
		slots = append(slots, s.Node())
	}
	vector, slots := o.rule.Update(row(params), graph.Div(row(sums), weight), slots, lr, count)
	var out []Tensor
	for at, p := 0, params; len(p) > 0; p = p[1:] {
		end := at + p[0].Shape().Size()
		part := graph.Slice(vector, graph.AxisRange(at, end))
		out = append(out, Wrap(graph.Reshape(part, p[0].Shape().Dimensions...)))
		at = end
	}
	for _, s := range slots {
		out = append(out, Wrap(s))
	}
	return out
}

// row returns tensors one after another, as a vector.
func row(x []*graph.Node) *graph.Node {
	flat := make([]*graph.Node, len(x))
	for i, n := range x {
		flat[i] = graph.Reshape(n, n.Shape().Size())
	}
	return graph.Concatenate(flat, 0)
}

func scalarInt(x int64) Tensor {
	return constantOf(shapes.Make(dtypes.Int64), []int64{x})
}

func scalar64(x float64) Tensor {
	return Tensor{val: &value{shape: &scalarDouble, flat: []float64{x}}}
}

// Axis returns that an optimiser cannot be split.
func (o *Opt) Axis() Axis { return None }

// Save puts slots and count.
func (o *Opt) Save(s *State) {
	PutSlice(s, "count", []int64{o.count.n})
	for i, name := range o.rule.Slots() {
		s.Put(name, o.slots[i])
	}
}

// Load restores what Save saved.
func (o *Opt) Load(s *State) error {
	count := GetSliceN[int64](s, "count", 1)
	slots := make([]Tensor, len(o.slots))
	for i, name := range o.rule.Slots() {
		slots[i] = s.GetLike(name, o.slots[i])
	}
	if s.Err() == nil {
		o.count.Set(count[0])
		o.slots = slots
	}
	return s.Err()
}
