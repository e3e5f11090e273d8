package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// replace makes a new open file of the first bytes of the old one.
func (r *Record) replace(size int64) error {
	temp := r.Path + ".tmp"
	err := writeSynced(temp, func(to *os.File) error {
		from, err := os.Open(r.Path)
		if size == 0 && (err == nil || errors.Is(err, fs.ErrNotExist)) {
			return errors.Join(closed(from), nil)
		}
		if err != nil {
			return err
		}
		defer from.Close()
		if _, err := io.CopyN(to, from, size); err != nil {
			return err
		}
		size, err = terminate(to, size)
		return err
	})
	if err != nil {
		return err
	}
	r.Open = size
	return os.Rename(temp, r.Path)
}

func closed(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// terminate adds the newline that a last line may lack, and returns the file's size.
func terminate(f *os.File, size int64) (int64, error) {
	if size == 0 {
		return 0, nil
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil || last[0] == '\n' {
		return size, err
	}
	_, err := f.WriteAt([]byte("\n"), size)
	return size + 1, err
}

// Find returns the position behind the lines up to and including step, which are in
// the order of their steps. Unless all lines of the step itself are to stay, it is the
// position behind the first of them. It reads a number of lines that grows with the
// logarithm of the record's size.
func (r Record) Find(step int64, all bool) (int64, error) {
	if step < 0 {
		return 0, nil
	}
	start := r.Start()
	for i := len(r.Closed); ; i-- {
		at, err := findIn(r.Segment(i), step, all)
		if err != nil || i == 0 {
			return start + at, err
		}
		if at > 0 {
			alone := all
			if !all {
				alone, err = r.begins(i, step)
			}
			if err != nil || alone {
				return start + at, err
			}
		}
		start -= r.Closed[i-1]
	}
}

// begins reports whether no line of a step is before the segment of number i.
func (r Record) begins(i int, step int64) (bool, error) {
	row, ok, err := lastRow(r.Segment(i - 1))
	return !ok || row.Step < step, err
}

// Last returns the newest row; ok is false if there is none.
func (r Record) Last() (row Row, ok bool, err error) {
	for i := len(r.Closed); i >= 0 && !ok && err == nil; i-- {
		row, ok, err = lastRow(r.Segment(i))
	}
	return row, ok, err
}

// window limits the bytes that are read line by line once a search has come down to them.
const window = 1 << 20

// findIn does what Find does, in one file.
func findIn(path string, step int64, all bool) (int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	lo, hi := int64(0), info.Size()
	for hi-lo > window { // lines before lo stay or are of the step itself, those from hi on do not stay
		begin, line, err := lineAt(f, lo, (lo+hi)/2, info.Size())
		if err != nil {
			return 0, err
		}
		at, err := parseStep(line)
		switch {
		case err != nil && begin+int64(len(line)) < info.Size():
			return 0, fmt.Errorf("%s: the line at byte %d is not a row of metrics (%w); mend or remove it", path, begin, err)
		case err != nil || at > step || at == step && !all:
			hi = begin
		default:
			lo = min(begin+int64(len(line))+1, info.Size())
		}
	}
	if !all && hi < info.Size() { // which may be the first line of the step
		hi = min(hi+window, info.Size())
	}
	return scan(f, lo, hi, step, all)
}

// scan looks for the end of a step's lines in a part of a file.
func scan(f *os.File, lo, hi, step int64, all bool) (int64, error) {
	end, reached, over := lo, false, false
	at := lo
	err := eachLine(io.NewSectionReader(f, lo, hi-lo), func(line []byte) error {
		n, err := parseStep(line)
		at += int64(len(line)) + 1
		if over = over || err == nil && (n > step || reached && !all); err != nil || over {
			return err
		}
		reached = n == step
		end = at
		return nil
	})
	if err != nil {
		where := f.Name()
		if lo > 0 {
			where = fmt.Sprintf("%s, from byte %d on", where, lo)
		}
		return 0, fmt.Errorf("%s: %w", where, err)
	}
	return min(end, hi), nil
}

// block is the number of bytes read at once to find the ends of a line.
const block = 4 << 10

// lineAt returns the line that the byte at a place belongs to, without its newline, and
// where it begins, which is not before lo.
func lineAt(f *os.File, lo, at, size int64) (begin int64, line []byte, err error) {
	begin, err = lineStart(f, lo, at)
	if err != nil {
		return 0, nil, err
	}
	for n := int64(block); ; n *= 2 {
		line = make([]byte, min(n, size-begin))
		if _, err := f.ReadAt(line, begin); err != nil {
			return 0, nil, err
		}
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			return begin, line[:i], nil
		}
		if begin+int64(len(line)) == size {
			return begin, line, nil
		}
	}
}

// lineStart returns where the line begins that the byte at a place belongs to.
func lineStart(f *os.File, lo, at int64) (int64, error) {
	buffer := make([]byte, block)
	for at > lo {
		from := max(lo, at-block)
		part := buffer[:at-from]
		if _, err := f.ReadAt(part, from); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		at = from
	}
	return lo, nil
}

// lastRow returns the last row of a file. A last line that was cut short is left out.
func lastRow(path string) (row Row, ok bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return row, false, nil
	}
	if err != nil {
		return row, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	for end := info.Size(); err == nil && end > 0; {
		begin, line, e := lineAt(f, 0, end-1, end)
		if e != nil {
			return row, false, e
		}
		row, err = parseRow(line)
		if err == nil {
			return row, true, nil
		}
		if begin+int64(len(line)) == info.Size() { // it lacks its newline
			end, err = begin, nil
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: its last line is not a row of metrics (%w); mend or remove it", path, err)
	}
	return row, false, err
}

// writeSynced creates the file, lets fill write it and makes it durable.
func writeSynced(path string, fill func(*os.File) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = fill(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// syncDir makes a rename durable where folders can be synced; elsewhere there
// is nothing to be done about it.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
}
