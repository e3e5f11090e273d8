// Package checkpoint keeps a run's state on disk: exactly, atomically and checked.
//
// A checkpoint is a safetensors file, so that any tool that knows the format can look into it:
// eight bytes of header length, a JSON header, the arrays' bytes. What makes it a checkpoint is
// kept in the header's metadata under keys that start with "weft.", which belong to this package: a
// format version and a checksum of the whole file. The same File always gives the same bytes.
//
// Write replaces a file in one step, whatever happens meanwhile. A Dir keeps the newest few
// checkpoints of a run and its best one. Of large arrays that say what has changed in them, such as
// a replay's, it writes only that, into files of blocks that several checkpoints share. Lock keeps
// a second process out of a run's folder.
//
// The package knows arrays and text. What they mean is its callers' business.
package checkpoint

import (
	"errors"
	"fmt"
	"path/filepath"
)

// The kinds of failure a caller may want to tell apart with errors.Is. The errors themselves say
// more.
var (
	// ErrNone means that a folder holds no usable checkpoint.
	ErrNone = errors.New("no checkpoint")
	// ErrDamaged means that a file is torn, altered or malformed.
	ErrDamaged = errors.New("damaged checkpoint")
	// ErrForeign means a sound safetensors file that this package did not write.
	ErrForeign = errors.New("not a checkpoint")
	// ErrVersion means a checkpoint of a format version that this binary does not read.
	ErrVersion = errors.New("other checkpoint version")
	// ErrLocked means that another process holds the run folder.
	ErrLocked = errors.New("run folder in use")
)

// fault is an error whose sentence is its own and whose kind is one of the sentinels.
type fault struct {
	kind error
	text string
}

func (f *fault) Error() string { return f.text }
func (f *fault) Unwrap() error { return f.kind }

func faultf(kind error, format string, args ...any) error {
	return &fault{kind, fmt.Sprintf(format, args...)}
}

func damaged(format string, args ...any) error { return faultf(ErrDamaged, format, args...) }

// named puts the file's name before an error; the folder is left out because users know which run
// they asked for.
func named(path string, err error) error {
	return fmt.Errorf("checkpoint %s: %w", filepath.Base(path), err)
}

// Write puts f at path. It returns once the bytes and the name are on disk. Until then, and after
// any failure or crash, path holds what it held before; a crash may leave a hidden temporary file
// beside it, which readers ignore and the next Save of a Dir removes. The arrays may be in any
// order; f is not changed.
func Write(path string, f File) error {
	return write(osDisk{}, path, f, nil)
}

// ReadForeign returns the arrays and the metadata of any safetensors file, such as weights written
// from Python. Structure is checked as strictly as in a checkpoint, but there is no checksum to
// hold the contents against, nor does the format promise alignment. Such a file holds weights, not
// a run that could be resumed.
func ReadForeign(path string) (File, error) {
	var f File
	err := open(path, func(s source) error {
		var err error
		f, _, err = decode(s, anyFile)
		return err
	})
	if err != nil {
		return File{}, fmt.Errorf("weights %s: %w", filepath.Base(path), err)
	}
	return f, nil
}
