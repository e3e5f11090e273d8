package rl

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/internal/rowcopy"
)

// Ring is the memory of one tensor of a store that keeps a fixed number of rows:
// flat, in the tensor's own dtype, so that pictures of bytes stay bytes and the
// garbage collector sees one object. Slots are numbered from 0; who uses a ring
// knows which of them hold something.
type Ring struct {
	slots int
	row   shapes.Shape // of one row
	flat  any          // slots rows
	bytes []byte       // the same
}

// NewRing returns a ring of rows like those of x, [rows, ...].
func NewRing(slots int, x Tensor) *Ring {
	if x.Shape().Rank() == 0 {
		failf("a store keeps rows, and %s has none", x.Shape())
	}
	return newRing(slots, shapes.Make(x.Shape().DType, x.Shape().Dimensions[1:]...))
}

func newRing(slots int, row shapes.Shape) *Ring {
	r := &Ring{slots: slots, row: row, flat: dtypes.MakeAnySlice(row.DType, slots*row.Size())}
	r.bytes = dtypes.UnsafeByteSliceFromAny(r.flat)
	return r
}

// Put writes the rows of x from a slot on, and goes on at slot 0 after the last.
func (r *Ring) Put(at int, x Tensor) {
	n := x.Rows()
	if want := r.batch(n); !x.Shape().Equal(want) || n > r.slots || at < 0 || at >= r.slots {
		failf("a store of %d rows like %s is given %s", r.slots, r.row, x.Shape())
	}
	size := len(r.bytes) / r.slots
	src := bytesOf(x)
	first := min(n, r.slots-at) * size
	copy(r.bytes[at*size:], src[:first])
	copy(r.bytes, src[first:])
}

// PutRow writes row i of x into a slot.
func (r *Ring) PutRow(slot int, x Tensor, i int) {
	if n := x.Rows(); !x.Shape().Equal(r.batch(n)) || i < 0 || i >= n || slot < 0 || slot >= r.slots {
		failf("slot %d of a store of %d rows like %s is given row %d of %s", slot, r.slots, r.row, i, x.Shape())
	}
	size := len(r.bytes) / r.slots
	copy(r.bytes[slot*size:(slot+1)*size], bytesOf(x)[i*size:(i+1)*size])
}

// Tensor returns all slots as a tensor.
func (r *Ring) Tensor(s *Scope) Tensor { return s.dev.from(r.flat, r.batch(r.slots)) }

// Take takes all slots over from a tensor.
func (r *Ring) Take(x Tensor) { copy(r.bytes, bytesOf(x)) }

// Gather returns the rows of slots, as a tensor [lead..., ...]; lead is len(slots) if
// it is not given.
func (r *Ring) Gather(s *Scope, slots []int, lead ...int) Tensor {
	if len(lead) == 0 {
		lead = []int{len(slots)}
	}
	for _, i := range slots {
		if i < 0 || i >= r.slots {
			failf("slot %d of %d", i, r.slots)
		}
	}
	return s.dev.fresh(r.batch(lead...), func(flat any) {
		rowcopy.Gather(dtypes.UnsafeByteSliceFromAny(flat), r.bytes, slots, len(r.bytes)/r.slots)
	})
}

// Bools returns the slots of a ring of single bools; for reading only.
func (r *Ring) Bools() []bool { return r.flat.([]bool) }

// batch returns the shape of rows with leading axes.
func (r *Ring) batch(lead ...int) shapes.Shape {
	return shapes.Make(r.row.DType, append(lead[:len(lead):len(lead)], r.row.Dimensions...)...)
}

// Save puts the first rows slots under a name.
func (r *Ring) Save(s *State, name string, rows int) {
	shape := r.batch(rows)
	flat := makeFlat(shape)
	copy(dtypes.UnsafeByteSliceFromAny(flat), r.bytes)
	s.Add(Array{Name: name, Shape: shape, Flat: flat})
}

// LoadRing returns a ring whose first slots are what Save put.
func LoadRing(s *State, name string, slots int) *Ring {
	a, ok := s.array(name)
	if !ok {
		return nil
	}
	if a.Shape.Rank() == 0 || a.Shape.Dimensions[0] > slots {
		s.fail(fmt.Errorf("state %q has shape %s, for a store of %d rows", a.Name, a.Shape, slots))
		return nil
	}
	r := newRing(slots, shapes.Make(a.Shape.DType, a.Shape.Dimensions[1:]...))
	copy(r.bytes, dtypes.UnsafeByteSliceFromAny(a.Flat))
	return r
}
