package parquet

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// magic begins and ends a Parquet file.
const magic = "PAR1"

// protocol encodes what a file says of itself.
var protocol thrift.CompactProtocol

// field describes a column of a file.
type field struct {
	name     string
	kind     format.Type
	width    int  // bytes of a value of type FixedLenByteArray
	list     int  // numbers of a list; 0 if a value is a single number
	text     bool // byte arrays are UTF-8
	nullable bool // single values may be missing
}

// cells holds a column's values of one row group, encoded as PLAIN. Of a nullable column valid
// says which rows have one.
type cells struct {
	values []byte
	valid  []bool
}

// sheet writes a Parquet file of plain pages, neither compressed nor encoded, and an index of
// them. Every column of a row group is one page.
type sheet struct {
	to     io.Writer
	at     int64
	err    error // the first one of to
	fields []field
	groups []format.RowGroup
}

// newSheet begins a file.
func newSheet(to io.Writer, fields []field) *sheet {
	s := &sheet{to: to, fields: fields}
	s.write([]byte(magic))
	return s
}

// write writes bytes, unless an earlier write failed.
func (s *sheet) write(b []byte) {
	if s.err != nil {
		return
	}
	_, s.err = s.to.Write(b)
	s.at += int64(len(b))
}

// encode writes a structure of Parquet's and returns its length.
func (s *sheet) encode(x any) int {
	b, err := thrift.Marshal(&protocol, x)
	if s.err == nil {
		s.err = err
	}
	s.write(b)
	return len(b)
}

// group writes rows of all columns as a row group.
func (s *sheet) group(rows int, columns []cells) error {
	g := format.RowGroup{NumRows: int64(rows), FileOffset: s.at, Ordinal: int16(len(s.groups))}
	for i, f := range s.fields {
		chunk := s.page(f, rows, columns[i])
		g.TotalByteSize += chunk.MetaData.TotalUncompressedSize
		g.Columns = append(g.Columns, chunk)
	}
	g.TotalCompressedSize = g.TotalByteSize
	s.groups = append(s.groups, g)
	return s.err
}

// page writes the rows of a column as a page.
func (s *sheet) page(f field, rows int, c cells) format.ColumnChunk {
	levels, nulls := f.levels(rows, c.valid)
	from, n, size := s.at, rows*max(1, f.list), int32(len(levels)+len(c.values))
	s.encode(&format.PageHeader{
		Type: format.DataPage, UncompressedPageSize: size, CompressedPageSize: size,
		DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues: int32(n), Encoding: format.Plain, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
			Statistics: format.Statistics{NullCount: nulls},
		}),
	})
	s.write(levels)
	s.write(c.values)
	return format.ColumnChunk{MetaData: format.ColumnMetaData{
		Type: f.kind, Encoding: []format.Encoding{format.Plain, format.RLE}, PathInSchema: f.path(), NumValues: int64(n),
		TotalUncompressedSize: s.at - from, TotalCompressedSize: s.at - from, DataPageOffset: from,
		Statistics: format.Statistics{NullCount: nulls},
	}}
}

// levels returns what stands before the values of a page: where lists begin, and which values are
// there. A single value that is always there needs neither.
func (f field) levels(rows int, valid []bool) (out []byte, nulls int64) {
	switch {
	case f.list > 0:
		out = bitLevels(out, rows*f.list, func(i int) bool { return i%f.list > 0 })
		return bitLevels(out, rows*f.list, func(int) bool { return true }), 0
	case f.nullable:
		for _, there := range valid {
			if !there {
				nulls++
			}
		}
		return bitLevels(out, rows, func(i int) bool { return valid[i] }), nulls
	}
	return nil, 0
}

// bitLevels appends n levels of 0 or 1, as one bit-packed run behind its length.
func bitLevels(out []byte, n int, one func(i int) bool) []byte {
	packed := make([]byte, (n+7)/8)
	for i := range n {
		if one(i) {
			packed[i/8] |= 1 << (i % 8)
		}
	}
	run := append(binary.AppendUvarint(nil, uint64(len(packed))<<1|1), packed...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(run))), run...)
}

// path returns where the column's values are in the schema.
func (f field) path() []string {
	if f.list > 0 {
		return []string{f.name, "list", "element"}
	}
	return []string{f.name}
}

// elements returns the column's part of the schema.
func (f field) elements() []format.SchemaElement {
	leaf := format.SchemaElement{Name: f.name, Type: thrift.New(f.kind), RepetitionType: thrift.New(format.Required)}
	if f.width > 0 {
		leaf.TypeLength = thrift.New(int32(f.width))
	}
	if f.text {
		leaf.ConvertedType, leaf.LogicalType.Value = thrift.New(deprecated.UTF8), &format.StringType{}
	}
	if f.nullable {
		leaf.RepetitionType = thrift.New(format.Optional)
	}
	if f.list == 0 {
		return []format.SchemaElement{leaf}
	}
	leaf.Name = "element"
	outer := format.SchemaElement{
		Name: f.name, RepetitionType: thrift.New(format.Required), NumChildren: thrift.New(int32(1)),
		ConvertedType: thrift.New(deprecated.List), LogicalType: format.LogicalType{Value: &format.ListType{}},
	}
	inner := format.SchemaElement{Name: "list", RepetitionType: thrift.New(format.Repeated), NumChildren: thrift.New(int32(1))}
	return []format.SchemaElement{outer, inner, leaf}
}

// close writes the index and the footer, with what the file says under keys.
func (s *sheet) close(about ...format.KeyValue) error {
	m := format.FileMetaData{Version: 1, CreatedBy: "weft", RowGroups: s.groups, KeyValueMetadata: about}
	for g := range s.groups {
		m.NumRows += s.groups[g].NumRows
		for i := range s.groups[g].Columns {
			c := &s.groups[g].Columns[i]
			c.OffsetIndexOffset = s.at
			c.OffsetIndexLength = int32(s.encode(&format.OffsetIndex{PageLocations: []format.PageLocation{
				{Offset: c.MetaData.DataPageOffset, CompressedPageSize: int32(c.MetaData.TotalCompressedSize)},
			}}))
		}
	}
	m.Schema = []format.SchemaElement{{Name: "schema", RepetitionType: thrift.New(format.Required), NumChildren: thrift.New(int32(len(s.fields)))}}
	for _, f := range s.fields {
		m.Schema = append(m.Schema, f.elements()...)
	}
	n := s.encode(&m)
	s.write(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), magic...))
	return s.err
}

// floats returns the PLAIN encoding of those values that are numbers, and which are.
func floats(x []float64) cells {
	c := cells{valid: make([]bool, len(x))}
	for i, v := range x {
		if c.valid[i] = !math.IsNaN(v); c.valid[i] {
			c.values = binary.LittleEndian.AppendUint64(c.values, math.Float64bits(v))
		}
	}
	return c
}
