package rl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// cell is a tensor that graph functions read and its owner replaces.
type cell struct {
	path  string
	value Tensor
}

// Params are the weights of one network, as GoMLX variables: graph functions
// read them through Ctx.Scope, an Opt writes them.
//
//weft:component weights axis=none home=apply copyable
type Params struct {
	name    string
	scope   *Scope
	cells   []*cell // cells in path order
	vars    []*model.Variable
	version int64
	lent    bool // others may hold the tensors
}

// NewParams makes parameters by tracing init once: whatever variables it asks
// of sc exist from then on, with the values their initialisers gave.
//
//weft:makes name=1
func NewParams(s *Scope, name string, init func(c *Ctx, sc *model.Scope)) *Params {
	if name == "" || strings.Contains(name, "/") {
		failf("parameters %q: a name is not empty and has no /", name)
	}
	p := &Params{name: name, scope: s}
	s.Register(name, p)
	err := trace(s, func() error {
		c := &Ctx{dev: s.dev, scope: s}
		c.newGraph("init " + name)
		init(c, c.Scope(p))
		return s.store.InitializeVariables(s.dev.backend, nil)
	})
	if err != nil {
		failIn(fmt.Sprintf("parameters %q", name), err)
	}
	p.adopt()
	return p
}

// adopt takes the initial values over from the GoMLX store.
func (p *Params) adopt() {
	for v := range p.scope.store.IterVariables() {
		if strings.HasPrefix(v.Path(), "/"+p.name+"/") {
			p.vars = append(p.vars, v)
		}
	}
	slices.SortFunc(p.vars, func(a, b *model.Variable) int { return strings.Compare(a.Path(), b.Path()) })
	for _, v := range p.vars {
		c := &cell{path: strings.TrimPrefix(v.Path(), "/"+p.name+"/"), value: p.scope.dev.adopt(v.MustValue())}
		p.cells = append(p.cells, c)
		p.scope.vars[v.Path()] = c
	}
}

// adopt copies a GoMLX tensor.
func (d *Device) adopt(t *tensors.Tensor) (out Tensor) {
	check(t.ConstFlatData(func(flat any) { out = d.from(flat, t.Shape()) }))
	return out
}

// Name of the parameters, unique in their scope.
//
//weft:pure
func (p *Params) Name() string { return p.name }

// Version counts the writes, so that a copy knows whether it is current.
//
//weft:refuse count with rl.Opt.Count, which is saved with the run
func (p *Params) Version() int64 { return p.version }

// Paths returns the names of the single tensors, sorted.
//
//weft:pure
func (p *Params) Paths() []string {
	out := make([]string, len(p.cells))
	for i, c := range p.cells {
		out[i] = c.path
	}
	return out
}

// Tensors returns the values, in the order of Paths.
//
//weft:refuse read weights in a graph function, through rl.Ctx.Scope
func (p *Params) Tensors() []Tensor {
	p.lent = true
	out := make([]Tensor, len(p.cells))
	for i, c := range p.cells {
		out[i] = c.value
	}
	return out
}

// Size returns the number of scalar parameters.
//
//weft:pure
func (p *Params) Size() int {
	n := 0
	for _, c := range p.cells {
		n += c.value.Shape().Size()
	}
	return n
}

// Blend moves the parameters towards src: p = (1-tau) p + tau src. With tau 1 it
// is a copy.
//
//weft:op blend writes lends rows
func (p *Params) Blend(src *Params, tau float64) {
	same := func(a, b *cell) bool { return a.path == b.path && a.value.Shape().Equal(b.value.Shape()) }
	if !slices.EqualFunc(p.cells, src.cells, same) {
		failf("parameters %q and %q differ in structure", p.name, src.name)
	}
	w := p.scope.Observed()
	next := src.Tensors() // immutable, so a copy shares them
	if tau != 1 && len(next) > 0 {
		next = blend(p.Tensors(), next, tau)
	}
	if len(next) > 0 && next[0].node != nil {
		carriedParams{Params: p}.carry(next)
		p.version++
		return
	}
	p.set(next)
	if w != nil {
		op := Operation{Kind: "rl.Params.Blend", Name: p.name}
		if w.Values() {
			op.Out = leavesOf([]*Params{p})
		}
		w.End(op)
	}
}

// leavesOf returns the tensors of parameters, by name.
func leavesOf(list []*Params) (out []Leaf) {
	for _, p := range list {
		for _, c := range p.cells {
			out = append(out, Leaf{p.name + "/" + c.path, c.value})
		}
	}
	return out
}

// set replaces the values by some that others may hold too.
func (p *Params) set(values []Tensor) {
	p.scope.settle()
	for i, c := range p.cells {
		c.value = values[i]
	}
	p.version++
	p.lent = true
}

// update replaces the values by some that nobody else has. An optimiser makes new
// ones with every minibatch: the memory of the old is used again, unless somebody
// may still read it.
func (p *Params) update(values []Tensor) {
	old, lent := make([]Tensor, len(p.cells)), p.lent
	for i, c := range p.cells {
		old[i] = c.value
	}
	p.set(values)
	if p.lent = false; !lent {
		recycle(old)
	}
}

// Axis returns that parameters cannot be split: every replica has all of them.
func (p *Params) Axis() Axis { return None }

// Save puts every tensor under its path.
func (p *Params) Save(s *State) {
	p.lent = true
	for _, c := range p.cells {
		s.Put(c.path, c.value)
	}
}

// Load restores what Save saved.
func (p *Params) Load(s *State) error {
	values := make([]Tensor, len(p.cells))
	for i, c := range p.cells {
		values[i] = s.GetLike(c.path, c.value)
	}
	if s.Err() == nil {
		p.set(values)
	}
	return s.Err()
}
