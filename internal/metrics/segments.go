package metrics

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// SegmentSize limits the bytes in the newest file of a record. Then the file is
// closed under another name, and an empty one takes its place.
const SegmentSize = 32 << 20

// Record is a metrics file with the segments that were closed before it: metrics.jsonl
// has the newest lines, and metrics.000001.jsonl, metrics.000002.jsonl and so on have the
// older ones, oldest first. A position in a record is a number of bytes from its
// beginning, over all files.
type Record struct {
	Path   string
	Closed []int64 // bytes in each closed segment
	Open   int64   // bytes in the file at Path
	// Limit is the size from which on the open file is closed; 0 is SegmentSize.
	Limit int64
}

// StatRecord returns the record at path as the names and sizes of its files describe it.
// A record without any file is empty. It fails if a closed segment is missing.
func StatRecord(path string) (Record, error) {
	r := Record{Path: path}
	names, err := closedSegments(path)
	if err != nil {
		return r, err
	}
	for i, name := range names {
		if want := segmentPath(path, i); name != want {
			return r, fmt.Errorf("%s is missing, and %s is there: the lines between are lost", want, filepath.Base(name))
		}
		info, err := os.Stat(name)
		if err != nil {
			return r, err
		}
		r.Closed = append(r.Closed, info.Size())
	}
	r.Open, err = sizeOf(path)
	return r, err
}

// closedSegments returns the paths of the closed segments that are there, in order.
func closedSegments(path string) ([]string, error) {
	all, err := os.ReadDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	stem, ext := split(path)
	var out []string
	for _, x := range all {
		name := filepath.Join(filepath.Dir(path), x.Name())
		number, ok := strings.CutPrefix(name, stem+".")
		number, dotted := strings.CutSuffix(number, ext)
		if ok && dotted && len(number) >= 6 && strings.Trim(number, "0123456789") == "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

func split(path string) (stem, ext string) {
	ext = filepath.Ext(path)
	return strings.TrimSuffix(path, ext), ext
}

// sizeOf returns the size of a file, 0 if there is none.
func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Segment returns the path of the file of number i, counted from 0. The newest one is
// the open file.
func (r Record) Segment(i int) string {
	if i == len(r.Closed) {
		return r.Path
	}
	return segmentPath(r.Path, i)
}

func segmentPath(path string, i int) string {
	stem, ext := split(path)
	return fmt.Sprintf("%s.%06d%s", stem, i+1, ext)
}

// Start returns the position at which the open file begins.
func (r Record) Start() (n int64) {
	for _, size := range r.Closed {
		n += size
	}
	return n
}

// Size returns the bytes of all files.
func (r Record) Size() int64 { return r.Start() + r.Open }

// Full reports whether the open file is due to be closed.
func (r Record) Full() bool { return r.Open >= r.limit() }

func (r Record) limit() int64 {
	if r.Limit > 0 {
		return r.Limit
	}
	return SegmentSize
}

// Rotate closes the open file, which must be synced, and makes an empty one.
func (r *Record) Rotate() error {
	to := segmentPath(r.Path, len(r.Closed))
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s exists already: another process writes the record", to)
	}
	if err := os.Rename(r.Path, to); err != nil {
		return err
	}
	r.Closed, r.Open = append(slices.Clip(r.Closed), r.Open), 0
	f, err := os.OpenFile(r.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	syncDir(filepath.Dir(r.Path))
	return f.Close()
}

// Check compares the files with what the record should hold up to a position. The error
// says which file lost what.
func (r Record) Check(upTo int64) error {
	err := r.CheckClosed(upTo)
	if open := upTo - r.Start(); open > 0 {
		err = errors.Join(err, holds(r.Path, open))
	}
	return err
}

// CheckClosed does what Check does, for the closed segments alone.
func (r Record) CheckClosed(upTo int64) error {
	var errs []error
	for i, size := range r.Closed {
		if upTo <= 0 {
			break
		}
		errs = append(errs, holds(r.Segment(i), min(upTo, size)))
		upTo -= size
	}
	return errors.Join(errs...)
}

// Trim truncates closed segments that are longer than they were when they were closed,
// as one can be that somebody else still wrote to.
func (r *Record) Trim(closed []int64) error {
	for i, size := range closed[:min(len(closed), len(r.Closed))] {
		if r.Closed[i] > size {
			if err := os.Truncate(r.Segment(i), size); err != nil {
				return err
			}
			r.Closed[i] = size
		}
	}
	return nil
}

// Before returns the sizes of the closed segments that stay as they are if the record is
// cut at a position.
func (r Record) Before(at int64) []int64 {
	for i, size := range r.Closed {
		if at -= size; at < 0 {
			return r.Closed[:i:i]
		}
	}
	return r.Closed
}

// holds reports whether a file has as many bytes as it should have at least.
func holds(path string, want int64) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is gone: %d bytes of lines are lost", path, want)
	case err != nil:
		return err
	case info.Size() < want:
		return fmt.Errorf("%s has %d bytes of the %d that were written: the lines behind are lost", path, info.Size(), want)
	}
	return nil
}

