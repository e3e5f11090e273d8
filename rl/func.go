package rl

import (
	"sync"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/internal/subgraph"
)

// Func is a graph function: arithmetic on a batch, written with GoMLX and compiled once for each
// combination of input shapes. I and O are structs of tensors. Each row of the outputs depends only
// on the same row of the inputs, unless the author says otherwise, so that a policy can split a
// batch.
//
//weft:component function
type Func[I, O any] struct {
	name   string
	number int // number in its scope
	scope  *Scope
	build  func(*Ctx, I) O
	cache  programs[O]
	masks  programs[O] // the mask of calls for some rows, behind the inputs

	checks rowChecks
}

// NewFunc declares a graph function. f must be a declared function or method, because the compiler
// reads its source. The field that holds the result must be assigned once.
//
//weft:makes name=1 function=2
func NewFunc[I, O any](s *Scope, name string, f func(*Ctx, I) O) *Func[I, O] {
	mustCodec[I]()
	mustCodec[O]()
	return &Func[I, O]{name: name, number: s.declare(), scope: s, build: f}
}

// Call runs the function on a batch. The key names the random numbers that it
// draws; the zero key is for functions that draw none.
//
//weft:op call graph turns
func (f *Func[I, O]) Call(k Key, in I) O {
	o := f.scope.Observed()
	out := f.call(k, in)
	if o != nil {
		op := Operation{Kind: "rl.Func.Call", Name: f.name, Number: f.number}
		if op.Size = sizeOf(in); o.Values() {
			op.In, op.Out = NamedLeaves("", in), NamedLeaves("", out)
		}
		o.End(op)
	}
	return out
}

func (f *Func[I, O]) call(k Key, in I) O {
	leaves := Leaves(in)
	if c := f.scope.under(leaves); c != nil {
		return f.inline(c, k, Rebuild(in, c.lift(leaves)))
	}
	alongside("function", f.name, leaves)
	if m := f.scope.dev.together; m != nil && m.Whole(f.name) {
		leaves = allRows(m, leaves)
	}
	if noRows(leaves) {
		return f.none(in, leaves)
	}
	if out, ok := f.inTurns(k, in, leaves, nil, func(k Key, in I, _ []Tensor) O { return f.Call(k, in) }); ok {
		return out
	}
	e := f.compiled(in, leaves)
	return Rebuild(e.like, e.run(k, leaves))
}

func (f *Func[I, O]) compiled(in I, leaves []Tensor) *compiled[O] {
	return f.cache.find(leaves, func() (*program, O) {
		only := f.split(in, leaves)
		var out O
		p := compile(&Ctx{dev: f.scope.dev, scope: f.scope}, f.name, leaves, func(c *Ctx, nodes []Tensor) []Tensor {
			out = f.build(c, Rebuild(in, nodes))
			return Leaves(out)
		})
		p.only = only
		return p, out
	})
}

// inline builds the function into a graph. In a device program it is a call of the
// loop, with a key of its own, unless another graph function makes it.
func (f *Func[I, O]) inline(c *Ctx, k Key, in I) (out O) {
	if c.lower == nil || c.lower.inCall {
		return f.build(c, in)
	}
	c.lower.call(k, rowsOf(Leaves(in)), func() { out = f.build(c, in) })
	return out
}

// Rows does what Call does for the rows where mask is true, and zero elsewhere. When mask is
// false everywhere nothing is computed.
//
//weft:op call graph turns
func (f *Func[I, O]) Rows(mask Tensor, k Key, in I) O {
	o := f.scope.Observed()
	out := f.rows(mask, k, in)
	if o != nil {
		o.End(f.masking("rl.Func.Rows", o, mask, in, out))
	}
	return out
}

func (f *Func[I, O]) rows(mask Tensor, k Key, in I) O {
	leaves := Leaves(in)
	if out, ok := f.inTurns(k, in, leaves, []Tensor{mask}, func(k Key, in I, also []Tensor) O { return f.Rows(also[0], k, in) }); ok {
		return out
	}
	if mask.node == nil && ctxOf(leaves) == nil && !anyTrue(mask) {
		e := f.cache.any(leaves)
		if e == nil {
			e = f.masks.any(append(leaves[:len(leaves):len(leaves)], mask))
		}
		if e != nil {
			return Rebuild(e.like, e.zeros())
		}
	}
	if c := f.scope.under([]Tensor{mask}); c != nil && c.branches() {
		return unless(c, mask, func() O { return f.masked(mask, k, in) }, nil)
	}
	return f.masked(mask, k, in)
}

func (f *Func[I, O]) masked(mask Tensor, k Key, in I) O {
	leaves, dev := Leaves(in), f.scope.dev
	if !dev.shared && dev.together == nil && mask.node == nil && ctxOf(leaves) == nil && !noRows(leaves) {
		return f.maskedThere(mask, k, in, leaves)
	}
	return Map(f.call(k, in), func(x Tensor) Tensor { return Select(mask, x, Zero(x)) })
}

