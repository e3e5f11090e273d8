// Package durable writes small files that survive a crash.
package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace writes a file in one piece: after a crash it is the old one or the new one.
func Replace(path string, text []byte) error {
	f, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return Names(filepath.Dir(path))
}

// Names makes the names in a folder durable, where folders can be synced.
func Names(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every file system can
	return d.Close()
}
