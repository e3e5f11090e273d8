package checkpoint

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Large arrays with a Source are kept in files of their own, in blocks: a checkpoint
// names the blocks that its arrays are made of, and saving writes those alone that no
// file has yet. A block file is never changed. It is removed when no checkpoint that is
// kept names a block of it.
const (
	blockSize = 256 << 10
	// blocksFrom is the size from which an array is kept in blocks.
	blocksFrom = 4 * blockSize
	// mostFiles is how many block files a checkpoint may name before blocks of the
	// smaller ones are written again, into one.
	mostFiles = 64

	blockExtension = ".blocks"
	keyBlocks      = ownPrefix + "blocks"
	blockedVersion = "2" // version of checkpoints that name blocks
	tablePrefix    = ownPrefix + "blocks/"
	refSize        = sha256.Size + 4 + 8
)

// ref is where a block is.
type ref struct {
	sum  [sha256.Size]byte
	file string
	at   int64
}

// listing describes, in a checkpoint's metadata, the arrays that are stored in blocks. A
// table for each array, itself an array of bytes, names its blocks.
type listing struct {
	Files  []string `json:"files"`
	Arrays []listed `json:"arrays"`
}

type listed struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

// blocked is an array in blocks, as it was saved or read last.
type blocked struct {
	bytes  int64
	refs   []ref
	stamps [][2]uint64 // stamps of a Stamped source; nil if they are unknown
}

// blocksOf returns how many blocks so many bytes are.
func blocksOf(n int64) int { return int((n + blockSize - 1) / blockSize) }

// length returns the bytes of block i.
func (b *blocked) length(i int) int64 { return min(blockSize, b.bytes-int64(i)*blockSize) }

// files returns the names of the files that blocks are in, and how many bytes of each.
func filesOf(arrays map[string]*blocked) map[string]int64 {
	out := map[string]int64{}
	for _, b := range arrays {
		for i, r := range b.refs {
			out[r.file] += b.length(i)
		}
	}
	return out
}

// blockWriter writes the blocks of a checkpoint that no file has yet.
type blockWriter struct {
	d     *Dir
	step  int64
	old   map[string]*blocked // arrays of the previous checkpoint
	again map[string]bool     // files whose blocks are written again
	now   map[string]*blocked

	temp  string
	file  diskFile
	sum   hash.Hash
	size  int64
	fresh []*ref // blocks that were written, without the file's name
}

// saveBlocks keeps the large arrays of f in block files, and returns f with tables in
// their place. done must be called when the checkpoint that names the blocks is there.
func (d *Dir) saveBlocks(step int64, f File) (out File, own map[string]string, done func(), err error) {
	w := &blockWriter{d: d, step: step, old: d.blocks, again: d.stale(), now: map[string]*blocked{}}
	out.Meta = f.Meta
	var large []Array
	for _, a := range f.Arrays {
		if a.Source != nil && a.bytes() >= blocksFrom {
			large = append(large, a)
		} else {
			out.Arrays = append(out.Arrays, a)
		}
	}
	if len(large) == 0 {
		return f, nil, func() { d.blocks = nil }, nil
	}
	for _, a := range large {
		if err == nil {
			err = w.array(a)
		}
	}
	if err = w.finish(err); err != nil {
		return File{}, nil, nil, err
	}
	l, tables := list(large, w.now)
	text, err := json.Marshal(l)
	out.Arrays = append(out.Arrays, tables...)
	return out, map[string]string{keyBlocks: string(text), keyFormat: blockedVersion}, func() { d.blocks = w.now }, err
}

// stale returns block files that are not worth keeping: those of which less than half
// is still in use, and the smaller half where there are too many.
func (d *Dir) stale() map[string]bool {
	out, live := map[string]bool{}, filesOf(d.blocks)
	var names []string
	for name, n := range live {
		names = append(names, name)
		if info, err := os.Stat(filepath.Join(d.path, name)); err != nil || n < info.Size()/2 {
			out[name] = true
		}
	}
	if len(names) > mostFiles {
		slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(live[a], live[b]), cmp.Compare(a, b)) })
		for _, name := range names[:len(names)/2] {
			out[name] = true
		}
	}
	return out
}

