package rl

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
)

// Loss is a graph function to be minimised. It returns a loss and a weight for every row. Grad
// differentiates sum(weight*loss)/sum(weight) over all rows of all learners, so that unequal
// shards, masks and padded sequences are exact. An absent weight counts as 1 everywhere.
//
//weft:component loss
type Loss[I, A any] struct{ fn lossFunction }

// NewLoss declares a loss of the parameters wrt. What f reads of other
// parameters is held fixed.
//
//weft:makes name=1 function=2 parameters=3
func NewLoss[I, A any](s *Scope, name string, f func(*Ctx, I) (loss, weight Tensor, aux A), wrt ...*Params) *Loss[I, A] {
	mustCodec[I]()
	mustCodec[A]()
	if len(wrt) == 0 {
		failf("loss %q: no parameters are given: name those to train", name)
	}
	s.own(wrt)
	return &Loss[I, A]{lossFunction{name: name, number: s.declare(), scope: s, author: f, wrt: wrt,
		build: func(c *Ctx, in packed) (loss, weight Tensor, aux packed) {
			loss, weight, more := f(c, unpack[I](in))
			return loss, weight, pack(more)
		}}}
}

// Grad differentiates the loss on a batch. aux holds the loss function's further results.
//
//weft:op gradient graph
func (l *Loss[I, A]) Grad(k Key, in I) (g Grads, aux A) {
	g, more := l.fn.Grad(k, pack(in))
	return g, unpack[A](more)
}

// lossFunction is a Loss without the types of its arguments and results: see function.
type lossFunction struct {
	name   string
	number int // number in its scope
	scope  *Scope
	author any // function as its author wrote it
	build  func(*Ctx, packed) (loss, weight Tensor, aux packed)
	wrt    []*Params
	cache  programs

	padded programs
	checks rowChecks
	noPad  bool // what else it returns is not by row, so that rows cannot be told apart
}

// Grads is the derivative of a loss: sums over the rows of one learner, and the
// weight that they are to be divided by once all learners' are added up. They
// are applied once: the optimiser takes them over, memory and all.
//
//weft:gradient
type Grads struct {
	of     []*Params
	sums   []Tensor
	weight Tensor
	spent  *bool
}

// leaves returns the weight and the sums, named after the parameters.
func (g Grads) leaves() []Leaf {
	out := []Leaf{{"weight", g.weight}}
	i := 0
	for _, p := range g.of {
		for _, path := range p.Paths() {
			out = append(out, Leaf{p.name + "/" + path, g.sums[i]})
			i++
		}
	}
	return out
}

// Grad differentiates the loss as Loss's Grad does.
func (l *lossFunction) Grad(k Key, in packed) (g Grads, aux packed) {
	if c := l.scope.under(in.leaves); c != nil && c.lower != nil && !c.lower.inCall {
		return l.lowered(c, k, in.with(c.lift(in.leaves)))
	} else if c != nil {
		failf("loss %q is differentiated in the loop, not inside a graph function", l.name)
	}
	alongside("loss", l.name, in.leaves)
	o, k := l.scope.Observed(), k.of(in.leaves)
	if own := l.scope.sharded(); own != nil && leadOf(in.leaves) != own.Len() {
		g, aux = l.gradPadded(k, in, leadOf(in.leaves))
	} else {
		g, aux = l.grad(k, in)
	}
	if o != nil { // before several learners' are added up
		op := Operation{Kind: "rl.Loss.Grad", Name: l.name, Number: l.number}
		if op.Size = in.size(); o.Values() {
			op.In, op.Out = in.named(), append(g.leaves(), aux.named()...)
		}
		o.End(op)
	}
	if m := l.scope.dev.together; m != nil {
		g.weight, g.sums = m.Sum(g.weight, g.sums)
	}
	return g, aux
}

func (l *lossFunction) grad(k Key, in packed) (g Grads, aux packed) {
	e := l.cache.find(in.leaves, func() (*program, packed) {
		only := l.split(in)
		var like packed
		p := compile(&Ctx{dev: l.scope.dev, scope: l.scope}, l.name, in.leaves, func(c *Ctx, nodes []Tensor) (out []Tensor) {
			out, like = l.trace(c, in.with(nodes), nil)
			return out
		})
		p.only = only
		return p, like
	})
	l.placed(k, e, leadOf(in.leaves))
	return l.result(e, e.run(k, in.leaves))
}

// placed fails if the loss draws for rows of which a replica does not know the places in the whole
// batch: other numbers would be drawn than one learner draws.
func (l *lossFunction) placed(k Key, e *compiled, rows int) {
	if !k.places(rows) && slices.ContainsFunc(e.draws, func(d draw) bool { return !d.shared }) {
		failf("loss %q draws random numbers for rows of a minibatch that several learners share out, which may be any of its rows: "+
			"draw them before in a function of the whole batch, or use a policy with one learner", l.name)
	}
}