// Cut makes the record end at a position, which must be the end of a line. What follows
// is removed, the newest first, so that a crash leaves a record that is whole and
// can be cut again. Afterwards the open file is a new one: whoever still has the old one
// open changes nothing. The time it takes does not depend on the record's size.
func (r *Record) Cut(at int64) error {
	if at < 0 || at > r.Size() {
		return fmt.Errorf("a record of %d bytes cannot be cut at %d", r.Size(), at)
	}
	for at < r.Start() {
		n := len(r.Closed) - 1
		if err := os.Rename(r.Segment(n), r.Path); err != nil {
			return err
		}
		r.Closed, r.Open = r.Closed[:n:n], r.Closed[n]
	}
	if at-r.Start() > r.limit() { // too long to be copied
		return r.cutInPlace(at - r.Start())
	}
	err := r.replace(at - r.Start())
	syncDir(filepath.Dir(r.Path))
	return err
}

// cutInPlace truncates the open file and closes it.
func (r *Record) cutInPlace(size int64) error {
	f, err := os.OpenFile(r.Path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = f.Truncate(size)
	if err == nil {
		size, err = terminate(f, size)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	r.Open = size
	return r.Rotate()
}

// Complete reports whether the record has the lines that it had when a step was done, of
// which it had size bytes. The error says what is lost.
func (r Record) Complete(size, step int64) error {
	if r.Size() < size {
		lost := "those lines are lost"
		if row, ok, err := r.Last(); err == nil && ok {
			lost = fmt.Sprintf("the lines after step %d are lost", row.Step)
		}
		return fmt.Errorf("%s has %d bytes of the %d that were recorded up to step %d: %s", r.Path, r.Size(), size, step, lost)
	}
	ends, err := r.ends(size)
	if err == nil && !ends {
		err = fmt.Errorf("%s was changed: its lines up to step %d were %d bytes, and no line ends there now", r.Path, step, size)
	}
	return err
}

// ends reports whether a line ends at a position.
func (r Record) ends(at int64) (bool, error) {
	i, start := 0, int64(0)
	for ; i < len(r.Closed) && at > start+r.Closed[i]; i++ {
		start += r.Closed[i]
	}
	if at == start {
		return true, nil
	}
	f, err := os.Open(r.Segment(i))
	if err != nil {
		return false, err
	}
	defer f.Close()
	var last [1]byte
	_, err = f.ReadAt(last[:], at-start-1)
	return last[0] == '\n', err
}

// MendRecord makes a record that lacks closed segments one that can be gone on with: an
// empty segment takes the place of one that is missing.
func MendRecord(path string) error {
	names, err := closedSegments(path)
	if err != nil || len(names) == 0 {
		return err
	}
	for i := 0; segmentPath(path, i) != names[len(names)-1]; i++ {
		if i > 999_999 {
			return fmt.Errorf("%s has an invalid number in its name", names[len(names)-1])
		}
		f, err := os.OpenFile(segmentPath(path, i), os.O_WRONLY|os.O_CREATE, 0o644)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
