package metrics

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// rewind replaces the file at path by its lines up to and including step, of which it may
// be the first alone.
func rewind(path string, step int64, all bool) error {
	temp := path + ".tmp"
	if err := writeSynced(temp, func(w io.Writer) error { return copyUpTo(w, path, step, all) }); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	syncDir(filepath.Dir(path))
	return nil
}

// copyUpTo writes to w the lines of the file at path up to and including step.
func copyUpTo(w io.Writer, path string, step int64, all bool) error {
	if step < 0 {
		return nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriter(w)
	reached := false
	err = eachLine(f, func(line []byte) error {
		at, err := parseStep(line)
		if err == nil && at <= step && (all || !reached) {
			reached = at == step
			out.Write(line) // an error stays with out until Flush
			out.WriteByte('\n')
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return out.Flush()
}

// writeSynced creates the file, lets fill write it and makes it durable.
func writeSynced(path string, fill func(io.Writer) error) error {
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
