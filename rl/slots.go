package rl

import (
	"fmt"
	"slices"
)

// Slots is memory for each environment that survives from one iteration to the
// next: recurrent state, an opponent's index. No local variable of a loop may.
//
//weft:component slots axis=environments home=actor
type Slots[V any] struct {
	v     V
	scope *Scope
	name  string
	aside Narrowed
}

// NewSlots returns memory that starts as zero, a struct of tensors [env, ...].
//
//weft:makes name=1
func NewSlots[V any](s *Scope, name string, zero V) *Slots[V] {
	mustCodec[V]()
	m := &Slots[V]{v: zero, scope: s, name: name}
	s.Register(name, m)
	return m
}

// Get returns the memory.
//
//weft:op get reads rows shape=env
func (m *Slots[V]) Get() V { return m.v }

// Set replaces the memory by another of the same shape: what a checkpoint holds
// must fit what a fresh run starts with.
//
//weft:op set replaces rows
func (m *Slots[V]) Set(v V) {
	like := func(a, b Tensor) bool { return a.Ok() == b.Ok() && (!a.Ok() || a.Shape().Equal(b.Shape())) }
	if old, next := Leaves(m.v), Leaves(v); !slices.EqualFunc(old, next, like) {
		failf("slots hold %v and are set to %v: shapes must stay the same", old, next)
	}
	m.v = v
	if o := m.scope.Observed(); o != nil {
		op := Operation{Kind: "rl.Slots.Set", Name: m.name}
		if o.Values() {
			op.In = NamedLeaves("", v)
		}
		o.End(op)
	}
}

// Axis returns that the memory has a row for each environment.
func (m *Slots[V]) Axis() Axis { return Envs }

// Save puts the tensors by number, since a plain tensor has no name.
func (m *Slots[V]) Save(s *State) {
	for i, t := range Leaves(m.v) {
		s.PutRows(fmt.Sprint(i), t)
	}
}

// Load restores what Save saved.
func (m *Slots[V]) Load(s *State) error {
	leaves := Leaves(m.v)
	for i, t := range leaves {
		if t.Ok() {
			leaves[i] = s.GetRows(fmt.Sprint(i), t)
		}
	}
	if s.Err() == nil {
		m.v = Rebuild(m.v, leaves)
	}
	return s.Err()
}

// Narrow leaves the memory of some environments.
func (m *Slots[V]) Narrow(to []Span) { m.v = Rebuild(m.v, m.aside.Narrow(Leaves(m.v), to)) }

// Widen puts it back.
func (m *Slots[V]) Widen() { m.v = Rebuild(m.v, m.aside.Widen(Leaves(m.v))) }
