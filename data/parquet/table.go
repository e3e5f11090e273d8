package parquet

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/parquet-go/parquet-go/format"
)

// Column is a column of a plain table: whole numbers, or numbers of which NaN is null.
type Column struct {
	Name   string
	Ints   []int64
	Texts  []string  // used if Ints is nil
	Floats []float64 // used if Ints and Texts are nil
}

// tableGroup is the number of rows of a table's row groups.
const tableGroup = 1 << 16

// WriteTable writes columns of equal length as a Parquet file, for programs that read tables. It
// is no data set.
func WriteTable(to io.Writer, columns []Column) error {
	fields, rows := make([]field, len(columns)), 0
	for i, c := range columns {
		fields[i], rows = c.field(), c.len()
	}
	buffer := bufio.NewWriter(to)
	s := newSheet(buffer, fields)
	for from := 0; from < rows; from += tableGroup {
		n := min(tableGroup, rows-from)
		part := make([]cells, len(columns))
		for i, c := range columns {
			part[i] = c.cells(from, n)
		}
		if err := s.group(n, part); err != nil {
			return err
		}
	}
	if err := s.close(); err != nil {
		return err
	}
	return buffer.Flush()
}

// field describes the column.
func (c Column) field() field {
	switch {
	case c.Ints != nil:
		return field{name: c.Name, kind: format.Int64}
	case c.Texts != nil:
		return field{name: c.Name, kind: format.ByteArray, text: true}
	}
	return field{name: c.Name, kind: format.Double, nullable: true}
}

// len returns the number of the column's values.
func (c Column) len() int { return max(len(c.Ints), len(c.Texts), len(c.Floats)) }

// cells returns n of the column's values.
func (c Column) cells(from, n int) (out cells) {
	switch {
	case c.Ints != nil:
		for _, x := range c.Ints[from : from+n] {
			out.values = binary.LittleEndian.AppendUint64(out.values, uint64(x))
		}
		return out
	case c.Texts != nil:
		for _, x := range c.Texts[from : from+n] {
			out.values = append(binary.LittleEndian.AppendUint32(out.values, uint32(len(x))), x...)
		}
		return out
	}
	return floats(c.Floats[from : from+n])
}
