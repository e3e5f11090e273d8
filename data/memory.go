package data

import (
	"errors"
	"fmt"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/internal/rowcopy"
)

// Memory is a data set in memory. It is a Source once it is complete.
type Memory struct {
	builder *Builder
	columns [][]byte // of all rows
	sizes   []int    // bytes of a row
	meta    Meta
}

// NewMemory returns an empty set; m has its spaces, its extra columns and what it is about.
func NewMemory(m Meta) (*Memory, error) {
	b, err := NewBuilder(m)
	if err != nil {
		return nil, err
	}
	s := &Memory{builder: b, columns: make([][]byte, len(b.columns))}
	for _, c := range b.columns {
		s.sizes = append(s.sizes, c.Shape.Size()*c.Shape.DType.Size())
	}
	return s, nil
}

// First returns the first n episodes of a source as a set in memory, and closes the source.
func First(src Source, n int) (_ *Memory, err error) {
	defer func() { err = errors.Join(err, src.Close()) }()
	if have := len(src.Starts()) - 1; n < 1 || n > have {
		return nil, fmt.Errorf("episodes: the first %d are asked for, the data set has %d", n, have)
	}
	s, err := NewMemory(src.Meta())
	for i := 0; err == nil && i < n; i++ {
		var e Episode
		if e, err = Read(src, i); err == nil {
			err = s.Add(e)
		}
	}
	if err != nil {
		return nil, err
	}
	return s, s.Complete()
}

// Add adds an episode, which it copies.
func (s *Memory) Add(e Episode) error {
	if err := s.builder.Add(e); err != nil {
		return err
	}
	for i, x := range e.Columns {
		s.columns[i] = append(s.columns[i], dtypes.UnsafeByteSliceFromAny(x)...)
	}
	return nil
}

// Complete works the description out, after the last episode was added.
func (s *Memory) Complete() (err error) {
	s.meta, err = s.builder.Meta()
	return err
}

// Meta describes the set.
func (s *Memory) Meta() Meta { return s.meta }

// Starts returns the first row of every episode.
func (s *Memory) Starts() []int64 { return s.builder.Starts() }

// Gather copies rows of a column.
func (s *Memory) Gather(column int, rows []int64, out any) error {
	index := make([]int, len(rows))
	last := s.Starts()[len(s.Starts())-1]
	for i, r := range rows {
		if r < 0 || r >= last {
			return fmt.Errorf("row %d of %d", r, last)
		}
		index[i] = int(r)
	}
	rowcopy.Gather(dtypes.UnsafeByteSliceFromAny(out), s.columns[column], index, s.sizes[column])
	return nil
}

// Close does nothing.
func (s *Memory) Close() error { return nil }
