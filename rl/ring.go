package rl

import (
	"fmt"
	"io"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/internal/rowcopy"
)

// Ring is the memory of one tensor of a store that keeps a fixed number of rows: flat, in the
// tensor's own dtype, so that pictures of bytes stay bytes and the garbage collector sees one
// object. Slots are numbered from 0; the ring's user knows which of them are filled.
//
// A ring follows which of its blocks are written, so that a checkpoint can hold the
// ring without a copy of it (View), and write only what has changed since the last.
type Ring struct {
	slots int
	row   shapes.Shape // shape of one row
	flat  any          // slots rows
	bytes []byte       // the same
	changes
}

// NewRing returns a ring in memory of rows like those of x, [rows, ...].
func NewRing(slots int, x Tensor) *Ring { return newRing(nil, slots, rowOf(x)) }

// Ring returns a ring of rows like those of x, [rows, ...], where the run's deployment
// has stores: in memory, or in a file.
func (s *Scope) Ring(slots int, x Tensor) *Ring { return newRing(s.storage, slots, rowOf(x)) }

// rowOf returns the shape of a row of x.
func rowOf(x Tensor) shapes.Shape {
	if x.Shape().Rank() == 0 {
		failf("a store keeps rows, and %s has none", x.Shape())
	}
	return shapes.Make(x.Shape().DType, x.Shape().Dimensions[1:]...)
}

func newRing(at *Storage, slots int, row shapes.Shape) *Ring {
	r := &Ring{slots: slots, row: row, changes: newChanges()}
	r.flat, r.bytes = at.memory(r, row.DType, slots*row.Size())
	return r
}

// Put writes the rows of x from a slot on, and goes on at slot 0 after the last.
func (r *Ring) Put(at int, x Tensor) {
	n := x.Rows()
	if want := r.batch(n); !x.Shape().Equal(want) || n > r.slots || at < 0 || at >= r.slots {
		failf("a store of %d rows like %s is given %s", r.slots, r.row, x.Shape())
	}
	size := r.rowSize()
	src := bytesOf(x)
	first := min(n, r.slots-at) * size
	r.write(at*size, src[:first])
	r.write(0, src[first:])
}

// PutRow writes row i of x into a slot.
func (r *Ring) PutRow(slot int, x Tensor, i int) {
	if n := x.Rows(); !x.Shape().Equal(r.batch(n)) || i < 0 || i >= n || slot < 0 || slot >= r.slots {
		failf("slot %d of a store of %d rows like %s is given row %d of %s", slot, r.slots, r.row, i, x.Shape())
	}
	size := r.rowSize()
	r.write(slot*size, bytesOf(x)[i*size:(i+1)*size])
}

// rowSize returns the bytes of a row.
func (r *Ring) rowSize() int { return len(r.bytes) / max(1, r.slots) }

// at returns the bytes of a slot; for reading only.
func (r *Ring) at(slot int) []byte {
	size := r.rowSize()
	return r.bytes[slot*size : (slot+1)*size]
}

// Tensor returns all slots as a tensor.
func (r *Ring) Tensor(s *Scope) Tensor { return s.dev.from(r.flat, r.batch(r.slots)) }

// Take takes all slots over from a tensor.
func (r *Ring) Take(x Tensor) { r.write(0, bytesOf(x)) }

// Gather returns the rows of slots, as a tensor [lead..., ...]; lead is len(slots) if
// it is not given.
func (r *Ring) Gather(s *Scope, slots []int, lead ...int) Tensor {
	if len(lead) == 0 {
		lead = []int{len(slots)}
	}
	checkSlots(slots, r.slots)
	return s.dev.fresh(r.batch(lead...), func(flat any) {
		rowcopy.Gather(dtypes.UnsafeByteSliceFromAny(flat), r.bytes, slots, r.rowSize())
	})
}

func checkSlots(slots []int, of int) {
	for _, i := range slots {
		if i < 0 || i >= of {
			failf("slot %d of %d", i, of)
		}
	}
}

// Bools returns the slots of a ring of single bools; for reading only.
func (r *Ring) Bools() []bool { return r.flat.([]bool) }

// Floats returns the slots of a ring of single float32 numbers; for reading only.
func (r *Ring) Floats() []float32 { return r.flat.([]float32) }

// batch returns the shape of rows with leading axes.
func (r *Ring) batch(lead ...int) shapes.Shape { return batchOf(r.row, lead...) }

func batchOf(row shapes.Shape, lead ...int) shapes.Shape {
	return shapes.Make(row.DType, append(lead[:len(lead):len(lead)], row.Dimensions...)...)
}

// Save puts the first rows slots under a name.
func (r *Ring) Save(s *State, name string, rows int) {
	s.Add(Array{Name: name, Shape: r.batch(rows), Source: r.view(rows)})
}

// LoadRing returns a ring whose first slots hold the rows that Save put.
func LoadRing(s *State, name string, slots int) *Ring {
	a, ok := s.stored(name)
	if !ok {
		return nil
	}
	if a.Shape.Rank() == 0 || a.Shape.Dimensions[0] > slots {
		s.fail(fmt.Errorf("state %q has shape %s, for a store of %d rows", a.Name, a.Shape, slots))
		return nil
	}
	r := newRing(s.set.storage, slots, shapes.Make(a.Shape.DType, a.Shape.Dimensions[1:]...))
	if err := a.readInto(r.bytes[:a.Shape.Size()*a.Shape.DType.Size()]); err != nil {
		s.fail(fmt.Errorf("state %q: %w", a.Name, err))
		return nil
	}
	return r
}

// readInto reads an array's data into out, which is as large.
func (a Array) readInto(out []byte) error {
	if a.Source == nil {
		copy(out, dtypes.UnsafeByteSliceFromAny(a.Flat))
		return nil
	}
	_, err := io.ReadFull(io.NewSectionReader(a.Source, 0, int64(len(out))), out)
	return err
}
