package edge

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/rl"
)

// Copied is a component that remote readers have copies of: parameters, statistics. Its
// tensors are immutable, so that a copy may share them.
type Copied interface {
	rl.Component
	// Version counts the writes.
	Version() int64
	// Tensors returns the values.
	Tensors() []rl.Tensor
	// Adopt replaces the values by those of another's Tensors.
	Adopt([]rl.Tensor) error
}

// copyState is the memory of one end of a copy's edge.
type copyState struct {
	known    bool       // something was published
	seen     int64      // version of a Copied that the others have
	arrays   []rl.Array // state of any other component that the others have
	versions int64      // published
	last     any        // last value of an asynchronous Send
}

// resource is a component's state on its way to its copies. Neither is set when
// it has not changed.
type resource struct {
	Version int64 // how often it changed
	Tensors []rl.Tensor
	Arrays  []rl.Array
}

// Publish sends a resource (parameters, statistics) if it has changed since it was
// last published on this edge.
func Publish(x *X, edge int, c rl.Component) {
	if !x.First() || absent(c) {
		return
	}
	defer x.pass(edge).done()
	r := x.changed(edge, c)
	to := x.ends[edge].to
	for i := range x.replicas(to) {
		n := x.top.Number(to, i)
		x.weigh(edge, r.Tensors)
		if !x.loose(edge) {
			x.send(edge, n, Message{Value: r})
		} else if r.Tensors != nil || r.Arrays != nil {
			x.link.Post(n, Message{Edge: edge, Value: r})
			x.stats[edge].Messages++
		}
	}
}

// changed returns what is new of a component.
func (x *X) changed(edge int, c rl.Component) resource {
	s := x.ends[edge].of(c)
	if p, ok := c.(Copied); ok {
		if s.known && s.seen == p.Version() {
			return resource{Version: s.versions}
		}
		s.known, s.seen = true, p.Version()
		s.versions++
		x.versions[edge] = s.versions
		return resource{Version: s.versions, Tensors: p.Tensors()}
	}
	now := x.stateOf(c)
	if s.known && slices.EqualFunc(now, s.arrays, sameArray) {
		return resource{Version: s.versions}
	}
	s.known, s.arrays = true, now
	s.versions++
	x.versions[edge] = s.versions
	return resource{Version: s.versions, Arrays: now}
}

// Fetch brings a copy of the resource up to date. In an asynchronous run it takes
// the newest version that there is, without waiting for another.
func Fetch(x *X, edge int, c rl.Component) {
	if absent(c) {
		return
	}
	defer x.pass(edge).done()
	e := &x.ends[edge]
	from := x.top.Number(e.from, 0)
	if !x.loose(edge) {
		x.adopt(edge, c, valueOf[resource](x.receive(edge, from)))
		return
	}
	x.poll()
	for len(e.waiting[from]) > 0 {
		x.adopt(edge, c, valueOf[resource](x.pop(edge, from)))
	}
}

// absent reports whether a trainer does without a component.
func absent(c rl.Component) bool {
	v := reflect.ValueOf(c)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// of returns what is remembered of a component: an edge carries those of a family one
// after another.
func (e *end) of(c rl.Component) *copyState {
	if e.copies == nil {
		e.copies = map[rl.Component]*copyState{}
	}
	s, ok := e.copies[c]
	if !ok {
		s = &copyState{}
		e.copies[c] = s
	}
	return s
}

func (x *X) adopt(edge int, c rl.Component, r resource) {
	x.versions[edge] = r.Version
	var err error
	switch {
	case r.Tensors != nil:
		err = c.(Copied).Adopt(r.Tensors)
	case r.Arrays != nil:
		st := rl.NewState(x.scope)
		for _, a := range r.Arrays {
			st.Add(a)
		}
		err = c.Load(st)
	}
	if err != nil {
		rl.Failf("%s: %w", x.top.Edges[edge].Name, err)
	}
}

// stateOf returns all that a component saves.
func (x *X) stateOf(c rl.Component) []rl.Array {
	st := rl.NewState(x.scope)
	c.Save(st)
	return st.Arrays()
}

func sameArray(a, b rl.Array) bool {
	return a.Name == b.Name && a.Shape.Equal(b.Shape) &&
		bytes.Equal(dtypes.UnsafeByteSliceFromAny(a.Flat), dtypes.UnsafeByteSliceFromAny(b.Flat))
}
