// Package parquet stores data sets in Parquet files. Importing it lets data.Open read them.
//
// A file has one row for each row of the set, so pandas, polars and DuckDB open it as it is: the
// columns of the set, and before them "episode", "step" and "final", which is true of the row that
// holds the final observation of an episode. Blocks of numbers are lists, blocks of bytes are
// binary values of a fixed size. The description of the set is JSON, under the key "weft.data" of
// the file's metadata.
//
// Pages are neither compressed nor encoded, and the file has an index of them. So a row's numbers
// lie at a known place in the file, which is mapped into memory: a set may be larger than the
// memory, and opening it reads its index alone. Files of other programs are read by weft data
// import.
//
// The structures at the end of a file, and their encoding, are parquet-go's. Pages as plain as
// these need nothing else of a library; Arrow's encoders, compressors and kernels took a third of
// the time that the command takes to compile.
package parquet

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gomlx/compute/dtypes"
	"github.com/parquet-go/parquet-go/format"

	"github.com/weft-rl/weft/data"
)

const (
	key       = "weft.data" // of the description
	groupSize = 32 << 20    // bytes of a row group, about
	groupMost = 1 << 16     // rows of one
)

// Writer writes a data set. The file appears under its name when Commit has written all of it.
type Writer struct {
	path    string
	file    *os.File
	buffer  *bufio.Writer
	out     *sheet
	builder *data.Builder
	columns []data.Column

	most    int // rows of a row group
	rows    int // that wait to be written
	episode []int64
	step    []int32
	final   []bool
	wait    [][]byte // of the set's columns
}

// Create begins a data set that m describes: its spaces, extra columns and what they are about.
func Create(path string, m data.Meta) (*Writer, error) {
	w, err := create(path, m)
	if err != nil {
		return nil, fmt.Errorf("data set %s: %w", path, err)
	}
	return w, nil
}

func create(path string, m data.Meta) (*Writer, error) {
	b, err := data.NewBuilder(m)
	if err != nil {
		return nil, err
	}
	if s, err := os.Stat(path); err == nil && s.IsDir() {
		return nil, errors.New("it is a folder: a data set is a file")
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".weft-data-*")
	if err != nil {
		return nil, err
	}
	w := &Writer{path: path, file: file, buffer: bufio.NewWriterSize(file, 1<<20), builder: b, columns: m.Columns()}
	w.wait = make([][]byte, len(w.columns))
	w.most = rowsOf(w.columns)
	w.out = newSheet(w.buffer, fieldsOf(w.columns))
	return w, nil
}

// rowsOf returns how many rows a row group has.
func rowsOf(columns []data.Column) int {
	n := 0
	for _, c := range columns {
		n += c.Shape.Size() * c.Shape.DType.Size()
	}
	return max(1, min(groupMost, groupSize/max(1, n)))
}

// fieldsOf returns the columns of the file.
func fieldsOf(columns []data.Column) []field {
	fields := []field{{name: "episode", kind: format.Int64}, {name: "step", kind: format.Int32}, {name: "final", kind: format.Boolean}}
	for _, c := range columns {
		fields = append(fields, fieldOf(c))
	}
	return fields
}

// kinds holds the types of numbers.
var kinds = map[dtypes.DType]format.Type{
	dtypes.Float32: format.Float, dtypes.Float64: format.Double, dtypes.Int32: format.Int32, dtypes.Int64: format.Int64, dtypes.Bool: format.Boolean,
}

// fieldOf describes a column in the file.
func fieldOf(c data.Column) field {
	n := c.Shape.Size()
	switch {
	case c.Shape.DType == dtypes.Uint8:
		return field{name: c.Name, kind: format.FixedLenByteArray, width: n}
	case c.Shape.Rank() == 0:
		return field{name: c.Name, kind: kinds[c.Shape.DType]}
	}
	return field{name: c.Name, kind: kinds[c.Shape.DType], list: n}
}

// Add writes an episode. An error names the episode and its row; nothing of it is written then.
func (w *Writer) Add(e data.Episode) error {
	if err := w.builder.Add(e); err != nil {
		return fmt.Errorf("data set %s: %w", w.path, err)
	}
	number := int64(len(w.builder.Starts()) - 2)
	for from := 0; from <= e.Steps; {
		n := min(e.Steps+1-from, w.most-w.rows)
		for i, x := range e.Columns {
			size := w.columns[i].Shape.Size() * w.columns[i].Shape.DType.Size()
			w.wait[i] = append(w.wait[i], dtypes.UnsafeByteSliceFromAny(x)[from*size:(from+n)*size]...)
		}
		for t := from; t < from+n; t++ {
			w.episode, w.step, w.final = append(w.episode, number), append(w.step, int32(t)), append(w.final, t == e.Steps)
		}
		from, w.rows = from+n, w.rows+n
		if w.rows == w.most {
			if err := w.flush(); err != nil {
				return fmt.Errorf("data set %s: %w", w.path, err)
			}
		}
	}
	return nil
}

// flush writes the rows that wait as a row group.
func (w *Writer) flush() error {
	if w.rows == 0 {
		return nil
	}
	columns := []cells{{values: dtypes.UnsafeByteSliceFromAny(w.episode)}, {values: dtypes.UnsafeByteSliceFromAny(w.step)}, {values: pack(w.final)}}
	for i, c := range w.columns {
		values := w.wait[i]
		if c.Shape.DType == dtypes.Bool {
			values = pack(values)
		}
		columns = append(columns, cells{values: values})
		w.wait[i] = w.wait[i][:0]
	}
	err := w.out.group(w.rows, columns)
	w.episode, w.step, w.final, w.rows = w.episode[:0], w.step[:0], w.final[:0], 0
	return err
}

// pack returns bytes of 0 or 1 as bits, the lowest first.
func pack[T ~byte | ~bool](x []T) []byte {
	bits := make([]byte, (len(x)+7)/8)
	var zero T
	for i, b := range x {
		if b != zero {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return bits
}

// Commit writes what is left, and gives the file its name. A file that had the name is replaced.
func (w *Writer) Commit() (data.Meta, error) {
	m, err := w.commit()
	if err != nil {
		w.Abort()
		return m, fmt.Errorf("data set %s: %w", w.path, err)
	}
	return m, nil
}

func (w *Writer) commit() (data.Meta, error) {
	m, err := w.builder.Meta()
	if err != nil {
		return m, err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return m, err
	}
	err = w.flush()
	if err == nil {
		err = w.out.close(format.KeyValue{Key: key, Value: string(text)})
	}
	if err == nil {
		err = errors.Join(w.buffer.Flush(), w.file.Chmod(0o644), w.file.Sync())
	}
	if err == nil {
		err = errors.Join(w.file.Close(), os.Rename(w.file.Name(), w.path))
	}
	return m, err
}

// Abort removes what was written, unless it was committed.
func (w *Writer) Abort() {
	_ = w.file.Close()
	_ = os.Remove(w.file.Name()) // renamed already, if it was committed
}