// array keeps an array's blocks.
func (w *blockWriter) array(a Array) error {
	if err := a.check(); err != nil {
		return err
	}
	b := &blocked{bytes: a.bytes()}
	n := blocksOf(b.bytes)
	b.refs, b.stamps = make([]ref, n), make([][2]uint64, n)
	old := w.old[a.Name]
	stamped, _ := a.Source.(Stamped)
	buf := make([]byte, blockSize)
	for i := range b.refs {
		from := int64(i) * blockSize
		to := from + b.length(i)
		if stamped != nil {
			b.stamps[i] = stamped.Stamp(from, to)
		}
		was := w.was(old, b, i)
		if was != nil && stamped != nil && old.stamps != nil && old.stamps[i] == b.stamps[i] {
			b.refs[i] = *was
			continue
		}
		block := buf[:to-from]
		if _, err := io.ReadFull(io.NewSectionReader(a.Source, from, to-from), block); err != nil {
			return fmt.Errorf("array %q: %w", a.Name, err)
		}
		b.refs[i].sum = sha256.Sum256(block)
		if was != nil && was.sum == b.refs[i].sum {
			b.refs[i] = *was
		} else if err := w.put(&b.refs[i], block); err != nil {
			return err
		}
	}
	if stamped == nil {
		b.stamps = nil
	}
	w.now[a.Name] = b
	return nil
}

// was returns where block i was kept by the checkpoint before, if it may still be there.
func (w *blockWriter) was(old, now *blocked, i int) *ref {
	if old == nil || i >= len(old.refs) || old.length(i) != now.length(i) || w.again[old.refs[i].file] {
		return nil
	}
	return &old.refs[i]
}

// put writes a block.
func (w *blockWriter) put(r *ref, block []byte) error {
	if w.file == nil {
		path := filepath.Join(w.d.path, blockName(w.step, "new"))
		temp, file, err := createTemp(w.d.disk, path)
		if err != nil {
			return named(path, err)
		}
		w.temp, w.file, w.sum = temp, file, sha256.New()
	}
	if _, err := (fullWriter{w.file}).Write(block); err != nil {
		return named(w.temp, err)
	}
	w.sum.Write(block)
	r.at = w.size
	w.size += int64(len(block))
	w.fresh = append(w.fresh, r)
	return nil
}

// finish gives the file its name once it is on disk; after an error it removes it.
func (w *blockWriter) finish(err error) error {
	if w.file == nil {
		return err
	}
	if err == nil {
		err = w.file.Sync()
	}
	err = errors.Join(err, w.file.Close())
	name := blockName(w.step, hex.EncodeToString(w.sum.Sum(nil))[:16])
	if err == nil {
		err = w.d.disk.rename(w.temp, filepath.Join(w.d.path, name))
	}
	if err != nil {
		return named(name, errors.Join(err, removeAny(w.d.disk, w.temp)))
	}
	for _, r := range w.fresh {
		r.file = name
	}
	return w.d.disk.syncDir(w.d.path)
}

// blockName returns the name of a step's block file: a part of the sum makes it another
// where a step is saved twice.
func blockName(step int64, sum string) string {
	return fmt.Sprintf("%s%012d.%s%s", stepPrefix, step, sum, blockExtension)
}

// list returns what a checkpoint says of arrays in blocks.
func list(arrays []Array, now map[string]*blocked) (l listing, tables []Array) {
	number := map[string]int{}
	for _, a := range byName(arrays) {
		l.Arrays = append(l.Arrays, listed{a.Name, a.DType, append([]int{}, a.Shape...)})
		table := make([]byte, 0, len(now[a.Name].refs)*refSize)
		for _, r := range now[a.Name].refs {
			i, ok := number[r.file]
			if !ok {
				i = len(l.Files)
				number[r.file], l.Files = i, append(l.Files, r.file)
			}
			table = append(table, r.sum[:]...)
			table = binary.LittleEndian.AppendUint32(table, uint32(i))
			table = binary.LittleEndian.AppendUint64(table, uint64(r.at))
		}
		tables = append(tables, Array{Name: tablePrefix + a.Name, DType: "U8", Shape: []int{len(table)}, Data: table})
	}
	return l, tables
}

