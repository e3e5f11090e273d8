package rl

import (
	"slices"
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
type Func[I, O any] struct{ fn function }

// NewFunc declares a graph function. f must be a declared function or method, because the compiler
// reads its source. The field that holds the result must be assigned once.
//
//weft:makes name=1 function=2
func NewFunc[I, O any](s *Scope, name string, f func(*Ctx, I) O) *Func[I, O] {
	mustCodec[I]()
	mustCodec[O]()
	return &Func[I, O]{function{name: name, number: s.declare(), scope: s, author: f,
		build: func(c *Ctx, in packed) packed { return pack(f(c, unpack[I](in))) }}}
}

// Call runs the function on a batch. The key names the random numbers that it
// draws; the zero key is for functions that draw none.
//
//weft:op call graph turns
func (f *Func[I, O]) Call(k Key, in I) O { return unpack[O](f.fn.Call(k, pack(in))) }

// Rows does what Call does for the rows where mask is true, and zero elsewhere. When mask is
// false everywhere nothing is computed.
//
//weft:op call graph turns
func (f *Func[I, O]) Rows(mask Tensor, k Key, in I) O {
	return unpack[O](f.fn.Rows(mask, k, pack(in)))
}

// Where returns Call if mask is true for any row, and the argument otherwise if not. The function
// must return that argument for rows that it does not compute.
func (f *Func[I, O]) Where(mask Tensor, k Key, in I, otherwise O) O {
	return unpack[O](f.fn.Where(mask, k, pack(in), pack(otherwise)))
}

// function is a Func without the types of its arguments and results. What Func does is written for
// it, because methods of a generic type are compiled again for each type.
type function struct {
	name   string
	number int // number in its scope
	scope  *Scope
	author any // function as its author wrote it
	build  func(*Ctx, packed) packed
	cache  programs
	masks  programs // the mask of calls for some rows, behind the inputs

	checks rowChecks
}

// Call runs the function as Func's Call does.
func (f *function) Call(k Key, in packed) packed {
	o := f.scope.Observed()
	out := f.call(k, in)
	if o != nil {
		op := Operation{Kind: "rl.Func.Call", Name: f.name, Number: f.number}
		if op.Size = in.size(); o.Values() {
			op.In, op.Out = in.named(), out.named()
		}
		o.End(op)
	}
	return out
}

func (f *function) call(k Key, in packed) packed {
	if c := f.scope.under(in.leaves); c != nil {
		return f.inline(c, k, in.with(c.lift(in.leaves)))
	}
	alongside("function", f.name, in.leaves)
	if m := f.scope.dev.together; m != nil && m.Whole(f.name) {
		in.leaves = allRows(m, in.leaves)
	}
	if noRows(in.leaves) {
		return f.none(in)
	}
	if out, ok := f.inTurns(k, in, nil, func(k Key, in packed, _ []Tensor) packed { return f.Call(k, in) }); ok {
		return out
	}
	e := f.compiled(in)
	return e.like.with(e.run(k, in.leaves))
}

func (f *function) compiled(in packed) *compiled {
	return f.cache.find(in.leaves, func() (*program, packed) {
		only := f.split(in)
		var out packed
		p := compile(&Ctx{dev: f.scope.dev, scope: f.scope}, f.name, in.leaves, func(c *Ctx, nodes []Tensor) []Tensor {
			out = f.build(c, in.with(nodes))
			return out.leaves
		})
		p.only = only
		return p, out
	})
}

// inline builds the function into a graph. In a device program it is a call of the
// loop, with a key of its own, unless another graph function makes it.
func (f *function) inline(c *Ctx, k Key, in packed) (out packed) {
	if c.lower == nil || c.lower.inCall {
		return f.build(c, in)
	}
	c.lower.call(k, rowsOf(in.leaves), func() { out = f.build(c, in) })
	return out
}

// Rows runs the function as Func's Rows does.
func (f *function) Rows(mask Tensor, k Key, in packed) packed {
	o := f.scope.Observed()
	out := f.rows(mask, k, in)
	if o != nil {
		o.End(f.masking("rl.Func.Rows", o, mask, in, out))
	}
	return out
}

func (f *function) rows(mask Tensor, k Key, in packed) packed {
	if out, ok := f.inTurns(k, in, []Tensor{mask}, func(k Key, in packed, also []Tensor) packed { return f.Rows(also[0], k, in) }); ok {
		return out
	}
	if mask.node == nil && ctxOf(in.leaves) == nil && !anyTrue(mask) {
		e := f.cache.any(in.leaves)
		if e == nil {
			e = f.masks.any(append(in.leaves[:len(in.leaves):len(in.leaves)], mask))
		}
		if e != nil {
			return e.like.with(e.zeros())
		}
	}
	if c := f.scope.under([]Tensor{mask}); c != nil && c.branches() {
		return unless(c, mask, func() packed { return f.masked(mask, k, in) }, nil)
	}
	return f.masked(mask, k, in)
}

func (f *function) masked(mask Tensor, k Key, in packed) packed {
	dev := f.scope.dev
	if !dev.shared && dev.together == nil && mask.node == nil && ctxOf(in.leaves) == nil && !noRows(in.leaves) {
		return f.maskedThere(mask, k, in)
	}
	return f.call(k, in).selected(mask)
}

// maskedThere returns masked in one call, for a device where each costs.
func (f *function) maskedThere(mask Tensor, k Key, in packed) packed {
	n := len(in.leaves)
	all := append(in.leaves[:n:n], mask)
	e := f.masks.find(all, func() (*program, packed) {
		var out packed
		p := compile(&Ctx{dev: f.scope.dev, scope: f.scope}, f.name, all, func(c *Ctx, nodes []Tensor) []Tensor {
			out = f.build(c, in.with(nodes[:n])).selected(nodes[n])
			return out.leaves
		})
		return p, out
	})
	return e.like.with(e.run(k, all))
}

// Where runs the function as Func's Where does.
func (f *function) Where(mask Tensor, k Key, in, otherwise packed) packed {
	o := f.scope.Observed()
	out := f.where(mask, k, in, otherwise)
	if o != nil {
		o.End(f.masking("rl.Func.Where", o, mask, in, out))
	}
	return out
}

// masking returns the operation of a call for some rows.
func (f *function) masking(kind string, o *Observation, mask Tensor, in, out packed) Operation {
	op := Operation{Kind: kind, Name: f.name, Number: f.number, Size: in.size()}
	if o.Values() {
		op.In, op.Out = append(NamedLeaves("mask", mask), in.named()...), out.named()
	}
	return op
}

func (f *function) where(mask Tensor, k Key, in, otherwise packed) packed {
	c := f.scope.under([]Tensor{mask})
	switch {
	case c == nil && !anyTrue(mask):
		return otherwise
	case c != nil && c.branches():
		return unless(c, mask, func() packed { return f.call(k, in) }, otherwise.leaves)
	}
	return f.call(k, in)
}

// branches reports whether c is a device program in which a branch costs less than
// a call in vain.
func (c *Ctx) branches() bool { return c.lower != nil && !c.lower.inCall && c.dev.shared }

// unless returns build under a branch of a device program that is taken if mask is true
// anywhere. What is there if not is otherwise, or zeros.
func unless(c *Ctx, mask Tensor, build func() packed, otherwise []Tensor) (out packed) {
	var leaves []Tensor
	then := subgraph.Closure(c.graph, func(*graph.Graph) (nodes []*graph.Node) {
		out = build()
		leaves = slices.Clone(out.leaves)
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
	return out.with(leaves)
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
type programs struct {
	making sync.Mutex // held while a program is compiled: once for each shape
	mu     sync.Mutex
	list   []*compiled
}

type compiled struct {
	*program
	like packed

	once sync.Once
	zero []Tensor
}

func (p *programs) any(in []Tensor) *compiled {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.list {
		if e.fits(in) {
			return e
		}
	}
	return nil
}

func (p *programs) find(in []Tensor, make func() (*program, packed)) *compiled {
	if e := p.any(in); e != nil {
		return e
	}
	p.making.Lock()
	defer p.making.Unlock()
	if e := p.any(in); e != nil {
		return e // another goroutine was faster
	}
	prog, like := make()
	e := &compiled{program: prog, like: like}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, e)
	return e
}

// zeros returns outputs of the program's shapes, all zero, made once.
func (e *compiled) zeros() []Tensor {
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
