package rl

import "github.com/gomlx/gomlx/core/graph"

// Carried is tensors that a device program carries from one round of a loop to the
// next: a local variable of the loop, or the state of a component.
type Carried interface {
	carried() []Tensor
	carry([]Tensor)
	// form gives back the form, apart from the tensors, that it has now.
	form() func()
	meet(before, after picture) (exit []Tensor)
}

// Resident is a component whose state can live inside a device program. Its
// tensors are nodes while the program is built, and its operations must be written
// so that they work on nodes.
type Resident interface {
	Component
	Resident() []Carried
}

// Carry returns a variable, a struct of tensors, that a loop changes.
func Carry[V any](p *V) Carried { return carriedVar[V]{p} }

type carriedVar[V any] struct{ p *V }

func (c carriedVar[V]) carried() []Tensor { return Leaves(*c.p) }
func (c carriedVar[V]) carry(t []Tensor)  { *c.p = Rebuild(*c.p, t) }

func (c carriedVar[V]) form() func() {
	now := *c.p
	return func() { *c.p = now }
}

func (c carriedVar[V]) meet(before, after picture) []Tensor { return reconciled(c, before, after) }

// fixed is of carriers that always have the same tensors.
type fixed struct{}

func (fixed) form() func() { return func() {} }

// carriedCell is a parameter or a statistic.
type carriedCell struct {
	fixed
	*cell
}

func (c carriedCell) carried() []Tensor { return []Tensor{c.value} }
func (c carriedCell) carry(t []Tensor)  { c.value = t[0] }

func (c carriedCell) meet(before, after picture) []Tensor { return reconciled(c, before, after) }

// Resident returns the parameters. Their nodes are also what GoMLX's layers see.
func (p *Params) Resident() []Carried { return []Carried{carriedParams{Params: p}} }

type carriedParams struct {
	fixed
	*Params
}

func (c carriedParams) meet(before, after picture) []Tensor { return reconciled(c, before, after) }

func (c carriedParams) carried() []Tensor { return c.Tensors() }

func (c carriedParams) carry(t []Tensor) {
	for i, x := range c.cells {
		x.value = t[i]
		if t[i].node != nil {
			c.vars[i].SetNodeValue(t[i].node)
		}
	}
}

// Resident returns the rule's vectors and the count.
func (o *Opt) Resident() []Carried { return []Carried{Carry(&o.slots), o.count.Carried()} }

// Resident returns the three numbers of every feature.
func (s *Stats) Resident() []Carried {
	return []Carried{carriedCell{cell: s.count}, carriedCell{cell: s.mean}, carriedCell{cell: s.m2}}
}

// Resident returns the memory.
func (m *Slots[V]) Resident() []Carried { return []Carried{Carry(&m.v)} }

// Counter is a number that a component counts, inside a device program or outside
// of it.
type Counter struct {
	n  int64
	in Tensor
	// from is its value when it was last given one inside a program, and more
	// what was added since.
	from *graph.Node
	more int64
}

// Set sets the counter to n.
func (c *Counter) Set(n int64) { *c = Counter{n: n} }

// put sets the counter inside a program.
func (c *Counter) put(t Tensor) { c.in, c.from, c.more = t, t.node, 0 }

// Add counts n more.
func (c *Counter) Add(n int64) {
	if c.in.node != nil {
		c.in, c.more = Wrap(graph.AddScalar(c.in.node, n)), c.more+n
		return
	}
	c.n += n
}

// Int64 returns the number, outside of a device program.
func (c *Counter) Int64() int64 { return c.n }

// Node returns the number as an int64 scalar of graph g.
func (c *Counter) Node(g *graph.Graph) *graph.Node {
	if c.in.node != nil {
		return c.in.node
	}
	return graph.Const(g, c.n)
}

// Fold returns k folded with the number.
func (c *Counter) Fold(k Key) Key {
	if c.in.node != nil {
		return k.foldNode(c.in.node, &keyFold{count: c, from: c.from, more: c.more})
	}
	return k.Fold(uint64(c.n))
}

// Carried returns the counter as part of a component's state.
func (c *Counter) Carried() Carried { return carriedCounter{Counter: c} }

type carriedCounter struct {
	fixed
	*Counter
}

func (c carriedCounter) meet(before, after picture) []Tensor { return reconciled(c, before, after) }

func (c carriedCounter) carried() []Tensor {
	if c.in.node != nil {
		return []Tensor{c.in}
	}
	return []Tensor{scalarInt(c.n)}
}

func (c carriedCounter) carry(t []Tensor) {
	if t[0].node != nil {
		c.put(t[0])
		return
	}
	c.Set(Read[int64](t[0])[0])
}