// resolve gives a checkpoint that was read from dir its arrays in blocks. They are read,
// and checked, when their data are.
func resolve(dir string, f File, own map[string]string) (File, map[string]*blocked, error) {
	text, ok := own[keyBlocks]
	if !ok {
		return f, nil, nil
	}
	var l listing
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return File{}, nil, damaged("its list of blocks is wrong: %v", err)
	}
	files, all := &blockFiles{dir: dir, open: map[string]*os.File{}}, map[string]*blocked{}
	for _, x := range l.Arrays {
		a := Array{Name: x.Name, DType: x.DType, Shape: x.Shape}
		n, err := a.size()
		if err == nil {
			err = a.checkName()
		}
		table, ok := f.Array(tablePrefix + x.Name)
		if err != nil || !ok || len(table.Data) != blocksOf(n)*refSize {
			return File{}, nil, damaged("its list of blocks of array %q is wrong", x.Name)
		}
		b := &blocked{bytes: n, refs: make([]ref, blocksOf(n))}
		if err := b.parse(table.Data, l.Files); err != nil {
			return File{}, nil, err
		}
		a.Source, all[x.Name] = &blockReader{files: files, of: b, at: -1}, b
		f.Arrays = append(slices.DeleteFunc(f.Arrays, func(t Array) bool { return t.Name == table.Name }), a)
	}
	f.Arrays = byName(f.Arrays)
	return f, all, nil
}

// parse reads a table of blocks.
func (b *blocked) parse(table []byte, files []string) error {
	for i := range b.refs {
		row := table[i*refSize:]
		r := &b.refs[i]
		copy(r.sum[:], row)
		file := binary.LittleEndian.Uint32(row[sha256.Size:])
		r.at = int64(binary.LittleEndian.Uint64(row[sha256.Size+4:]))
		if int64(file) >= int64(len(files)) || r.at < 0 {
			return damaged("its list of blocks is wrong")
		}
		if r.file = files[file]; filepath.Base(r.file) != r.file {
			return damaged("block file %q is not beside it", r.file)
		}
	}
	return nil
}

// blockFiles are the open files of a checkpoint's blocks. They stay readable when
// another process removes them.
type blockFiles struct {
	dir  string
	mu   sync.Mutex
	open map[string]*os.File
}

func (f *blockFiles) file(name string) (*os.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if file := f.open[name]; file != nil {
		return file, nil
	}
	file, err := os.Open(filepath.Join(f.dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, damaged("block file %s, which it needs, is missing", name)
	case err != nil:
		return nil, err
	}
	f.open[name] = file
	return file, nil
}

// read reads a block, and checks it.
func (f *blockFiles) read(r ref, out []byte) error {
	file, err := f.file(r.file)
	if err != nil {
		return err
	}
	n, err := file.ReadAt(out, r.at)
	switch {
	case n < len(out) && (err == nil || errors.Is(err, io.EOF)):
		return damaged("block file %s, which it needs, is torn: byte %d is missing", r.file, r.at+int64(n))
	case n < len(out):
		return err
	case sha256.Sum256(out) != r.sum:
		return damaged("block file %s, which it needs, has been altered since it was written", r.file)
	}
	return nil
}

// blockReader reads an array in blocks.
type blockReader struct {
	files *blockFiles
	of    *blocked
	mu    sync.Mutex
	at    int // the block in buf; -1 is none
	buf   []byte
}

// ReadAt implements io.ReaderAt.
func (s *blockReader) ReadAt(p []byte, off int64) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n < len(p) {
		i := int((off + int64(n)) / blockSize)
		if off < 0 || i >= len(s.of.refs) || off+int64(n) >= s.of.bytes {
			return n, io.EOF
		}
		if s.at != i {
			s.at, s.buf = -1, slices.Grow(s.buf[:0], blockSize)[:s.of.length(i)]
			if err := s.files.read(s.of.refs[i], s.buf); err != nil {
				return n, err
			}
			s.at = i
		}
		n += copy(p[n:], s.buf[off+int64(n)-int64(i)*blockSize:])
	}
	return n, nil
}
