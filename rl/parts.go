package rl

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
)

// concat returns the rows of several tensors, one tensor after another: the parts of a
// batch, put together.
func concat(parts []Tensor) Tensor {
	if len(parts) == 1 {
		return parts[0]
	}
	shape, rows := parts[0].Shape(), 0
	for i, p := range parts {
		if !sameRows(p, parts[0]) {
			failf("concat: part %d is %s, the first %s", i, p.describe(), parts[0].describe())
		}
		rows += p.Rows()
	}
	if far(parts) {
		return op("concat", parts, func(_ *Ctx, in []Tensor) []Tensor { return []Tensor{Wrap(graph.Concatenate(nodes(in), 0))} })[0]
	}
	return device(parts).fresh(withRows(shape, rows), func(flat any) {
		out := dtypes.UnsafeByteSliceFromAny(flat)
		for _, p := range parts {
			out = out[copy(out, bytesOf(p)):]
		}
	})
}

// sameRows reports whether two values have rows of one shape.
func sameRows(a, b Tensor) bool {
	x, y := a.Shape(), b.Shape()
	return a.val != nil && b.val != nil && x.DType == y.DType && x.Rank() == y.Rank() && x.Rank() > 0 &&
		slices.Equal(x.Dimensions[1:], y.Dimensions[1:])
}

// part returns rows lo to hi of a tensor.
func part(t Tensor, lo, hi int) Tensor {
	if t.Shape().Rank() == 0 || lo < 0 || hi < lo || hi > t.Rows() {
		failf("rows %d to %d of %s", lo, hi, t.describe())
	}
	if lo == 0 && hi == t.Rows() {
		return t
	}
	if t.val != nil && t.val.parts != nil {
		if p, at := t.val.parts.holding(lo, hi); p.Ok() {
			return part(p, lo-at, hi-at)
		}
	}
	src := bytesOf(t)
	size := len(src) / max(1, t.Rows())
	return device([]Tensor{t}).fresh(withRows(t.Shape(), hi-lo), func(flat any) {
		copy(dtypes.UnsafeByteSliceFromAny(flat), src[lo*size:hi*size])
	})
}

// Clone returns a tensor of the same content in memory of its own. A constant has
// none, and is its own clone.
func (system) Clone(t Tensor) Tensor {
	if t.val == nil || t.val.dev == nil {
		return t
	}
	return t.val.dev.fresh(t.Shape(), func(flat any) {
		copy(dtypes.UnsafeByteSliceFromAny(flat), bytesOf(t))
	})
}

// Scribble overwrites a value's memory: for tests that look for uses of what was
// handed over.
func (system) Scribble(t Tensor) {
	if t.val == nil || t.val.buf == nil || !t.val.dev.shared {
		return
	}
	data := bytesOf(t)
	for i := range data {
		data[i] = 0xA5
	}
}

// GradsOf returns the names of the parameters that gradients belong to.
func (system) GradsOf(g Grads) []string {
	names := make([]string, len(g.of))
	for i, p := range g.of {
		names[i] = p.name
	}
	return names
}

// HandGrads gives gradients away: the weight, and the sums in the order of the
// parameters' paths. They cannot be applied afterwards.
func (system) HandGrads(g Grads) (weight Tensor, sums []Tensor) {
	if g.spent == nil || *g.spent {
		failf("gradients are sent after they were applied or sent")
	}
	*g.spent = true
	return g.weight, g.sums
}

// GradParts returns the weight and the sums, which stay the gradients' own.
func (system) GradParts(g Grads) (weight Tensor, sums []Tensor) { return g.weight, g.sums }

// AddGrads makes gradients of parts that other replicas handed on, for a scope's own
// parameters of the given names: sums and weights added in the order of the
// parts, whose memory is taken over.
func (system) AddGrads(s *Scope, of []string, weights []Tensor, sums [][]Tensor) Grads {
	g := Grads{spent: new(bool), weight: add(weights)}
	for _, name := range of {
		p, ok := s.components[name].(*Params)
		if !ok {
			failf("gradients arrived for parameters %q, which do not exist here", name)
		}
		g.of = append(g.of, p)
		for _, c := range p.cells {
			j := len(g.sums)
			parts := make([]Tensor, len(sums))
			for r := range sums {
				if len(sums[r]) <= j || !sums[r][j].Shape().Equal(c.value.Shape()) {
					failf("received gradients of %s/%s do not have its shape", name, c.path)
				}
				parts[r] = sums[r][j]
			}
			g.sums = append(g.sums, add(parts))
			if len(parts) > 1 {
				recycle(parts)
			}
		}
	}
	return g
}

// add returns the sum of tensors of one shape, from the first to the last. Of one it
// is that one.
func add(parts []Tensor) Tensor {
	like := parts[0]
	if len(parts) == 1 {
		return like
	}
	if like.val == nil {
		failf("tensors of %s cannot be summed", like.describe())
	}
	return device(parts).fresh(like.Shape(), func(flat any) {
		switch out := flat.(type) {
		case []float32:
			addTo(out, parts)
		case []float64:
			addTo(out, parts)
		default:
			failf("gradients of %s cannot be added", like.Shape())
		}
	})
}

func addTo[T float32 | float64](out []T, parts []Tensor) {
	copy(out, Read[T](parts[0]))
	for _, p := range parts[1:] {
		for i, x := range Read[T](p) {
			out[i] += x
		}
	}
}

// Adopt replaces the values by those of a component of the same structure.
func (p *Params) Adopt(values []Tensor) error {
	if err := fit(p.Tensors(), values); err != nil {
		return fmt.Errorf("parameters %q: %w", p.name, err)
	}
	p.set(values)
	return nil
}

// Version counts the writes, so that a copy knows whether it is current.
func (s *Stats) Version() int64 { return s.version }

// Tensors returns count, mean and squared deviations.
func (s *Stats) Tensors() []Tensor { return []Tensor{s.count.value, s.mean.value, s.m2.value} }

// Adopt replaces the values by those of statistics of the same features.
func (s *Stats) Adopt(values []Tensor) error {
	if err := fit(s.Tensors(), values); err != nil {
		return fmt.Errorf("statistics %s: %w", s.mean.path, err)
	}
	s.set(values)
	return nil
}

func (s *Stats) set(values []Tensor) {
	s.scope.settle()
	s.count.value, s.mean.value, s.m2.value = values[0], values[1], values[2]
	s.version++
}

func fit(have, values []Tensor) error {
	if !slices.EqualFunc(have, values, func(a, b Tensor) bool { return a.Shape().Equal(b.Shape()) }) {
		return fmt.Errorf("a copy arrived with tensors %v, want %v", values, have)
	}
	return nil
}