// result makes gradients of a program's outputs.
func (l *lossFunction) result(e *compiled, out []Tensor) (g Grads, aux packed) {
	rows, weight, sums := out[0], out[1], out[2:2+l.tensors()]
	g = Grads{of: l.wrt, sums: sums, weight: weight, spent: new(bool)}
	l.guard(rows, weight, sums)
	return g, e.like.with(out[2+len(sums):])
}

// lowered does what Grad does inside a device program.
func (l *lossFunction) lowered(c *Ctx, k Key, in packed) (g Grads, aux packed) {
	if l.scope.sharded() != nil {
		failf("loss %q is of a part of the rows: their number may be another in every batch", l.name)
	}
	var out []Tensor
	l.apart(func() { c.lower.call(k, rowsOf(in.leaves), func() { out, aux = l.trace(c, in, nil) }) })
	sums := out[2 : 2+l.tensors()]
	loss := out[0]
	if c.dev.kernels { // rows that are computed inside of a kernel come out as sums
		loss = Wrap(graph.ReduceAllSum(loss.Node()))
	}
	c.lower.Finite(fmt.Sprintf("loss %q or its gradient", l.name), append([]Tensor{loss, out[1]}, sums...))
	return Grads{of: l.wrt, sums: sums, weight: out[1], spent: new(bool)}, aux
}

// apart gives the parameters nodes of their own while a loss is built. What the
// loop computed from them before, the loss's input for one, does not depend on
// these, so that it is held fixed as it is outside of a device program.
func (l *lossFunction) apart(build func()) {
	for _, p := range l.wrt {
		old := p.Tensors()
		own := make([]Tensor, len(old))
		for i, t := range old {
			own[i] = Wrap(graph.Identity(t.Node()))
		}
		carriedParams{Params: p}.carry(own)
		defer carriedParams{Params: p}.carry(old)
	}
	build()
}

// trace builds the outputs: loss by row, weight, gradients, aux. mask is 0 for
// rows that are not to count, and may be nil.
func (l *lossFunction) trace(c *Ctx, in packed, mask *graph.Node) ([]Tensor, packed) {
	loss, weight, aux := l.build(c, in)
	x := loss.Node()
	w := graph.OnesLike(x)
	if weight.Ok() {
		w = weight.Node()
		if !w.Shape().Equal(x.Shape()) {
			failf("the weight has shape %s, the loss %s: there is one for each row", w.Shape(), x.Shape())
		}
	}
	if mask != nil {
		for mask.Rank() < w.Rank() {
			mask = graph.ExpandAxes(mask, -1)
		}
		w = graph.Mul(w, graph.ConvertDType(graph.BroadcastToDims(mask, w.Shape().Dimensions...), w.DType()))
	}
	var wrt []*graph.Node
	for _, p := range l.wrt {
		for _, v := range p.vars {
			wrt = append(wrt, v.NodeValue(c.graph))
		}
	}
	out := []Tensor{loss, Wrap(graph.ReduceAllSum(w))}
	for _, d := range graph.Gradient(graph.ReduceAllSum(graph.Mul(x, w)), wrt...) {
		out = append(out, Wrap(d))
	}
	return append(out, aux.leaves...), aux
}

func (l *lossFunction) tensors() int {
	n := 0
	for _, p := range l.wrt {
		n += len(p.vars)
	}
	return n
}

// guard stops the run when a loss or a gradient is not a number, before an
// optimiser can spread it.
func (l *lossFunction) guard(loss, weight Tensor, sums []Tensor) {
	if i, x, bad := notFinite(loss); bad {
		row := i / (loss.Shape().Size() / loss.Rows())
		Failf("step %d: loss %q is %v in row %d", l.scope.steps, l.name, x, row)
	}
	if w := Floats(weight)[0]; !(w >= 0 && w <= math.MaxFloat64) {
		Failf("step %d: the weights of loss %q add up to %v", l.scope.steps, l.name, w)
	}
	j := 0
	for _, p := range l.wrt {
		for _, c := range p.cells {
			if i, x, bad := notFinite(sums[j]); bad {
				Failf("step %d: gradient of %s/%s in loss %q is %v (element %d)", l.scope.steps, p.name, c.path, l.name, x, i)
			}
			j++
		}
	}
}

// notFinite finds the first NaN or infinity of a float tensor.
func notFinite(t Tensor) (at int, x float64, bad bool) {
	switch t.Shape().DType {
	case dtypes.Float32:
		for i, x := range Read[float32](t) {
			if x-x != 0 { // true for NaN and both infinities, and cheap
				return i, float64(x), true
			}
		}
	case dtypes.Float64:
		for i, x := range Read[float64](t) {
			if x-x != 0 {
				return i, x, true
			}
		}
	}
	return 0, 0, false
}

// NotFinite finds the first NaN or infinity in a tensor of floats; bad is false
// if there is none.
//
//weft:op batch whole host
func NotFinite(t Tensor) (at int, x float64, bad bool) { return notFinite(t) }
