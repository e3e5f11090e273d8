package parquet

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"

	"github.com/gomlx/compute/dtypes"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/weft-rl/weft/data"
)

func init() {
	data.RegisterFormat(data.Format{Name: "Parquet", Magic: magic, Open: func(path string) (data.Source, error) { return Open(path) }})
}

// File is a data set in a Parquet file that is mapped into memory.
type File struct {
	meta    data.Meta
	starts  []int64
	columns []column
	file    *os.File
	mapped  []byte
	unmap   func() error
}

// column locates the values of one column.
type column struct {
	size  int     // bytes of a row; bits of one if the values are bits
	bits  bool    // values are bits, the lowest first
	first []int64 // row of every page
	page  [][]byte
}

// Open opens the data set of a file.
func Open(path string) (*File, error) {
	from, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	mapped, unmap, err := mapFile(from)
	if err != nil {
		return nil, errors.Join(err, from.Close())
	}
	f := &File{file: from, mapped: mapped, unmap: unmap}
	if err := f.open(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// open finds the description and the pages. A file that is cut off or overwritten may make it
// panic.
func (f *File) open() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the file is damaged: %v", r)
		}
	}()
	m, err := f.footer()
	if err != nil {
		return fmt.Errorf("the file is damaged: %w", err)
	}
	if err := f.describe(m); err != nil {
		return err
	}
	final, err := f.column(m, data.Column{Name: "final"}, 1, true)
	if err != nil {
		return err
	}
	for _, c := range f.meta.Columns() {
		bits := c.Shape.DType == dtypes.Bool
		size := c.Shape.Size()
		if !bits {
			size *= c.Shape.DType.Size()
		}
		x, err := f.column(m, c, size, bits)
		if err != nil {
			return err
		}
		f.columns = append(f.columns, x)
	}
	return f.findStarts(final, m.NumRows)
}

// footer reads what the file says of itself, at its end.
func (f *File) footer() (*format.FileMetaData, error) {
	end := len(f.mapped) - len(magic) - 4
	if end < len(magic) || string(f.mapped[end+4:]) != magic {
		return nil, io.ErrUnexpectedEOF
	}
	n := int64(binary.LittleEndian.Uint32(f.mapped[end:]))
	m := new(format.FileMetaData)
	return m, f.decode(m, int64(end)-n, n)
}

// decode reads a structure of Parquet's that lies in the file.
func (f *File) decode(x any, from, n int64) error {
	if from < 0 || n < 0 || n > int64(len(f.mapped))-from {
		return io.ErrUnexpectedEOF
	}
	text := slices.Clone(f.mapped[from : from+n])
	return thrift.NewDecoder(bounded{protocol.NewReaderFromBytes(text), len(text)}).Decode(x)
}

// bounded keeps the decoder from making room for lists that are longer than the input.
type bounded struct {
	thrift.BytesReader
	size int // bytes of the input
}

func (b bounded) ReadList() (thrift.List, error) {
	l, err := b.BytesReader.ReadList()
	if err == nil && int(l.Size) > b.size-b.BytesRead() {
		err = io.ErrUnexpectedEOF
	}
	return l, err
}

// describe reads the description of the set.
func (f *File) describe(m *format.FileMetaData) error {
	i := slices.IndexFunc(m.KeyValueMetadata, func(kv format.KeyValue) bool { return kv.Key == key })
	if i < 0 {
		return errors.New("it was not written by weft: weft data import makes a data set of it")
	}
	if err := json.Unmarshal([]byte(m.KeyValueMetadata[i].Value), &f.meta); err != nil {
		return fmt.Errorf("its description: %w", err)
	}
	return nil
}

// findStarts finds the first rows of episodes: each follows a final one.
func (f *File) findStarts(final column, rows int64) error {
	f.starts = []int64{0}
	for i, page := range final.page {
		to := rows
		if i+1 < len(final.first) {
			to = final.first[i+1]
		}
		for r := final.first[i]; r < to; r++ {
			if at := r - final.first[i]; page[at/8]>>(at%8)&1 == 1 {
				f.starts = append(f.starts, r+1)
			}
		}
	}
	episodes, last := int64(len(f.starts)-1), f.starts[len(f.starts)-1]
	if last != rows || episodes != f.meta.Episodes || rows-episodes != f.meta.Steps {
		return fmt.Errorf("it has %d episodes in %d rows, its description says %d of %d steps in all", episodes, rows, f.meta.Episodes, f.meta.Steps)
	}
	return nil
}