// maskedThere returns masked in one call, for a device where each costs.
func (f *Func[I, O]) maskedThere(mask Tensor, k Key, in I, leaves []Tensor) O {
	n := len(leaves)
	all := append(leaves[:n:n], mask)
	e := f.masks.find(all, func() (*program, O) {
		var out O
		p := compile(&Ctx{dev: f.scope.dev, scope: f.scope}, f.name, all, func(c *Ctx, nodes []Tensor) []Tensor {
			out = Map(f.build(c, Rebuild(in, nodes[:n])), func(x Tensor) Tensor { return Select(nodes[n], x, Zero(x)) })
			return Leaves(out)
		})
		return p, out
	})
	return Rebuild(e.like, e.run(k, all))
}

// Where returns Call if mask is true for any row, and the argument otherwise if not. The function
// must return that argument for rows that it does not compute.
func (f *Func[I, O]) Where(mask Tensor, k Key, in I, otherwise O) O {
	o := f.scope.Observed()
	out := f.where(mask, k, in, otherwise)
	if o != nil {
		o.End(f.masking("rl.Func.Where", o, mask, in, out))
	}
	return out
}

// masking returns the operation of a call for some rows.
func (f *Func[I, O]) masking(kind string, o *Observation, mask Tensor, in I, out O) Operation {
	op := Operation{Kind: kind, Name: f.name, Number: f.number, Size: sizeOf(in)}
	if o.Values() {
		op.In, op.Out = append(NamedLeaves("mask", mask), NamedLeaves("", in)...), NamedLeaves("", out)
	}
	return op
}

func (f *Func[I, O]) where(mask Tensor, k Key, in I, otherwise O) O {
	c := f.scope.under([]Tensor{mask})
	switch {
	case c == nil && !anyTrue(mask):
		return otherwise
	case c != nil && c.branches():
		return unless(c, mask, func() O { return f.call(k, in) }, Leaves(otherwise))
	}
	return f.call(k, in)
}

// branches reports whether c is a device program in which a branch costs less than
// a call in vain.
func (c *Ctx) branches() bool { return c.lower != nil && !c.lower.inCall && c.dev.shared }

// unless returns build under a branch of a device program that is taken if mask is true
// anywhere. What is there if not is otherwise, or zeros.
func unless[O any](c *Ctx, mask Tensor, build func() O, otherwise []Tensor) (out O) {
	var leaves []Tensor
	then := subgraph.Closure(c.graph, func(*graph.Graph) (nodes []*graph.Node) {
		out = build()
		leaves = Leaves(out)
		for _, t := range leaves {
			if t.Ok() {
				nodes = append(nodes, graph.Identity(c.lift([]Tensor{t})[0].node))
			}
		}
		return nodes
	})
	without := subgraph.Closure(c.graph, func(g *graph.Graph) (nodes []*graph.Node) {
		for i, t := range leaves {
			switch {
			case !t.Ok():
			case otherwise == nil:
				nodes = append(nodes, graph.Zeros(g, t.Shape()))
			default:
				nodes = append(nodes, graph.Identity(c.lift(otherwise[i : i+1])[0].node))
			}
		}
		return nodes
	})
	made := graph.If(graph.LogicalAny(c.lift([]Tensor{mask})[0].node), then, without)
	for i, t := range leaves {
		if t.Ok() {
			leaves[i], made = Wrap(made[0]), made[1:]
		}
	}
	return Rebuild(out, leaves)
}

// anyTrue reports whether a bool tensor is true anywhere.
func anyTrue(mask Tensor) bool {
	for _, b := range Read[bool](mask) {
		if b {
			return true
		}
	}
	return false
}

// programs are a graph function's compilations, with the shape of what it
// returns. There are few: a list beats a map.
type programs[O any] struct {
	making sync.Mutex // held while a program is compiled: once for each shape
	mu     sync.Mutex
	list   []*compiled[O]
}

type compiled[O any] struct {
	*program
	like O

	once sync.Once
	zero []Tensor
}

func (p *programs[O]) any(in []Tensor) *compiled[O] {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.list {
		if e.fits(in) {
			return e
		}
	}
	return nil
}

func (p *programs[O]) find(in []Tensor, make func() (*program, O)) *compiled[O] {
	if e := p.any(in); e != nil {
		return e
	}
	p.making.Lock()
	defer p.making.Unlock()
	if e := p.any(in); e != nil {
		return e // another goroutine was faster
	}
	prog, like := make()
	e := &compiled[O]{program: prog, like: like}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, e)
	return e
}

// zeros returns outputs of the program's shapes, all zero, made once.
func (e *compiled[O]) zeros() []Tensor {
	e.once.Do(func() {
		shapes := e.exe.Outputs()
		for _, present := range e.out {
			var t Tensor
			if present {
				t = e.dev.both(makeFlat(shapes[0]), shapes[0])
				shapes = shapes[1:]
			}
			e.zero = append(e.zero, t)
		}
	})
	return e.zero
}
