package rl

import (
	"reflect"
	"unsafe"
)

// packed is a struct of tensors whose type is not said: its tensors, and the struct that they are
// put back into.
type packed struct {
	like   any
	leaves []Tensor
}

// pack returns v without its type.
func pack[T any](v T) packed { return packed{v, Leaves(v)} }

// unpack returns the struct with its tensors.
func unpack[T any](p packed) T { return Rebuild(p.like.(T), p.leaves) }

// with returns p with other tensors.
func (p packed) with(leaves []Tensor) packed { return packed{p.like, leaves} }

// size returns the number of elements of all tensors.
func (p packed) size() (n int) {
	for _, t := range p.leaves {
		if t.Ok() {
			n += t.Shape().Size()
		}
	}
	return n
}

// named returns the tensors that are there with their names, as NamedLeaves does.
func (p packed) named() []Leaf {
	v := reflect.New(reflect.TypeOf(p.like))
	v.Elem().Set(reflect.ValueOf(p.like))
	c, err := structs.Of(v.Type().Elem())
	check(err)
	return present("", c.Names(unsafe.Pointer(v.Pointer()), "", nil), p.leaves)
}

// each returns p with f of every tensor that is there.
func (p packed) each(f func(Tensor) Tensor) packed {
	out := make([]Tensor, len(p.leaves))
	for i, t := range p.leaves {
		if t.Ok() {
			out[i] = f(t)
		}
	}
	return p.with(out)
}

// selected returns p with zeros in the rows where mask is false.
func (p packed) selected(mask Tensor) packed {
	return p.each(func(x Tensor) Tensor { return Select(mask, x, Zero(x)) })
}
