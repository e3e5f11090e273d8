package parquet

import (
	"bufio"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// Column is a column of a plain table: whole numbers, or numbers of which NaN is null.
type Column struct {
	Name   string
	Ints   []int64
	Texts  []string  // used if Ints is nil
	Floats []float64 // used if Ints and Texts are nil
}

// WriteTable writes columns of equal length as a Parquet file, compressed, for programs that read
// tables. It is no data set.
func WriteTable(to io.Writer, columns []Column) error {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.Name, Type: arrow.PrimitiveTypes.Int64}
		switch {
		case c.Texts != nil:
			fields[i] = arrow.Field{Name: c.Name, Type: arrow.BinaryTypes.String}
		case c.Ints == nil:
			fields[i] = arrow.Field{Name: c.Name, Type: arrow.PrimitiveTypes.Float64, Nullable: true}
		}
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i, c := range columns {
		c.append(b.Field(i))
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	buffer := bufio.NewWriter(to)
	w, err := pqarrow.NewFileWriter(schema, nopClose{buffer},
		parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithCreatedBy("weft")), pqarrow.DefaultWriterProps())
	if err != nil {
		return err
	}
	if err := w.Write(batch); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return buffer.Flush()
}

// append adds the column's values to what is built.
func (c Column) append(to array.Builder) {
	switch {
	case c.Ints != nil:
		to.(*array.Int64Builder).AppendValues(c.Ints, nil)
		return
	case c.Texts != nil:
		to.(*array.StringBuilder).AppendValues(c.Texts, nil)
		return
	}
	valid := make([]bool, len(c.Floats))
	for i, x := range c.Floats {
		valid[i] = !math.IsNaN(x)
	}
	to.(*array.Float64Builder).AppendValues(c.Floats, valid)
}
