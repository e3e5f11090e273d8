package rl

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/weft-rl/weft/internal/rowcopy"
)

// Framing says how an array is put together from others: a row is as many frames as Index
// has numbers for it, joined along the last axis.
type Framing struct {
	Inner int      // bytes of a frame that lie together in a row
	Each  int      // frames in each of Of
	Index string   // array of the frames' numbers, int32 [rows, frames]
	Of    []string // arrays of frames, uint8 [frames, bytes]
}

// under returns the framing with its names below a prefix.
func (k *Framing) under(prefix string) *Framing {
	out := &Framing{k.Inner, k.Each, prefix + k.Index, slices.Clone(k.Of)}
	for i := range out.Of {
		out.Of[i] = prefix + out.Of[i]
	}
	return out
}

// Stored returns the arrays that a checkpoint holds.
func (system) Stored(arrays []Array) []Array {
	return slices.DeleteFunc(slices.Clone(arrays), func(a Array) bool { return a.Framing != nil })
}

// Expanded returns arrays as the plain state has them, without parts: those put together
// from parts have a Source that does it as they are read.
func (system) Expanded(arrays []Array) (out []Array) {
	parts := map[string]Array{}
	for _, a := range arrays {
		if a.Part {
			parts[a.Name] = a
		}
	}
	for _, a := range arrays {
		switch {
		case a.Part:
			continue
		case a.Framing != nil:
			a.Source, a.Framing = newJoined(a, parts), nil
		}
		out = append(out, a)
	}
	return out
}

// joined reads an array that is put together from parts.
type joined struct {
	Framing
	rows  int
	n     int // frames of a row
	size  int // bytes of a frame
	index io.ReaderAt
	of    []io.ReaderAt
}

func newJoined(a Array, parts map[string]Array) *joined {
	index, ok := parts[a.Framing.Index]
	if !ok || index.Shape.Rank() != 2 || a.Shape.Rank() == 0 || index.Shape.Dimensions[0] != a.Shape.Dimensions[0] ||
		index.Shape.Dimensions[1] < 1 || a.Framing.Each < 1 || a.Framing.Inner < 1 {
		failf("state %q cannot be put together from %q", a.Name, a.Framing.Index)
	}
	j := &joined{Framing: *a.Framing, rows: a.Shape.Dimensions[0], n: index.Shape.Dimensions[1], index: index.reader()}
	for _, name := range a.Framing.Of {
		part, ok := parts[name]
		if !ok {
			failf("state %q lacks %q, which it is put together from", a.Name, name)
		}
		j.of = append(j.of, part.reader())
	}
	if j.rows > 0 {
		j.size = a.Shape.Size() / j.rows * a.Shape.DType.Size() / j.n
	}
	return j
}

// ReadAt implements io.ReaderAt.
func (j *joined) ReadAt(p []byte, off int64) (n int, err error) {
	size := int64(j.n * j.size)
	row, frames := make([]byte, size), make([][]byte, j.n)
	for i := range frames {
		frames[i] = make([]byte, j.size)
	}
	for n < len(p) {
		r := (off + int64(n)) / max(1, size)
		if r >= int64(j.rows) {
			return n, io.EOF
		}
		if err := j.read(row, frames, r); err != nil {
			return n, err
		}
		n += copy(p[n:], row[(off+int64(n))-r*size:])
	}
	return n, nil
}

// read puts one row together.
func (j *joined) read(row []byte, frames [][]byte, r int64) error {
	index := make([]byte, 4*j.n)
	if _, err := j.index.ReadAt(index, r*int64(len(index))); err != nil && err != io.EOF {
		return err
	}
	for i, frame := range frames {
		at := int(int32(binary.NativeEndian.Uint32(index[4*i:])))
		if at < 0 || at/j.Each >= len(j.of) {
			return fmt.Errorf("frame %d is missing from the %d arrays of frames", at, len(j.of))
		}
		if _, err := j.of[at/j.Each].ReadAt(frame, int64(at%j.Each*j.size)); err != nil && err != io.EOF {
			return err
		}
	}
	rowcopy.Join(row, frames, j.Inner)
	return nil
}
