// Package parquet stores data sets in Parquet files. Importing it lets data.Open read them.
//
// A file has one row for each row of the set, so pandas, polars and DuckDB open it as it is: the
// columns of the set, and before them "episode", "step" and "final", which is true of the row that
// holds the final observation of an episode. Blocks of numbers are lists of a fixed size, blocks of
// bytes are binary values of a fixed size. The description of the set is JSON, under the key
// "weft.data" of the file's metadata.
//
// Pages are neither compressed nor encoded, and the file has an index of them. So a row's numbers
// lie at a known place in the file, which is mapped into memory: a set may be larger than the
// memory, and opening it reads its index alone. Files of other programs are read by weft data
// import.
package parquet

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/gomlx/compute/dtypes"

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
	out     *pqarrow.FileWriter
	builder *data.Builder
	schema  *arrow.Schema
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
	w.schema, w.most = schemaOf(w.columns), rowsOf(w.columns)
	w.out, err = pqarrow.NewFileWriter(w.schema, nopClose{w.buffer}, properties(), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		w.Abort()
		return nil, err
	}
	return w, nil
}

// nopClose keeps the Parquet writer from closing what it writes to.
type nopClose struct{ *bufio.Writer }

// properties has values lie in the file as they lie in memory.
func properties() *parquet.WriterProperties {
	return parquet.NewWriterProperties(
		parquet.WithDictionaryDefault(false), parquet.WithEncoding(parquet.Encodings.Plain), parquet.WithCompression(compress.Codecs.Uncompressed),
		parquet.WithDataPageVersion(parquet.DataPageV1), parquet.WithDataPageSize(1<<30), parquet.WithMaxRowGroupLength(groupMost),
		parquet.WithStats(false), parquet.WithPageIndexEnabled(true), parquet.WithCreatedBy("weft"),
	)
}

// rowsOf returns how many rows a row group has.
func rowsOf(columns []data.Column) int {
	n := 0
	for _, c := range columns {
		n += c.Shape.Size() * c.Shape.DType.Size()
	}
	return max(1, min(groupMost, groupSize/max(1, n)))
}

// schemaOf returns the columns of the file.
func schemaOf(columns []data.Column) *arrow.Schema {
	fields := []arrow.Field{
		{Name: "episode", Type: arrow.PrimitiveTypes.Int64}, {Name: "step", Type: arrow.PrimitiveTypes.Int32}, {Name: "final", Type: arrow.FixedWidthTypes.Boolean},
	}
	for _, c := range columns {
		fields = append(fields, arrow.Field{Name: c.Name, Type: typeOf(c)})
	}
	return arrow.NewSchema(fields, nil)
}

// simple are the types of single numbers.
var simple = map[dtypes.DType]arrow.DataType{
	dtypes.Float32: arrow.PrimitiveTypes.Float32, dtypes.Float64: arrow.PrimitiveTypes.Float64,
	dtypes.Int32: arrow.PrimitiveTypes.Int32, dtypes.Int64: arrow.PrimitiveTypes.Int64, dtypes.Bool: arrow.FixedWidthTypes.Boolean,
}

// typeOf returns the type of a column in the file.
func typeOf(c data.Column) arrow.DataType {
	n := c.Shape.Size()
	switch {
	case c.Shape.DType == dtypes.Uint8:
		return &arrow.FixedSizeBinaryType{ByteWidth: n}
	case c.Shape.Rank() == 0:
		return simple[c.Shape.DType]
	}
	return arrow.FixedSizeListOfNonNullable(int32(n), simple[c.Shape.DType])
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
	columns := []arrow.Array{
		numbers(arrow.PrimitiveTypes.Int64, w.rows, dtypes.UnsafeByteSliceFromAny(w.episode)),
		numbers(arrow.PrimitiveTypes.Int32, w.rows, dtypes.UnsafeByteSliceFromAny(w.step)), bools(w.final),
	}
	for i, c := range w.columns {
		columns = append(columns, arrayOf(c, w.rows, w.wait[i]))
		w.wait[i] = w.wait[i][:0]
	}
	err := w.out.Write(array.NewRecordBatch(w.schema, columns, int64(w.rows)))
	w.episode, w.step, w.final, w.rows = w.episode[:0], w.step[:0], w.final[:0], 0
	return err
}

// arrayOf returns rows of a column.
func arrayOf(c data.Column, rows int, raw []byte) arrow.Array {
	if c.Shape.DType == dtypes.Bool {
		flat := make([]bool, len(raw))
		for i, b := range raw {
			flat[i] = b != 0
		}
		return listed(c, rows, bools(flat))
	}
	if c.Shape.DType == dtypes.Uint8 {
		return numbers(typeOf(c), rows, raw)
	}
	return listed(c, rows, numbers(simple[c.Shape.DType], rows*c.Shape.Size(), raw))
}

// listed returns blocks of numbers as lists.
func listed(c data.Column, rows int, x arrow.Array) arrow.Array {
	if c.Shape.Rank() == 0 {
		return x
	}
	return array.MakeFromData(array.NewData(typeOf(c), rows, []*memory.Buffer{nil}, []arrow.ArrayData{x.Data()}, 0, 0))
}

func numbers(t arrow.DataType, n int, raw []byte) arrow.Array {
	return array.MakeFromData(array.NewData(t, n, []*memory.Buffer{nil, memory.NewBufferBytes(raw)}, nil, 0, 0))
}

func bools(x []bool) arrow.Array {
	b := array.NewBooleanBuilder(memory.DefaultAllocator)
	b.AppendValues(x, nil)
	return b.NewArray()
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
	err = errors.Join(w.flush(), w.out.AppendKeyValueMetadata(key, string(text)))
	if err == nil {
		err = w.out.Close()
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
