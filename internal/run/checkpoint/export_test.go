package checkpoint

import (
	"fmt"
	"path/filepath"
)

// Read returns the checkpoint at path, checked in full. The arrays are in name order, their Data
// are parts of one buffer, each aligned to its element size. Arrays kept in blocks have a Source
// instead, which checks them as they are read.
func Read(path string) (File, error) {
	f, _, _, err := read(path)
	return f, err
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