// column finds the pages of a column, whose values must lie there as they are.
func (f *File) column(m *format.FileMetaData, c data.Column, size int, bits bool) (out column, err error) {
	out = column{size: size, bits: bits}
	from := int64(0)
	for i, g := range m.RowGroups {
		chunk := find(g.Columns, c.Name)
		if chunk == nil {
			return out, fmt.Errorf("the file has no column %q", c.Name)
		}
		if err := f.pages(&out, chunk, from, g.NumRows); err != nil {
			return out, fmt.Errorf("row group %d, from row %d on: column %q: %w", i, from, c.Name, err)
		}
		from += g.NumRows
	}
	return out, nil
}

// find returns the column of a name; of a list it is that of its elements.
func find(columns []format.ColumnChunk, name string) *format.ColumnChunk {
	for i, c := range columns {
		if path := c.MetaData.PathInSchema; len(path) > 0 && path[0] == name {
			return &columns[i]
		}
	}
	return nil
}

// pages adds the pages of a column of a row group.
func (f *File) pages(out *column, chunk *format.ColumnChunk, from, rows int64) error {
	plain := func(e format.Encoding) bool { return e == format.Plain || e == format.RLE } // levels are RLE
	m := &chunk.MetaData
	if m.Codec != format.Uncompressed || m.DictionaryPageOffset != 0 || slices.ContainsFunc(m.Encoding, func(e format.Encoding) bool { return !plain(e) }) {
		return errors.New("its values are compressed or encoded, so they cannot be mapped: weft data import makes a data set of the file")
	}
	if chunk.OffsetIndexLength == 0 {
		return errors.New("the file has no index of its pages: weft data import makes a data set of it")
	}
	var index format.OffsetIndex
	if err := f.decode(&index, chunk.OffsetIndexOffset, int64(chunk.OffsetIndexLength)); err != nil {
		return fmt.Errorf("the index of its pages is damaged: %w", err)
	}
	list := index.PageLocations
	if len(list) == 0 || list[0].FirstRowIndex != 0 {
		return errors.New("the index of its pages is damaged: it does not begin with the first row")
	}
	for i, p := range list {
		to := rows
		if i+1 < len(list) {
			to = list[i+1].FirstRowIndex
		}
		n := (to - p.FirstRowIndex) * int64(out.size)
		if out.bits {
			n = (n + 7) / 8
		}
		// Values are the last thing in a page, behind its header and the levels of lists.
		end := p.Offset + int64(p.CompressedPageSize)
		if n <= 0 || n > int64(p.CompressedPageSize) || p.Offset < 0 || end > int64(len(f.mapped)) {
			return io.ErrUnexpectedEOF
		}
		out.first, out.page = append(out.first, from+p.FirstRowIndex), append(out.page, f.mapped[end-n:end])
	}
	return nil
}

// Meta describes the set.
func (f *File) Meta() data.Meta { return f.meta }

// Starts returns the first row of every episode.
func (f *File) Starts() []int64 { return f.starts }

// Distant reports that rows may have to be read from the disk.
func (f *File) Distant() bool { return true }

// Gather copies rows of a column.
func (f *File) Gather(number int, rows []int64, out any) error {
	c, last := &f.columns[number], f.starts[len(f.starts)-1]
	for _, r := range rows {
		if r < 0 || r >= last {
			return fmt.Errorf("row %d of %d", r, last)
		}
	}
	to := dtypes.UnsafeByteSliceFromAny(out)
	cold := !c.bits && f.cold(c, rows)
	for i, r := range rows {
		part := to[i*c.size : (i+1)*c.size]
		if !cold {
			c.copy(part, r)
		} else if err := f.fetch(part, c.at(r)); err != nil {
			return err
		}
	}
	return nil
}

// fetch reads bytes of the mapping from the file.
func (f *File) fetch(to, at []byte) error {
	_, err := f.file.ReadAt(to, f.offset(at))
	return err
}

// offset returns where bytes of the mapping lie in the file: both end where the mapping ends.
func (f *File) offset(at []byte) int64 { return int64(cap(f.mapped) - cap(at)) }

// locate returns the page of a row, and the row's number in it.
func (c *column) locate(r int64) (page []byte, row int) {
	p := 0
	if len(c.first) > 1 {
		p = sort.Search(len(c.first), func(p int) bool { return c.first[p] > r }) - 1
	}
	return c.page[p], int(r - c.first[p])
}

// at returns the bytes of a row, of a column whose values are not bits.
func (c *column) at(r int64) []byte {
	page, row := c.locate(r)
	return page[row*c.size : (row+1)*c.size]
}

// copy copies a row. Bits become bytes.
func (c *column) copy(out []byte, r int64) {
	if !c.bits {
		copy(out, c.at(r))
		return
	}
	page, row := c.locate(r)
	for i := range out {
		at := row*c.size + i
		out[i] = page[at/8] >> (at % 8) & 1
	}
}

// Close unmaps the file, and closes it.
func (f *File) Close() error { return errors.Join(f.unmap(), f.file.Close()) }
