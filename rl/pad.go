package rl

import (
	"math/bits"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/internal/rowcopy"
)

// A replica's part of a minibatch has another number of rows every time, and a
// program is compiled for each. So in a replica rows are filled up to one of few
// numbers, with rows that have no weight.

// quantum returns what n rows are filled up to: a multiple of an eighth of their order
// of magnitude, so that little is computed in vain and few numbers occur.
func quantum(n int) int {
	step := max(8, 1<<bits.Len(uint(n))/8)
	return max(step, (n+step-1)/step*step)
}

// leadOf returns the rows of a batch: of its first tensor that has any.
func leadOf(leaves []Tensor) int {
	for _, t := range leaves {
		if t.Ok() && t.Shape().Rank() > 0 {
			return t.Rows()
		}
	}
	failf("a batch without rows has no gradient")
	return 0
}

// rowsOf returns leadOf for batches that may have none.
func rowsOf(leaves []Tensor) int {
	i := slices.IndexFunc(leaves, func(t Tensor) bool { return t.Ok() && t.Shape().Rank() > 0 })
	if i < 0 {
		return 0
	}
	return leaves[i].Rows()
}

// gradPadded does what Grad does for a replica's part of a batch. No rows at all are sums and
// a weight of zero.
func (l *lossFunction) gradPadded(k Key, in packed, rows int) (g Grads, aux packed) {
	full := quantum(rows)
	if rows > 0 && l.noPad {
		return l.grad(k, in)
	}
	filled := make([]Tensor, len(in.leaves), len(in.leaves)+1)
	for i, t := range in.leaves {
		filled[i] = pad(t, rows, full)
	}
	filled = append(filled, maskOf(device(in.leaves), rows, full))
	e := l.compilePadded(in, filled)
	if rows == 0 {
		return l.nothing(e, full)
	}
	if !byRow(e.like, full) {
		l.noPad = true
		return l.grad(k, in)
	}
	l.placed(k, e, rows)
	g, aux = l.result(e, e.run(k.filled(rows, full), filled))
	return g, aux.each(func(t Tensor) Tensor { return part(t, 0, rows) })
}

func (l *lossFunction) compilePadded(in packed, filled []Tensor) *compiled {
	return l.padded.find(filled, func() (*program, packed) {
		only := l.split(in.with(filled[:len(filled)-1]))
		var like packed
		p := compile(&Ctx{dev: l.scope.dev, scope: l.scope}, l.name, filled, func(c *Ctx, nodes []Tensor) (out []Tensor) {
			last := len(nodes) - 1
			out, like = l.trace(c, in.with(nodes[:last]), nodes[last].Node())
			return out
		})
		p.only = only
		return p, like
	})
}

// byRow reports whether everything that a loss returns beside itself has rows.
func byRow(like packed, rows int) bool {
	return !slices.ContainsFunc(like.leaves, func(t Tensor) bool {
		return t.Ok() && (t.Shape().Rank() == 0 || t.Rows() != rows)
	})
}

// pad fills a tensor's rows up with its first one, which is as good an input as
// any; a batch of none is filled with zeros, and never computed on.
func pad(t Tensor, rows, full int) Tensor {
	if !t.Ok() || t.Shape().Rank() == 0 || t.Rows() != rows || rows == full {
		return t
	}
	dims := slices.Clone(t.Shape().Dimensions)
	dims[0] = full
	src := bytesOf(t)
	return device([]Tensor{t}).fresh(shapes.Make(t.Shape().DType, dims...), func(flat any) {
		rowcopy.Pad(dtypes.UnsafeByteSliceFromAny(flat), src, rows)
	})
}

func maskOf(d *Device, rows, full int) Tensor {
	return d.fresh(shapes.Make(dtypes.Float32, full), func(flat any) {
		out := flat.([]float32)
		for i := range out {
			out[i] = 0
			if i < rows {
				out[i] = 1
			}
		}
	})
}

// noRows reports whether a batch is empty: a replica may have no row of a
// minibatch.
func noRows(leaves []Tensor) bool {
	for _, t := range leaves {
		if t.Ok() && t.Shape().Rank() > 0 {
			return t.Rows() == 0
		}
	}
	return false
}

// none returns what a function makes of no rows. It is compiled for some, to know what
// that would be, because arithmetic on shapes need not bear a 0.
func (f *function) none(in packed) packed {
	full := quantum(0)
	filled := make([]Tensor, len(in.leaves))
	for i, t := range in.leaves {
		filled[i] = pad(t, 0, full)
	}
	e := f.compiled(in.with(filled))
	return e.like.with(e.emptied(f.scope.dev, 0, full))
}

// emptied returns a program's outputs, all zero, from one on without the rows that it
// was compiled for.
func (p *program) emptied(d *Device, from, full int) []Tensor {
	out := make([]Tensor, len(p.out))
	for i, s := range p.outputs() {
		if !s.Ok() {
			continue
		}
		if i >= from && s.Rank() > 0 && s.Dimensions[0] == full {
			s = s.Clone()
			s.Dimensions[0] = 0
		}
		out[i] = d.from(makeFlat(s), s)
	}
	return out
}

// nothing returns the gradient of no rows: zeros, in memory of their own because an
// optimiser takes it over, and what else the loss returns without any rows.
func (l *lossFunction) nothing(e *compiled, full int) (g Grads, aux packed) {
	out := e.emptied(l.scope.dev, 2+l.tensors(), full)
	sums := out[2 : 2+l.tensors()]
	return Grads{of: l.wrt, sums: sums, weight: out[1], spent: new(bool)}, e.like.with(out[2+len(sums):])
}

// outputs returns the shapes of a program's outputs, invalid ones for those that are
// absent.
func (p *program) outputs() []shapes.Shape {
	out := make([]shapes.Shape, len(p.out))
	j := 0
	for i, present := range p.out {
		out[i] = shapes.Invalid()
		if present {
			out[i] = p.like[j]
			j++
		}
	}
	return out
}
