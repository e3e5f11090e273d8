package checkpoint

import (
	"bytes"
	"io"
)

// Stamped is a Source that knows when its bytes change: two of the same name that are
// saved one after the other have the same stamp for a range of bytes only if the bytes
// are the same. What has the stamp of the checkpoint before need not be read.
type Stamped interface {
	Stamp(from, to int64) [2]uint64
}

// bytes returns how many bytes of data an array has, once it has been checked.
func (a Array) bytes() int64 {
	if a.Source == nil {
		return int64(len(a.Data))
	}
	n, _ := a.size()
	return n
}

// reader reads an array's data.
func (a Array) reader() *io.SectionReader {
	if a.Source == nil {
		return io.NewSectionReader(bytes.NewReader(a.Data), 0, int64(len(a.Data)))
	}
	return io.NewSectionReader(a.Source, 0, a.bytes())
}

// writeTo writes an array's data.
func (a Array) writeTo(w io.Writer) (int64, error) {
	if a.Source == nil {
		n, err := w.Write(a.Data)
		return int64(n), err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{a.reader()}, make([]byte, blockSize))
	if err == nil && n < a.bytes() {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Load returns the array with its data in memory.
func (a Array) Load() (Array, error) {
	if a.Source == nil {
		return a, nil
	}
	data := buffer(a.bytes())
	if _, err := io.ReadFull(a.reader(), data); err != nil {
		return a, err
	}
	a.Data, a.Source = data, nil
	return a, nil
}
